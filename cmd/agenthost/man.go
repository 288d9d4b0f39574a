package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func newDevMan(st *streams) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages, one for each command",
		Example: `  agenthost dev man /usr/local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usage("name a directory that can be made", "%v", err)
			}
			n, err := writeManuals(cmd.Root(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(st.out, "wrote %d pages\n", n)
			return err
		},
	}
}

// writeManuals writes the pages of cmd and of the commands below it into dir, and
// returns how many there are.
func writeManuals(cmd *cobra.Command, dir string) (int, error) {
	// The flags that --help shows are there only once it was asked for.
	cmd.InitDefaultHelpFlag()
	path := filepath.Join(dir, manualName(cmd)+".1")
	if err := os.WriteFile(path, []byte(manual(cmd)), 0o644); err != nil {
		return 0, err
	}
	n := 1
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		below, err := writeManuals(sub, dir)
		if err != nil {
			return n, err
		}
		n += below
	}
	return n, nil
}

// manualName is the name of a command's page: agenthost-policy-check.
func manualName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-")
}

// manual is the page of a command, in the language of man(7). What is text for the
// terminal stays as it is laid out there.
func manual(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, roff(text))
		}
	}
	name := manualName(cmd)
	fmt.Fprintf(&b, ".TH %q \"1\" \"\" %q \"\"\n", strings.ToUpper(name), roff("agenthost "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	section("SYNOPSIS", cmd.UseLine())
	section("DESCRIPTION", cmd.Long)
	section("OPTIONS", cmd.NonInheritedFlags().FlagUsagesWrapped(100))
	section("GLOBAL OPTIONS", cmd.InheritedFlags().FlagUsagesWrapped(100))
	section("EXAMPLES", cmd.Example)
	var also []string
	if cmd.HasParent() {
		also = append(also, manualName(cmd.Parent())+"(1)")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			also = append(also, manualName(sub)+"(1)")
		}
	}
	section("SEE ALSO", strings.Join(also, "\n"))
	return b.String()
}

// roff keeps a text from being read as commands of the formatter, and its hyphens
// from becoming dashes, so that a flag can be copied.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
