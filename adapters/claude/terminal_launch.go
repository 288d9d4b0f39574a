package claude

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// LaunchTerminal implements adapters.TerminalAdapter. The hooks go along as
// settings of the command line, which the CLI adds to those of the user's files.
func (a Adapter) LaunchTerminal(r adapters.TerminalRequest) (adapters.Launch, error) {
	args, files, err := terminalArguments(r)
	if err != nil {
		return adapters.Launch{}, err
	}
	l, err := a.launch(r.LaunchRequest, args, files)
	if err != nil {
		return adapters.Launch{}, err
	}
	if err := checkTerminalArgs(r.Args); err != nil {
		return adapters.Launch{}, err
	}
	l.Screen = true
	return l, nil
}

func terminalArguments(r adapters.TerminalRequest) ([]string, []adapters.LaunchFile, error) {
	o := r.Options
	cfg, err := parseSettings(o)
	if err != nil {
		return nil, nil, err
	}
	mode, err := permissionMode(o.Mode, o.AllowBypass)
	if err != nil {
		return nil, nil, err
	}
	if err := terminalOptions(o); err != nil {
		return nil, nil, err
	}
	native, err := cfg.nativeSettings(o.Sandbox, askRules(o.AskFirst, r.Dir))
	if err != nil {
		return nil, nil, err
	}
	settings, err := withHooks(native, r.Hook)
	if err != nil {
		return nil, nil, err
	}
	// The CLI's own default with a screen is "auto", in which a classifier decides.
	return optionArgs([]string{"--permission-mode", mode}, r.LaunchRequest, settings, cfg.sources)
}

// terminalOptions refuses what the CLI takes without a screen only.
func terminalOptions(o adapters.Options) error {
	switch {
	case o.MaxTurns > 0 || o.BudgetUSD > 0:
		return fmt.Errorf("claude: limits of turns and money hold without its own screen only: %w", adapters.ErrUnsupported)
	case o.ForkAt != "":
		return fmt.Errorf("claude: a conversation is cut without its own screen only: %w", adapters.ErrUnsupported)
	case o.Thinking != "" && !slices.Contains(efforts(), o.Thinking):
		return fmt.Errorf("claude: thinking level with its own screen: want one of %q, got %q: %w", efforts(), o.Thinking, adapters.ErrUnsupported)
	}
	return nil
}

// checkTerminalArgs refuses a person's arguments that take the screen or the hooks
// away.
func checkTerminalArgs(args []string) error {
	for _, a := range args {
		switch name, _, _ := strings.Cut(a, "="); name {
		case "-p", "--print", "--output-format", "--input-format":
			return fmt.Errorf("claude: argument %q runs it without its own screen: %w", a, adapters.ErrUnsupported)
		case "--settings":
			return fmt.Errorf("claude: argument %q would replace agenthost's hooks, use the setting %q: %w", a, settingSettings, adapters.ErrUnsupported)
		case "--bare", "--safe-mode":
			return fmt.Errorf("claude: argument %q switches hooks off: %w", a, adapters.ErrUnsupported)
		}
	}
	return nil
}

// hookEvents are the hooks that are asked for: those that tell what the file does not,
// or too late. (Of others people see that they ran, as of PreCompact.) A matcher is
// needed where an event has one.
func hookEvents() []hookEvent {
	return []hookEvent{
		{hookSessionStart, "", hookTimeout},
		{hookPrompt, "", hookTimeout},
		{hookPreTool, "*", hookTimeout},
		{hookPostTool, "*", hookTimeout},
		{hookToolFailed, "*", hookTimeout},
		{hookPermission, "*", askTimeout},
		{hookNotification, "", hookTimeout},
		{hookStop, "", hookTimeout},
		{hookStopFailed, "", hookTimeout},
		{hookAgentStop, "", hookTimeout},
		{hookSessionEnd, "", hookTimeout},
	}
}

type hookEvent struct {
	name, matcher string
	timeout       int
}

// withHooks adds the hooks to settings, a JSON object or nothing. Hooks that the
// object has already stay, before ours.
func withHooks(settings, command string) (string, error) {
	v := jsontext.Value(strings.TrimSpace(settings))
	if len(v) > 0 && (v.Kind() != '{' || !v.IsValid()) {
		return "", fmt.Errorf("claude: setting %q: want a JSON object with its own screen, to add hooks to, got a file", settingSettings)
	}
	given := rawjson.Value(v)
	if given.Get("disableAllHooks").True() {
		return "", fmt.Errorf("claude: setting %q: disableAllHooks: want false, its own screen is followed by hooks: %w", settingSettings, adapters.ErrUnsupported)
	}
	hooks := new(object)
	theirs := given.Get("hooks")
	for _, e := range hookEvents() {
		var list [][]byte
		for old := range theirs.Get(e.name).Elements() {
			list = append(list, old.Clean())
		}
		hooks.raw(e.name, array(append(list, e.entry(command))...))
	}
	for name, list := range theirs.Members() {
		if !slices.ContainsFunc(hookEvents(), func(e hookEvent) bool { return e.name == name }) {
			hooks.raw(name, list.Clean())
		}
	}
	o := new(object).raw("hooks", hooks.value())
	for name, value := range given.Members() {
		if name != "hooks" {
			o.raw(name, value.Clean())
		}
	}
	return string(o.value()), nil
}

// entry is one entry of an event's list of hooks.
func (e hookEvent) entry(command string) []byte {
	run := new(object).str("type", "command").str("command", command).raw("timeout", decimal(e.timeout))
	o := new(object)
	if e.matcher != "" {
		o.str("matcher", e.matcher)
	}
	return o.raw("hooks", array(run.value())).value()
}
