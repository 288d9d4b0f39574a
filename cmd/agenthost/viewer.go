package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

// newViewers are the commands that watch and drive sessions of a daemon or relay.
func newViewers(st *streams) []*cobra.Command {
	return []*cobra.Command{
		newAttach(st), newLogs(st), newSend(st), newSteer(st), newAbort(st), newAsks(st), newApprove(st), newDeny(st), newAnswer(st),
		newStop(st), newRemove(st), newMode(st), newModel(st), newRewind(st), newFork(st),
		newControl(st), newScreen(st), newType(st),
	}
}

// viewerCommand is a command on one session.
func viewerCommand(use, short, example string, args cobra.PositionalArgs, run func(context.Context, *link, []string) error) (*cobra.Command, *remote) {
	r := &remote{}
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: args,
		Long: short + `.

SESSION is an id, the beginning of one (four characters or more), the agent's own
id, or last.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c *link) error { return run(ctx, c, args) })
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeSessions(cmd, nil, word)
		},
	}
	r.register(cmd)
	return cmd, r
}

func newSend(st *streams) *cobra.Command {
	var files []string
	var wait bool
	cmd, _ := viewerCommand("send SESSION TEXT|-", "Send a prompt, which waits while a turn runs",
		"  agenthost send last 'now fix the tests'\n  git diff | agenthost send last - --wait", cobra.ExactArgs(2),
		func(ctx context.Context, c *link, args []string) error {
			text, err := textOf(st, args[1])
			if err != nil {
				return err
			}
			return send(ctx, st, c, wire.SendParams{Session: args[0], Text: text}, files, wait)
		})
	cmd.Flags().StringArrayVar(&files, "file", nil, "`FILE` to send with it (repeatable)")
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "print what comes of it, until its turn is over")
	return cmd
}

func textOf(st *streams, arg string) (string, error) {
	if arg == "-" {
		return readPrompt(st.in)
	}
	return arg, nil
}

// send sends a message, and prints its id or what comes of it.
func send(ctx context.Context, st *streams, c *link, p wire.SendParams, files []string, wait bool) error {
	refs, err := c.upload(ctx, files)
	if err != nil {
		return err
	}
	p.Files = refs
	if !wait {
		sent, err := c.Send(ctx, p)
		if err == nil {
			fmt.Fprintln(st.out, sent.ID)
		}
		return err
	}
	s, err := c.Session(ctx, p.Session)
	if err != nil {
		return err
	}
	p.Session = s.ID
	v := &viewing{st: st, link: c, session: s, from: s.End, form: "text", profile: contract.ProfileExtended}
	return v.turnOf(ctx, p)
}

func newSteer(st *streams) *cobra.Command {
	var queue bool
	cmd, _ := viewerCommand("steer SESSION TEXT|-", "Give a message to the running turn",
		"  agenthost steer last 'use the other file'", cobra.ExactArgs(2),
		func(ctx context.Context, c *link, args []string) error {
			text, err := textOf(st, args[1])
			if err != nil {
				return err
			}
			p := wire.SendParams{Session: args[0], Text: text, Admission: wire.AdmitSteer}
			if queue {
				p.Fallback = wire.AdmitQueue
			}
			return send(ctx, st, c, p, nil, false)
		})
	cmd.Flags().BoolVar(&queue, "or-queue", false, "let it wait as a prompt where the agent takes nothing during a turn")
	return cmd
}

func newAbort(*streams) *cobra.Command {
	cmd, _ := viewerCommand("abort SESSION", "Stop the running turn", "  agenthost abort last", cobra.ExactArgs(1),
		func(ctx context.Context, c *link, args []string) error {
			_, err := c.Abort(ctx, wire.AbortParams{Session: args[0]})
			return err
		})
	return cmd
}

func newStop(*streams) *cobra.Command {
	var force bool
	cmd, _ := viewerCommand("stop SESSION...", "End the agents of sessions, which can be gone on with",
		"  agenthost stop last", cobra.MinimumNArgs(1),
		func(ctx context.Context, c *link, args []string) error {
			for _, s := range args {
				if _, err := c.Stop(ctx, wire.StopParams{Session: s, Force: force}); err != nil {
					return err
				}
			}
			return nil
		})
	cmd.Flags().BoolVar(&force, "force", false, "kill at once")
	return cmd
}

func newRemove(*streams) *cobra.Command {
	cmd, _ := viewerCommand("rm SESSION...", "Remove sessions and all that is kept of them",
		"  agenthost rm k3x9", cobra.MinimumNArgs(1),
		func(ctx context.Context, c *link, args []string) error {
			for _, ref := range args {
				s, err := c.Session(ctx, ref)
				if err == nil {
					err = c.Remove(ctx, s.ID)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	return cmd
}

func newMode(st *streams) *cobra.Command {
	cmd, _ := viewerCommand("mode SESSION [MODE]", "Show or change the permission mode: default, acceptEdits, plan, bypassPermissions",
		"  agenthost mode last plan", cobra.RangeArgs(1, 2),
		func(ctx context.Context, c *link, args []string) error {
			if len(args) == 1 {
				s, err := c.Session(ctx, args[0])
				if err == nil {
					fmt.Fprintln(st.out, s.Config.PermissionMode)
				}
				return err
			}
			if err := oneOf("mode", "mode", args[1], "default", "acceptEdits", "plan", "bypassPermissions"); err != nil {
				return err
			}
			_, err := c.Configure(ctx, wire.ConfigureParams{Session: args[0], PermissionMode: contract.PermissionMode(args[1])})
			return err
		})
	return cmd
}

func newModel(st *streams) *cobra.Command {
	var thinking string
	cmd, _ := viewerCommand("model SESSION [MODEL]", "Show the models, or change the model",
		"  agenthost model last\n  agenthost model last gpt-5.2 --thinking high", cobra.RangeArgs(1, 2),
		func(ctx context.Context, c *link, args []string) error {
			p := wire.ConfigureParams{Session: args[0], ThinkingLevel: thinking}
			if len(args) == 2 {
				p.Model = args[1]
			}
			if p.Model == "" && p.ThinkingLevel == "" {
				s, err := c.Session(ctx, args[0])
				if err != nil {
					return err
				}
				return printModels(st, s)
			}
			_, err := c.Configure(ctx, p)
			return err
		})
	cmd.Flags().StringVar(&thinking, "thinking", "", "thinking `LEVEL`")
	return cmd
}

// printModels prints the models, the one in use with a mark.
func printModels(st *streams, s wire.Session) error {
	known := false
	for _, m := range s.Models {
		mark := " "
		if m.ID == s.Config.Model {
			mark, known = "*", true
		}
		fmt.Fprintf(st.out, "%s %s\t%s\n", mark, m.ID, present.Line(m.DisplayName))
	}
	if !known && s.Config.Model != "" {
		fmt.Fprintf(st.out, "* %s\n", s.Config.Model)
	}
	return nil
}

func newRewind(st *streams) *cobra.Command {
	var what string
	var dry bool
	cmd, _ := viewerCommand("rewind SESSION MESSAGE", "Take the conversation back to before a message of the user",
		"  agenthost rewind last k3x9… --what both", cobra.ExactArgs(2),
		func(ctx context.Context, c *link, args []string) error {
			if what != "" {
				if err := oneOf("rewind", "--what", what, "conversation", "files", "both"); err != nil {
					return err
				}
			}
			return runOp(ctx, st, c, args[0], "rewind", map[string]any{"to": args[1], "what": what, "dryRun": dry})
		})
	cmd.Flags().StringVar(&what, "what", "", "take back `WHAT`: conversation (the default), files or both")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only tell what it would do")
	return cmd
}

func newFork(st *streams) *cobra.Command {
	cmd, _ := viewerCommand("fork SESSION [POINT]", "Branch off a session at its end, or behind an answer",
		"  agenthost fork last", cobra.RangeArgs(1, 2),
		func(ctx context.Context, c *link, args []string) error {
			params := map[string]any{}
			if len(args) == 2 {
				params["at"] = args[1]
			}
			return runOp(ctx, st, c, args[0], "fork", params)
		})
	return cmd
}

// runOp runs an operation of the agent, and prints its result: the new session's id
// when it made one.
func runOp(ctx context.Context, st *streams, c *link, ref, name string, params map[string]any) error {
	for k, v := range params {
		if v == "" || v == false {
			delete(params, k)
		}
	}
	raw, err := json.Marshal(params, json.Deterministic(true))
	if err != nil {
		return err
	}
	res, err := c.Op(ctx, wire.OpParams{Session: ref, Name: name, Params: jsontext.Value(raw)})
	switch {
	case err != nil:
		return err
	case res.Session != nil:
		fmt.Fprintln(st.out, res.Session.ID)
	default:
		fmt.Fprintf(st.out, "%s\n", res.Result)
	}
	return nil
}

// ago says how long something is past, for a list.
func ago(ms int64) string {
	d := time.Since(time.UnixMilli(ms))
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// oneLine is what people named something, on one line of a list.
func oneLine(s string) string { return strings.TrimSpace(present.Line(s)) }
