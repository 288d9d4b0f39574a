package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// runFlags are the flags of `agenthost run`.
type runFlags struct {
	prompt, input, output, profile    string
	from                              int64
	cwd, model, thinking, mode, title string
	sandbox, allowBypass              bool
	allow, ask, deny                  []string
	policy, onAsk                     string
	resume, fork                      string
	cont, requeue, helpAll            bool
	local, keep, detach               bool
	images, files, dirs               []string
	timeout                           time.Duration
	command                           string
	env, passEnv                      []string
	record, systemPrompt, escape      string
	maxTurns                          int
	budget                            float64
}

func newRun(st *streams) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run AGENT [flags] [-- arguments for the agent]",
		Short: "Run an agent and print its stream",
		Long: `Runs one agent in a session of its own. With -p it does one turn and leaves;
with --input envelopes it reads user envelopes from standard input until that
ends and the last turn is over. On a terminal claude, codex and gemini show their
own screen (ctrl-] ? helps); others, and --output text, read prompts.
"run acp -- CMD..." is any agent that speaks ACP, "run pty -- CMD..." any program.

Exit codes: 0 turn completed, 1 it failed or input was not taken, 2 usage or
config, 3 agent not installed, not logged in or would not start, 4 refused ask,
5 time-out, 130 SIGINT, 143 SIGTERM, 129 SIGHUP, 141 nobody reads the output.`,
		Example: `  agenthost run gemini -p "explain main.go"
  git diff | agenthost run claude -p - --allow 'bash(go vet *)'
  agenthost run opencode --input envelopes --output envelopes --on-ask wait
  agenthost run gemini --resume last -p "go on"
  agenthost run claude -p "fix the tests" --output junit > report.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.helpAll {
				return cmd.Help()
			}
			if len(args) == 0 {
				return usage("agenthost agents lists them", "want the name of an agent, like agenthost run gemini")
			}
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				dash = len(args)
			}
			if dash != 1 {
				return usage("put arguments for the agent behind --", "want one agent name, got %q", args[:dash])
			}
			configFile, err := cmd.Flags().GetString("config")
			if err != nil {
				return err
			}
			return runAgent(cmd.Context(), st, runRequest{
				agent: args[0], args: args[dash:], configFile: configFile, flags: f,
			})
		},
	}
	f.register(cmd)
	helpInBrief(cmd, &f.helpAll, commonFlags())
	completeRun(cmd)
	return cmd
}

func (f *runFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.prompt, "prompt", "p", "", "the prompt of one turn; `TEXT` - reads it from standard input")
	fl.StringVar(&f.input, "input", "text", "standard input is `FORM`: text, or envelopes, one a line")
	fl.StringVar(&f.output, "output", outputAuto, "`FORM`: tui (on a terminal), text (else), envelopes, events or junit")
	addProfile(cmd, &f.profile)
	fl.Int64Var(&f.from, "from", -1, "first position `N` to print of a resumed session; -1 for only what is new")
	fl.StringVar(&f.cwd, "cwd", "", "working directory `DIR` of the agent (default: this one)")
	fl.StringVar(&f.model, "model", "", "`NAME` of the model")
	fl.StringVar(&f.thinking, "thinking", "", "thinking `LEVEL`")
	fl.StringVar(&f.mode, "mode", "", "permission `MODE`: default, acceptEdits, plan or bypassPermissions")
	fl.BoolVar(&f.allowBypass, "allow-bypass", false, "let this session be switched to bypassPermissions")
	fl.BoolVar(&f.sandbox, "sandbox", false, "use the agent's own sandbox")
	fl.StringArrayVar(&f.allow, "allow", nil, "allow `RULE`, like 'bash(git status *)' (repeatable)")
	fl.StringArrayVar(&f.ask, "ask", nil, "ask for `RULE` (repeatable)")
	fl.StringArrayVar(&f.deny, "deny", nil, "deny `RULE` (repeatable)")
	fl.StringVar(&f.policy, "policy", "", "policy `FILE`")
	fl.StringVar(&f.onAsk, "on-ask", "", "`WHAT` an ask does that no rule decides: wait, deny, fail or prompt")
	fl.StringVar(&f.resume, "resume", "", "go on with `SESSION`: its id, a prefix, last, or the agent's own id")
	fl.BoolVar(&f.cont, "continue", false, "go on with the newest session of this directory")
	fl.BoolVar(&f.requeue, "requeue", false, "run what still waited when the host of the session died")
	fl.StringVar(&f.fork, "fork", "", "branch off `SESSION`: ID, or ID@POINT (an envelope id or origin)")
	fl.StringArrayVar(&f.images, "image", nil, "picture `FILE` to send with the prompt (repeatable)")
	fl.StringArrayVar(&f.files, "file", nil, "`FILE` to send with the prompt (repeatable)")
	fl.StringArrayVar(&f.dirs, "add-dir", nil, "further directory `DIR` the agent may work in (repeatable)")
	fl.StringVar(&f.systemPrompt, "system-prompt", "", "`TEXT` to append to the agent's system prompt")
	fl.IntVar(&f.maxTurns, "max-turns", 0, "limit `N` of the agent's steps, for agents that have one")
	fl.Float64Var(&f.budget, "max-budget", 0, "limit of the cost in `USD`, for agents that have one")
	fl.DurationVar(&f.timeout, "timeout", 0, "stop after this `TIME`, like 10m")
	fl.StringVar(&f.title, "title", "", "`NAME` of the session")
	fl.StringVar(&f.command, "command", "", "start `COMMAND` instead of the agent's own")
	fl.StringArrayVar(&f.env, "env", nil, "`NAME=VALUE` to set in the agent's environment (repeatable)")
	fl.StringArrayVar(&f.passEnv, "pass-env", nil, "variables to pass to the agent, a `GLOB` (repeatable)")
	fl.StringVar(&f.record, "record", "", "write a transcript of the agent's output to `FILE`")
	fl.StringVar(&f.escape, "escape", "", "escape `KEY` of the agent's screen (default ctrl-])")
	fl.BoolVar(&f.local, "local", false, "run it in this process although a daemon runs")
	fl.BoolVar(&f.keep, "keep", false, "leave the agent running with the daemon")
	fl.BoolVar(&f.detach, "detach", false, "give the prompt to the daemon, print the session's id and leave")
	cmd.MarkFlagsMutuallyExclusive("resume", "continue", "fork")
}

// check refuses values that no flag type checks.
func (f *runFlags) check() error {
	if err := oneOf("run", "--input", f.input, "text", "envelopes"); err != nil {
		return err
	}
	if f.output != outputAuto {
		if err := oneOf("run", "--output", f.output, outputTUI, outputText, "envelopes", "events", "junit"); err != nil {
			return err
		}
	}
	if f.onAsk != "" {
		if err := oneOf("run", "--on-ask", f.onAsk, "wait", "deny", "fail", "prompt"); err != nil {
			return err
		}
	}
	if f.mode != "" {
		if err := oneOf("run", "--mode", f.mode, "default", "acceptEdits", "plan", "bypassPermissions"); err != nil {
			return err
		}
	}
	if f.mode == "bypassPermissions" && !f.allowBypass {
		return usage("add --allow-bypass if you mean it", "--mode bypassPermissions lets the agent do anything unasked")
	}
	if f.requeue && f.resume == "" && !f.cont {
		return usage("add --resume SESSION or --continue", "--requeue is about a session that is gone on with")
	}
	if f.input == "envelopes" && f.prompt == "-" {
		return usage("send the prompt as a text envelope", "-p - and --input envelopes both want standard input")
	}
	return nil
}

// oneOf refuses a value of a flag or an argument of command that is none of want.
func oneOf(command, flag, got string, want ...string) error {
	for _, w := range want {
		if got == w {
			return nil
		}
	}
	return usage("see agenthost "+command+" --help", "%s: want one of %s, got %q", flag, strings.Join(want, ", "), got)
}
