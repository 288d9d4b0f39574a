package main

import (
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
	cont                              bool
	images, files, dirs               []string
	timeout                           time.Duration
	command                           string
	env, passEnv                      []string
	record, systemPrompt              string
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
ends and the last turn is over; else it reads prompts from standard input.

"agenthost run acp -- CMD..." runs any agent that speaks ACP on its standard
input and output.

Exit codes: 0 turn completed, 1 turn failed, 2 usage or config, 3 agent not
installed, not logged in or would not start, 4 refused ask with --on-ask fail,
5 time-out, 130 SIGINT, 143 SIGTERM.`,
		Example: `  agenthost run gemini -p "explain main.go"
  git diff | agenthost run claude -p - --allow 'bash(go vet *)'
  agenthost run opencode --input envelopes --output envelopes --on-ask wait
  agenthost run gemini --resume last -p "go on"
  agenthost run acp -p hello -- my-agent --acp`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
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
				agent: args[0], args: args[dash:], configFile: configFile, flags: f, changed: cmd.Flags().Changed,
			})
		},
	}
	f.register(cmd)
	return cmd
}

func (f *runFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.prompt, "prompt", "p", "", "the prompt of one turn; - reads it from standard input")
	fl.StringVar(&f.input, "input", "text", "text, or envelopes: standard input is a stream of v2 user envelopes")
	fl.StringVar(&f.output, "output", "text", "text, envelopes or events (NDJSON, flushed per line)")
	addProfile(cmd, &f.profile)
	fl.Int64Var(&f.from, "from", -1, "first position to print of a resumed session (default: only what is new)")
	fl.StringVar(&f.cwd, "cwd", "", "working directory of the agent (default: this one)")
	fl.StringVar(&f.model, "model", "", "model")
	fl.StringVar(&f.thinking, "thinking", "", "thinking level")
	fl.StringVar(&f.mode, "mode", "", "permission mode: default, acceptEdits, plan or bypassPermissions")
	fl.BoolVar(&f.allowBypass, "allow-bypass", false, "let this session be switched to bypassPermissions")
	fl.BoolVar(&f.sandbox, "sandbox", false, "use the agent's own sandbox")
	fl.StringArrayVar(&f.allow, "allow", nil, "allow RULE, like 'bash(git status *)' (repeatable)")
	fl.StringArrayVar(&f.ask, "ask", nil, "ask for RULE (repeatable)")
	fl.StringArrayVar(&f.deny, "deny", nil, "deny RULE (repeatable)")
	fl.StringVar(&f.policy, "policy", "", "policy file")
	fl.StringVar(&f.onAsk, "on-ask", "", "what an ask does that no rule decides: wait, deny, fail or prompt")
	fl.StringVar(&f.resume, "resume", "", "go on with a session: its id, a prefix, last, or the agent's own id")
	fl.BoolVar(&f.cont, "continue", false, "go on with the newest session of this directory")
	fl.StringVar(&f.fork, "fork", "", "branch off a session: ID or ID@ORIGIN")
	fl.StringArrayVar(&f.images, "image", nil, "picture to send with the prompt (repeatable)")
	fl.StringArrayVar(&f.files, "file", nil, "file to send with the prompt (repeatable)")
	fl.StringArrayVar(&f.dirs, "add-dir", nil, "further directory the agent may work in (repeatable)")
	fl.StringVar(&f.systemPrompt, "system-prompt", "", "text to append to the agent's system prompt")
	fl.IntVar(&f.maxTurns, "max-turns", 0, "limit of the agent's steps, for agents that have one")
	fl.Float64Var(&f.budget, "max-budget", 0, "limit of the cost in USD, for agents that have one")
	fl.DurationVar(&f.timeout, "timeout", 0, "stop after this time")
	fl.StringVar(&f.title, "title", "", "name of the session")
	fl.StringVar(&f.command, "command", "", "start this command instead of the agent's own")
	fl.StringArrayVar(&f.env, "env", nil, "K=V to set in the agent's environment (repeatable)")
	fl.StringArrayVar(&f.passEnv, "pass-env", nil, "variables to pass to the agent, a glob (repeatable)")
	fl.StringVar(&f.record, "record", "", "write a transcript of the agent's output to this file")
	cmd.MarkFlagsMutuallyExclusive("resume", "continue", "fork")
}

// check refuses values that no flag type checks.
func (f *runFlags) check() error {
	if err := oneOf("--input", f.input, "text", "envelopes"); err != nil {
		return err
	}
	if err := oneOf("--output", f.output, "text", "envelopes", "events"); err != nil {
		return err
	}
	if f.onAsk != "" {
		if err := oneOf("--on-ask", f.onAsk, "wait", "deny", "fail", "prompt"); err != nil {
			return err
		}
	}
	if f.mode != "" {
		if err := oneOf("--mode", f.mode, "default", "acceptEdits", "plan", "bypassPermissions"); err != nil {
			return err
		}
	}
	if f.mode == "bypassPermissions" && !f.allowBypass {
		return usage("add --allow-bypass if you mean it", "--mode bypassPermissions lets the agent do anything unasked")
	}
	if f.input == "envelopes" && f.prompt == "-" {
		return usage("send the prompt as a text envelope", "-p - and --input envelopes both want standard input")
	}
	return nil
}

func oneOf(flag, got string, want ...string) error {
	for _, w := range want {
		if got == w {
			return nil
		}
	}
	return usage("see agenthost run --help", "%s: want one of %q, got %q", flag, want, got)
}
