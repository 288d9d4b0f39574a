package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

func newControl(st *streams) *cobra.Command {
	var headless, terminal, force bool
	cmd, _ := viewerCommand("control SESSION", "Take control of a session, and hand it over to the agent's screen or back",
		"  agenthost control last\n  agenthost control last --terminal && agenthost attach last", cobra.ExactArgs(1),
		func(ctx context.Context, c *link, args []string) error {
			p := wire.ControlParams{Session: args[0], ClientType: contract.ClientCLI, Force: force}
			switch {
			case headless:
				p.Face = wire.FaceHeadless
			case terminal:
				p.Face = wire.FaceTerminal
			case force:
				return usage("add --headless or --terminal", "--force is about a hand-over")
			}
			s, err := c.Control(ctx, p)
			if client.Code(err) == wire.CodeBusy && p.Face != "" {
				return &problem{code: exitFailed, what: err.Error(), mend: "wait for it, or add --force, which aborts it"}
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(st.out, "%s %s %s\n", s.ID, s.Face, holderName(s.Control))
			return nil
		})
	cmd.Long += `

Whoever holds control types at the agent's own screen; prompts and decisions need
no control. With --headless or --terminal the agent is started anew with its own
session, in the other face.`
	cmd.Flags().BoolVar(&headless, "headless", false, "run the agent without its screen")
	cmd.Flags().BoolVar(&terminal, "terminal", false, "run the agent with its screen")
	cmd.Flags().BoolVar(&force, "force", false, "abort what runs first")
	cmd.MarkFlagsMutuallyExclusive("headless", "terminal")
	return cmd
}

func newScreen(st *streams) *cobra.Command {
	var asJSON bool
	cmd, _ := viewerCommand("screen SESSION", "Print the agent's own screen as text",
		"  agenthost screen last\n  watch agenthost screen last", cobra.ExactArgs(1),
		func(ctx context.Context, c *link, args []string) error {
			s, err := c.Terminal(args[0]).Screen(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(st.out, s)
			}
			_, err = fmt.Fprintln(st.out, strings.Join(s.Lines, "\n"))
			return err
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "with size, cursor and title, as JSON")
	return cmd
}

func newType(st *streams) *cobra.Command {
	var enter bool
	cmd, _ := viewerCommand("type SESSION TEXT|-", "Type at the agent's own screen",
		"  agenthost type last 'make test' --enter\n  printf '\\003' | agenthost type last -", cobra.ExactArgs(2),
		func(ctx context.Context, c *link, args []string) error {
			text := args[1]
			if text == "-" {
				var err error
				if text, err = readKeys(st.in); err != nil {
					return err
				}
			}
			if enter {
				text += "\r"
			}
			return c.Terminal(args[0]).Input(ctx, []byte(text))
		})
	cmd.Long += `

The text is typed as it is, and needs control: agenthost control SESSION takes it.
A prompt for an agent goes better with agenthost send.`
	cmd.Flags().BoolVarP(&enter, "enter", "e", false, "press Enter behind it")
	return cmd
}

// maxKeys is the most that is typed at once, in bytes: a text, not a file.
const maxKeys = 1 << 20

// readKeys reads what is typed, which may be any bytes.
func readKeys(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxKeys+1))
	if err == nil && len(data) > maxKeys {
		err = usage("type less at once", "the keys have more than %d bytes", maxKeys)
	}
	return string(data), err
}
