package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/host"
)

func newSessions(st *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the sessions of this machine, the newest first",
		Example: "  agenthost ls\n  agenthost run gemini --resume last -p 'go on'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			all, err := host.List(cfg.StateDir)
			if err != nil {
				return &problem{code: exitFailed, what: err.Error()}
			}
			if asJSON {
				return printJSON(st.out, all)
			}
			tw := tabwriter.NewWriter(st.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "SESSION\tAGENT\tUPDATED\tDIRECTORY\tTITLE")
			for _, m := range all {
				title := m.Title
				if title == "" {
					title = m.Facts.Title
				}
				fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", m.ID, m.Agent, time.UnixMilli(m.Updated).Format(time.DateTime), m.Dir, present.Line(title))
			}
			return tw.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
