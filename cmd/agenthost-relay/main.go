// Command agenthost-relay is the relay: hosts dial in, people meet them. It is a
// program of its own, started by "agenthost relay", because the storage engine in it
// would cost every start of agenthost milliseconds and megabytes
// (docs/decisions/003-relay-program.md).
//
// This package is flags and wiring; package relay/server is the relay.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the linker (see the Makefile).
var version = "dev"

// The exit codes, as agenthost has them.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit code.
func run(args []string, out, errOut io.Writer) int {
	// The second signal ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	defer stop()
	cmd := newRelay(out, errOut)
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(errOut)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(errOut, "agenthost relay: %v\n", err)
	var mistake usageError
	if errors.As(err, &mistake) {
		fmt.Fprintln(errOut, "  see agenthost relay --help")
		return exitUsage
	}
	return exitFailed
}

func newRelay(out, errOut io.Writer) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "agenthost relay",
		Short: "Serve as a relay, where hosts and people meet",
		Long: `A relay stores what hosts tell of their sessions and passes on what people answer.
Hosts dial in with "agenthost serve --relay", people with "agenthost … --relay", a
program with package client, or plain HTTP.

The first start makes DATA/operator.token, with which tokens are made:
  agenthost token create --relay http://127.0.0.1:7480 --token-file DATA/operator.token \
      --tenant me --scope host`,
		Example: `  agenthost relay --data /var/lib/agenthost-relay
  agenthost relay --listen :443 --tls-cert cert.pem --tls-key key.pem --allow-host relay.example
  agenthost relay --nats nats://a,nats://b,nats://c --replicas 3`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return again(cmd.Context(), func() error { return serve(cmd.Context(), f, out, errOut) })
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f.register(cmd)
	return cmd
}
