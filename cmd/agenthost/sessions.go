package main

import (
	"cmp"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/wire"
)

func newSessions(st *streams) *cobra.Command {
	var asJSON bool
	r := &remote{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the sessions, the newest first",
		Long: `Lists the sessions of this machine, or with --relay those of all hosts there, the
newest first. Without a daemon it lists what is in the state directory.`,
		Example: "  agenthost ls\n  agenthost run gemini --resume last -p 'go on'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			list, err := r.sessions(cmd, cfg)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(st.out, list)
			}
			tw := tabwriter.NewWriter(st.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "SESSION\tAGENT\tSTATE\tUPDATED\tDIRECTORY\tTITLE")
			for _, s := range list {
				fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, s.Agent, stateLine(s), ago(s.Updated), s.Dir, oneLine(s.Title))
			}
			return tw.Flush()
		},
	}
	r.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// sessions are those of the daemon or relay, or what lies in the state directory
// when no daemon runs.
func (r *remote) sessions(cmd *cobra.Command, cfg configuration) ([]wire.Session, error) {
	l, err := r.dial(cmd.Context(), cfg)
	if errors.Is(err, errNoDaemon) {
		return storedSessions(cfg)
	}
	if err != nil {
		return nil, err
	}
	defer l.Close()
	list, err := l.Sessions(cmd.Context(), wire.SessionsParams{})
	return list, remoteProblem(err)
}

func storedSessions(cfg configuration) ([]wire.Session, error) {
	all, err := host.List(cfg.StateDir)
	if err != nil {
		return nil, &problem{code: exitFailed, what: err.Error()}
	}
	list := []wire.Session{}
	for _, m := range all {
		list = append(list, wire.Session{
			ID: m.ID, Agent: m.Agent, Dir: m.Dir, Title: cmp.Or(m.Title, m.Facts.Title), Parent: m.Parent, ParentOrigin: m.Origin,
			Created: m.Created, Updated: m.Updated, Native: m.Facts.NativeSession, Error: m.OpenError,
			Config: wire.Configuration{Model: m.Facts.Model},
		})
	}
	return list, nil
}

// stateLine says in a word or two what a session is at.
func stateLine(s wire.Session) string {
	switch {
	case s.Asks > 0:
		return fmt.Sprintf("asks (%d)", s.Asks)
	case s.State == wire.StateRunning && s.Status != "":
		return string(s.Status)
	case s.Archived:
		return "archived"
	}
	return cmp.Or(string(s.State), "-")
}
