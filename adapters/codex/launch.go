package codex

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
)

// Launch implements adapters.Adapter. What a session is to be goes over the
// protocol, so that neither prompts nor secrets are on a command line.
func (a Adapter) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	if err := checkOptions(r.Options); err != nil {
		return adapters.Launch{}, err
	}
	if err := checkArgs(r.Args, r.Options.AllowBypass); err != nil {
		return adapters.Launch{}, err
	}
	l := adapters.Launch{Env: logEnv(), Pass: passed()}
	if r.Command != nil {
		l.Argv = slices.Concat(r.Command, r.Args)
		return l, nil
	}
	l.Argv = slices.Concat(a.Describe().Command, []string{"app-server"}, features(), r.Args)
	return l, nil
}

func logEnv() []adapters.Pair {
	return []adapters.Pair{
		// Without it stderr is coloured text even on a pipe.
		{Name: "LOG_FORMAT", Value: "json"},
		{Name: "RUST_LOG", Value: "error"},
	}
}

// passed are the variables that Codex and its providers read.
func passed() []string { return []string{"OPENAI_*", "CODEX_*", "AZURE_OPENAI_*"} }

// features pin what the translator relies on. Unknown names are ignored by
// versions that do not have them, other than with --enable and --disable.
func features() []string {
	return []string{
		// A server that is down would be waited for without end.
		"-c", "features.unbounded_connection_retries=false",
		// A message for the running turn waits for the sentence to be finished.
		"-c", "features.instant_interrupt=false",
		// Plans are told only when this tool is on.
		"-c", "tools.update_plan.enabled=true",
	}
}

// checkOptions refuses what Codex cannot do.
func checkOptions(o adapters.Options) error {
	if _, err := parseSettings(o); err != nil {
		return err
	}
	if _, err := permissionMode(o.Mode, o.AllowBypass); err != nil {
		return err
	}
	chosen := 0
	for _, on := range []bool{o.Resume != "", o.Fork != "", o.Continue} {
		if on {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return fmt.Errorf("codex: want one of resume, fork and continue, got %d", chosen)
	case o.ForkAt != "" && o.Fork == "" && o.Resume == "":
		return fmt.Errorf("codex: forkAt %q: want a session to fork or resume with it", o.ForkAt)
	case o.MaxTurns != 0:
		return fmt.Errorf("codex: max turns: Codex has no such limit: %w", adapters.ErrUnsupported)
	case o.BudgetUSD != 0:
		return fmt.Errorf("codex: budget: Codex has no such limit: %w", adapters.ErrUnsupported)
	case len(o.AllowedTools)+len(o.DisallowedTools) > 0:
		return fmt.Errorf("codex: allowed and disallowed tools: Codex takes no patterns: %w", adapters.ErrUnsupported)
	}
	for _, s := range o.MCPServers {
		if _, err := mcpServer(s); err != nil {
			return err
		}
	}
	return nil
}

// mcpServer is a server as Codex's configuration has it.
func mcpServer(s adapters.MCPServer) ([]byte, error) {
	switch {
	case s.Name == "":
		return nil, errors.New("codex: MCP server: want a name")
	case s.Transport == "stdio":
		return new(object).str("command", s.Command).raw("args", quoted(s.Args)).raw("env", pairs(s.Env)).value(), nil
	case s.Transport == "http":
		return new(object).str("url", s.URL).raw("http_headers", pairs(s.Headers)).value(), nil
	}
	return nil, fmt.Errorf("codex: MCP server %q: transport: want stdio or http, got %q", s.Name, s.Transport)
}

func pairs(list []adapters.Pair) []byte {
	o := new(object)
	for _, p := range list {
		o.str(p.Name, p.Value)
	}
	return o.value()
}

// checkArgs refuses arguments that would switch permissions off, or answer them,
// behind the host's back.
func checkArgs(args []string, bypass bool) error {
	if bypass {
		return nil
	}
	for _, a := range args {
		for _, word := range []string{"--dangerously-", "--yolo", "--full-auto", "approval_policy", "approvals_reviewer", "sandbox_mode", "--listen"} {
			if strings.Contains(a, word) {
				return fmt.Errorf("codex: argument %q needs the local opt-in: %w", a, adapters.ErrUnsupported)
			}
		}
	}
	return nil
}
