package pty

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract/session"
)

// Adapter runs a program of the terminal. It is a value without state and safe for
// concurrent use.
type Adapter struct{}

var _ adapters.TerminalAdapter = Adapter{}

// New makes the adapter.
func New() Adapter { return Adapter{} }

// Name implements adapters.Adapter.
func (Adapter) Name() string { return "pty" }

// Describe implements adapters.Adapter.
func (Adapter) Describe() adapters.Description {
	return adapters.Description{
		Title: "Any program of the terminal",
		Claims: []adapters.Claim{
			{Capability: session.CapSteer, Reason: "what is typed while it works cannot be told from a prompt"},
			{Capability: session.CapQueue, Reason: "the host queues in its place"},
			{Capability: session.CapRewind, Reason: "of a program only its screen is known"},
			{Capability: session.CapFork, Reason: "of a program only its screen is known"},
			{Capability: session.CapStash, Reason: "of a program only its screen is known"},
			{Capability: session.CapDiff, Reason: "what it changes is not told"},
			{Capability: session.CapReasoning, Reason: "what it says is not told"},
		},
	}
}

// DescribeTerminal implements adapters.TerminalAdapter.
func (a Adapter) DescribeTerminal() adapters.Description { return a.Describe() }

// Launch implements adapters.Adapter: there is no such program without its screen.
func (Adapter) Launch(adapters.LaunchRequest) (adapters.Launch, error) {
	return adapters.Launch{}, fmt.Errorf("a program of the terminal has only its screen: %w", adapters.ErrUnsupported)
}

// NewProtocol implements adapters.Adapter. It is of no child: Launch starts none.
func (Adapter) NewProtocol(info adapters.SessionInfo) adapters.Protocol {
	return newProtocol(info)
}

// LaunchTerminal implements adapters.TerminalAdapter.
func (Adapter) LaunchTerminal(req adapters.TerminalRequest) (adapters.Launch, error) {
	if err := refuses(req.Options); err != nil {
		return adapters.Launch{}, err
	}
	argv := slices.Concat(req.Command, req.Args)
	if len(argv) == 0 || argv[0] == "" {
		return adapters.Launch{}, errors.New("pty has no command: want one after --, as in: agenthost run pty -- CMD")
	}
	return adapters.Launch{Argv: argv, Screen: true}, nil
}

// NewTerminalProtocol implements adapters.TerminalAdapter.
func (Adapter) NewTerminalProtocol(info adapters.TerminalInfo) adapters.Protocol {
	return newProtocol(info.SessionInfo)
}

// refuses says what of the options means nothing to a program that is not known.
func refuses(o adapters.Options) error {
	for _, x := range []struct {
		name string
		set  bool
	}{
		{"Model", o.Model != ""},
		{"Mode", o.Mode != "" && o.Mode != "default"},
		{"Thinking", o.Thinking != ""},
		{"Sandbox", o.Sandbox},
		{"Resume", o.Resume != "" || o.Continue},
		{"Fork", o.Fork != "" || o.ForkAt != ""},
		{"Dirs", len(o.Dirs) > 0},
		{"MCPServers", len(o.MCPServers) > 0},
		{"SystemPrompt", o.SystemPrompt != ""},
		{"MaxTurns", o.MaxTurns != 0},
		{"BudgetUSD", o.BudgetUSD != 0},
		{"AllowedTools", len(o.AllowedTools) > 0},
		{"DisallowedTools", len(o.DisallowedTools) > 0},
	} {
		if x.set {
			return fmt.Errorf("a program of the terminal takes no option %s: %w", x.name, adapters.ErrUnsupported)
		}
	}
	_, err := restOf(o.Settings)
	if err != nil {
		return err
	}
	_, err = abortKey(o.Settings)
	return err
}

// defaultRest is how long a screen is at rest before a turn is over.
const defaultRest = 3 * time.Second

// restOf is the setting rest.
func restOf(settings map[string]string) (time.Duration, error) {
	text := settings["rest"]
	if text == "" {
		return defaultRest, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > time.Hour {
		return 0, fmt.Errorf("setting rest: want a time of up to 1h like 5s, got %q", text)
	}
	return d, nil
}

// abortKey is what the setting abort has typed, empty for nothing.
func abortKey(settings map[string]string) (string, error) {
	switch text := settings["abort"]; text {
	case "", "ctrl-c":
		return "\x03", nil
	case "esc":
		return "\x1b", nil
	case "none":
		return "", nil
	default:
		return "", fmt.Errorf("setting abort: want ctrl-c, esc or none, got %q", text)
	}
}
