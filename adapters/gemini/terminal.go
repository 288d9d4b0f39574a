package gemini

import (
	"crypto/sha256"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/acp"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/rawjson"
)

var _ adapters.TerminalAdapter = Adapter{}

// DescribeTerminal implements adapters.TerminalAdapter.
func (a Adapter) DescribeTerminal() adapters.Description {
	d := a.Describe()
	d.Command = []string{"gemini"}
	d.Claims = terminalClaims()
	return d
}

// terminalClaims say what Gemini CLI can do with its own screen, and why not.
func terminalClaims() []adapters.Claim {
	return []adapters.Claim{
		{Capability: session.CapSteer, Reason: "what is typed while it works waits for the end of the turn"},
		{Capability: session.CapQueue, Reason: "it puts everything that waits into one prompt; the host queues in its place"},
		{Capability: session.CapRewind, Reason: "its /rewind is a menu, for the keys of a person"},
		{Capability: session.CapFork, Reason: "it cannot branch off a session"},
		{Capability: session.CapStash, Reason: "it has none"},
		{Capability: session.CapDiff, Supported: true},
		{Capability: session.CapReasoning, Supported: true, Reason: "whole thoughts, nothing while they are made"},
	}
}

// NewTerminalProtocol implements adapters.TerminalAdapter.
func (Adapter) NewTerminalProtocol(info adapters.TerminalInfo) adapters.Protocol {
	return newTerminal(info)
}

// LaunchTerminal implements adapters.TerminalAdapter.
func (a Adapter) LaunchTerminal(req adapters.TerminalRequest) (adapters.Launch, error) {
	if err := terminalRefuses(req.Options); err != nil {
		return adapters.Launch{}, err
	}
	argv := []string{"gemini"}
	if req.Command != nil {
		argv = req.Command
	}
	l := adapters.Launch{Argv: slices.Concat(argv, terminalArgs(req), req.Args), Pass: spec().Pass, Screen: true}
	eitherFace(req.LaunchRequest, &l)
	if err := a.machine.askFirst(req.LaunchRequest, &l); err != nil {
		return adapters.Launch{}, err
	}
	if chats := a.machine.chats(req); chats != "" {
		l.Env = append(l.Env, adapters.Pair{Name: chatsVar, Value: chats})
		if req.Options.Resume != "" && a.machine.OS != "windows" {
			l.Argv = inAnotherMinute(l.Argv, chats)
		}
	}
	dir := filepath.Join(req.StateDir, "gemini")
	why := a.machine.Insecure(dir)
	if why == "" {
		err := a.machine.systemFiles(req.LaunchRequest, &l, softDefaults(hasKey(req.LaunchRequest)), func(system jsontext.Value) jsontext.Value {
			return merge(system, terminalOverrides(req, rawjson.Value(system)))
		})
		return l, err
	}
	if len(req.Options.MCPServers) > 0 {
		return adapters.Launch{}, fmt.Errorf("gemini takes MCP servers in its settings, and no settings of ours (%s): %w", why, adapters.ErrUnsupported)
	}
	l.Notices = append(l.Notices, "Gemini CLI takes hooks only from settings that are root's ("+why+"). "+
		"Its permission requests are answered at its terminal alone, and turns end when its screen does.")
	if req.Options.Resume != "" && !a.machine.keepsSessions(req.LaunchRequest) {
		l.Notices = append(l.Notices, "Gemini CLI may delete a resumed session at its next start. "+
			"To keep such sessions set general.sessionRetention.enabled to false in ~/.gemini/settings.json.")
	}
	return l, nil
}

// inAnotherMinute puts a start off while the session has a chat file of this minute:
// Gemini CLI would write into that file as if it were new, and the history is gone
// (google-gemini/gemini-cli issues 28693, 28775, 29288). Its files have the minute, in
// UTC, where the pattern has a star.
func inAnotherMinute(argv []string, chats string) []string {
	before, after, _ := strings.Cut(filepath.Base(chats), "*")
	const script = `now() { [ -e "$1/$2$(date -u +%Y-%m-%dT%H-%M)$3" ]; }
if now "$1" "$2" "$3"; then
	echo "Gemini CLI loses a session that is opened twice in a minute: it starts in the next one."
	while now "$1" "$2" "$3"; do sleep 1; done
fi
shift 3
exec "$@"`
	return append([]string{"sh", "-c", script, "sh", filepath.Dir(chats), before, after}, argv...)
}

// hasKey reports whether there is a key in the environment.
func hasKey(req adapters.LaunchRequest) bool {
	return req.Getenv != nil && req.Getenv("GEMINI_API_KEY") != ""
}

// terminalRefuses says what of the options its screen has no place for.
func terminalRefuses(o adapters.Options) error {
	for _, x := range []struct {
		name string
		set  bool
	}{
		{"Thinking", o.Thinking != ""},
		{"SystemPrompt", o.SystemPrompt != ""},
		{"Fork", o.Fork != "" || o.ForkAt != ""},
		{"MaxTurns", o.MaxTurns != 0},
		{"BudgetUSD", o.BudgetUSD != 0},
		{"AllowedTools", len(o.AllowedTools) > 0},
		{"DisallowedTools", len(o.DisallowedTools) > 0},
	} {
		if x.set {
			return fmt.Errorf("gemini with its own screen takes no option %s: %w", x.name, adapters.ErrUnsupported)
		}
	}
	if o.Mode == string(contract.ModeBypassPermissions) && !o.AllowBypass {
		return fmt.Errorf("mode %q needs the local opt-in", o.Mode)
	}
	if _, err := approvalMode(o.Mode); err != nil {
		return err
	}
	if err := noSession(adapters.SessionInfo{Options: o}); err != nil && o.Resume != "" {
		return errors.New(err.Message)
	}
	return nil
}

// approvalMode is a mode as the command line has it. Without one it is "default",
// said aloud: the user's own settings may begin in a freer one.
func approvalMode(mode string) (string, error) {
	switch mode {
	case "", "default":
		return "default", nil
	case string(contract.ModeAcceptEdits), "autoEdit", "auto_edit":
		return "auto_edit", nil
	case string(contract.ModePlan):
		return "plan", nil
	case string(contract.ModeBypassPermissions):
		return "yolo", nil
	}
	return "", fmt.Errorf("gemini has no mode %q: %w", mode, adapters.ErrUnsupported)
}

// terminalArgs are the arguments of a start with its screen.
func terminalArgs(req adapters.TerminalRequest) []string {
	o := req.Options
	mode, err := approvalMode(o.Mode)
	if err != nil {
		mode = "default" // refused before
	}
	args := []string{"--approval-mode", mode}
	switch {
	case o.Resume != "":
		args = append(args, "--resume", o.Resume)
	case o.Continue:
		args = append(args, "--resume", "latest")
	default:
		args = append(args, sessionArg, ownSession(req))
	}
	if o.Model != "" {
		args = append(args, "--model", o.Model)
	}
	if o.Sandbox {
		args = append(args, "--sandbox")
	}
	for _, dir := range o.Dirs {
		args = append(args, "--include-directories", dir)
	}
	return args
}

// sessionArg gives a new session its id. One that is used already is refused.
const sessionArg = "--session-id"

// ownSession is a UUID that belongs to one start of a session of the host, so that the
// name of its chat file is known before it.
func ownSession(req adapters.TerminalRequest) string {
	sum := sha256.Sum256([]byte("agenthost gemini session " + req.SessionID + " " + req.SocketDir))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// chatsVar tells the Protocol where to look for the chat file when no hook tells
// it. Gemini CLI does not read it.
const chatsVar = "AGENTHOST_GEMINI_CHATS"

// chats is a pattern of the session's chat files, empty when it cannot be known: the
// directory of a project is named in a file of Gemini CLI, once it ran there.
func (m Machine) chats(req adapters.TerminalRequest) string {
	id := req.Options.Resume
	if id == "" {
		if req.Options.Continue {
			return ""
		}
		id = ownSession(req)
	}
	home := m.home(req.LaunchRequest)
	if home == "" || len(id) < shortID {
		return ""
	}
	var projects rawjson.Value
	if data, err := m.ReadFile(filepath.Join(home, ".gemini", "projects.json")); err == nil {
		if v, err := rawjson.Parse(data); err == nil {
			projects = v.Get("projects")
		}
	}
	slug := slugFor(projects, req.Dir)
	return filepath.Join(home, ".gemini", "tmp", slug, "chats", "session-*-"+id[:shortID]+".jsonl")
}

// shortID is how much of a session's id stands in the name of its chat file.
const shortID = 8

var notSlug = pattern(`[^a-z0-9]+`)

// slugFor is the name of a project's directory: what the file says, else what Gemini
// CLI is going to call it.
func slugFor(projects rawjson.Value, dir string) string {
	taken := map[string]bool{}
	for project, v := range projects.Members() {
		slug := v.Text()
		if project == dir && slug != "" && slug == filepath.Base(slug) {
			return slug
		}
		taken[slug] = true
	}
	slug := strings.Trim(notSlug().ReplaceAllString(strings.ToLower(filepath.Base(dir)), "-"), "-")
	if slug == "" {
		slug = "project"
	}
	name := slug
	for n := 1; taken[name]; n++ {
		name = slug + "-" + strconv.Itoa(n)
	}
	return name
}

// terminalSpec is Gemini CLI as the Protocol of its terminal speaks for it.
func terminalSpec() acp.AgentSpec {
	s := spec()
	s.Hooks.Refuse, s.Hooks.LoadAt, s.Hooks.Launch = nil, nil, nil
	s.Quirks.ReplaySettle = 0
	s.Quirks.LaunchTakes = append(s.Quirks.LaunchTakes, "Sandbox")
	return s
}
