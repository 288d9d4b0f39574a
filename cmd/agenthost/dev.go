package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/internal/scriptmodel"
)

func newDev(st *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Tools for those who work on agenthost or on an agent",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDevModel(st), newDevMan(st))
	return cmd
}

func newDevModel(st *streams) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Serve a scripted model that real agents can talk to without a key",
		Long: `Serves the Gemini, OpenAI and Anthropic APIs on loopback. What it answers is
scripted in the prompt itself; docs/scripted-model.md has the language. The first
line printed is the base URL, the rest the variables that each agent needs.`,
		Example: `  agenthost dev model --listen 127.0.0.1:8787`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if err := scriptmodel.ListenAndServe(ctx, listen, st.out); err != nil {
				return &problem{code: exitFailed, what: "scripted model: " + err.Error(), mend: "choose another address with --listen"}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`ADDRESS` to listen on, loopback only")
	return cmd
}
