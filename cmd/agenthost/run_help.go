package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commonFlags are the flags of run that its --help shows, since all of them fit no
// screen; --help-all shows the rest.
func commonFlags() []string {
	return []string{
		"prompt", "input", "output", "cwd", "model", "mode", "allow", "deny", "policy", "on-ask",
		"resume", "continue", "file", "timeout", "help", "help-all",
	}
}

// helpInBrief makes the help of cmd leave out the flags that are not common,
// unless all says that they are wanted.
func helpInBrief(cmd *cobra.Command, all *bool, common []string) {
	cmd.Flags().BoolVar(all, "help-all", false, "help with every flag")
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var hidden []*pflag.Flag
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !*all && !f.Hidden && !slices.Contains(common, f.Name) {
				f.Hidden = true
				hidden = append(hidden, f)
			}
		})
		cmd.Root().HelpFunc()(cmd, args)
		for _, f := range hidden {
			f.Hidden = false
		}
	})
}
