package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agenthost/agenthost/internal/slip"
)

// The exit codes of every command.
const (
	exitOK      = 0
	exitFailed  = 1   // the turn failed; a line of input was not taken; the journal or the output could not be written; the checked input has faults
	exitUsage   = 2   // the command line or the config is wrong
	exitStart   = 3   // the agent is not installed, not logged in, or would not start
	exitRefused = 4   // an ask was refused with --on-ask fail
	exitTimeout = 5   // --timeout was over
	exitSIGPIPE = 141 // nobody reads the output any more

	// A run that a signal stopped ends with 128 and the signal's number, as a
	// shell has it: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP.
	exitSignal = 128
)

// streams are what a command reads and writes: data on out, everything else on err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// problem is an error for a person: what is wrong, and what to do about it.
type problem struct {
	code int
	what string
	mend string
}

func (p *problem) Error() string { return p.what }

// usage is a problem with the command line or the config.
func usage(mend, format string, args ...any) error {
	return &problem{code: exitUsage, what: fmt.Sprintf(format, args...), mend: mend}
}

// run executes one command line and returns the exit code.
func run(args []string, io *streams) int {
	if len(args) > 0 && args[0] == hookCommand {
		return runHook(args[1:], io)
	}
	root := newTree(args, io)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	var p *problem
	if !errors.As(err, &p) {
		// Cobra's own errors are about flags and arguments.
		p = &problem{code: exitUsage, what: err.Error(), mend: mend(cmd, args, err)}
	}
	if p.what != "" {
		fmt.Fprintf(io.err, "agenthost: %s\n", p.what)
	}
	if p.mend != "" {
		fmt.Fprintf(io.err, "  %s\n", p.mend)
	}
	return p.code
}

// mend says where help is for a command line that cobra did not take: the command
// or the flag that was probably meant, else the help of the command that was named.
func mend(cmd *cobra.Command, args []string, err error) string {
	var wrong *pflag.NotExistError
	if errors.As(err, &wrong) {
		if flag := nearFlag(cmd, wrong.GetSpecifiedName()); flag != "" {
			return "did you mean --" + flag + "?"
		}
	}
	for _, arg := range args {
		word := strings.TrimLeft(arg, "-")
		if len(word) < 2 || !cmd.HasSubCommands() || cmd.Flag(word) != nil {
			continue
		}
		if near := cmd.SuggestionsFor(word); len(near) > 0 {
			return "did you mean " + cmd.CommandPath() + " " + meant(near, word) + "?"
		}
	}
	return "see " + cmd.CommandPath() + " --help"
}

// nearFlag is the flag of cmd whose name is nearest to name, "" when none is near. A
// single letter is near to nothing.
func nearFlag(cmd *cobra.Command, name string) string {
	best, least := "", 3
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := slip.Distance(f.Name, name); d < least && d < len(name)/2 && !f.Hidden {
			best, least = f.Name, d
		}
	})
	return best
}

// meant is the word that arg was probably meant to be, of those that are as near:
// letters are swapped more often than left out.
func meant(words []string, arg string) string {
	return slices.MinFunc(words, func(a, b string) int {
		far := func(w string) int { return max(len(w)-len(arg), len(arg)-len(w)) }
		return far(a) - far(b)
	})
}

// newTree builds as much of the command tree as the command line needs. A command that
// comes first needs no other; to make them all, with their flags and completions, takes
// as long as everything else that `agenthost version` does.
func newTree(args []string, io *streams) *cobra.Command {
	alone := map[string]func(*streams) *cobra.Command{"run": newRun, "version": newVersion}
	if len(args) == 0 || alone[args[0]] == nil {
		return newRoot(io)
	}
	root := newTrunk(io)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(alone[args[0]](io))
	withExitCodes(root)
	return root
}

// newRoot builds the whole command tree.
func newRoot(io *streams) *cobra.Command {
	root := newTrunk(io)
	root.AddCommand(
		newRun(io), newAgents(io), newDoctor(io), newSessions(io), newValidate(io), newReplay(io),
		newPolicy(io), newGrants(io), newConfig(io), newDev(io), newVersion(io),
		newRelay(io), newToken(io), newPair(io),
		newServe(io), newService(io),
	)
	root.AddCommand(newViewers(io)...)
	refuseUnknownTopics(root)
	withExitCodes(root)
	return root
}

// refuseUnknownTopics has `agenthost help` say so when there is no such command, where
// cobra shows the help of agenthost.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil || help == root {
		return // cobra has none, then
	}
	show := help.Run
	help.Run, help.RunE = nil, func(cmd *cobra.Command, args []string) error {
		if found, _, err := root.Find(args); len(args) > 0 && (err != nil || found == root) {
			return usage(mend(root, args, nil), "unknown command %q for %q", args[0], root.CommandPath())
		}
		show(cmd, args)
		return nil
	}
}

// newTrunk is the command that the others stand below.
func newTrunk(io *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "agenthost",
		Short: "Run coding agents as one stream that can be followed, approved and resumed",
		Long: `agenthost runs coding agents (Gemini CLI, Claude Code, Codex, any ACP agent),
turns what they say into one stream of session protocol v2 envelopes, keeps it
in a journal, and lets a person decide what they may do.`,
		Example: `  agenthost run gemini -p "explain this repository"
  agenthost run opencode -p "fix the tests" --allow 'bash(go test *)' --output envelopes
  agenthost run acp -p hello -- my-agent --acp
  agenthost agents`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SuggestionsMinimumDistance = 2
	root.PersistentFlags().String("config", "", "configuration `FILE` (default $XDG_CONFIG_HOME/agenthost/config.yaml)")
	return root
}

// environ is the environment of this process.
func environ() []string { return os.Environ() }
