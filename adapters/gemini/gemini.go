package gemini

import (
	"fmt"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/acp"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// Adapter runs Gemini CLI. It is a value without state and safe for concurrent use.
type Adapter struct{ machine Machine }

var _ adapters.Adapter = Adapter{}

// New makes the adapter for this machine.
func New() Adapter { return Adapter{thisMachine()} }

// NewOn makes the adapter for a machine that Launch looks at through m.
func NewOn(m Machine) Adapter { return Adapter{m} }

// Name implements adapters.Adapter.
func (Adapter) Name() string { return "gemini" }

// Describe implements adapters.Adapter.
func (a Adapter) Describe() adapters.Description {
	d := acp.New(spec()).Describe()
	d.Claims = claims()
	return d
}

// claims say what Gemini CLI can do over ACP, and why not.
func claims() []adapters.Claim {
	return []adapters.Claim{
		{Capability: session.CapSteer, Reason: "a second prompt cancels the running turn"},
		{Capability: session.CapQueue, Reason: "a second prompt cancels the first; the host queues in its place"},
		{Capability: session.CapRewind, Reason: "checkpoints and /rewind exist in its terminal UI only"},
		{Capability: session.CapFork, Reason: "it cannot branch off a session"},
		{Capability: session.CapStash, Reason: "it has none"},
		{Capability: session.CapDiff, Supported: true},
		{Capability: session.CapReasoning, Supported: true},
	}
}

// Launch implements adapters.Adapter.
func (a Adapter) Launch(req adapters.LaunchRequest) (adapters.Launch, error) {
	s := spec()
	s.Hooks.Launch = a.machine.launch
	return acp.New(s).Launch(req)
}

// NewProtocol implements adapters.Adapter.
func (a Adapter) NewProtocol(info adapters.SessionInfo) adapters.Protocol {
	return newProtocol(info)
}

// replaySettle is how long nothing must come before a replay counts as over.
// Gemini CLI answers session/load first and replays then, in one go.
const replaySettle = time.Second

// spec is Gemini CLI as an ACP agent.
func spec() acp.AgentSpec {
	return acp.AgentSpec{
		Name: "gemini", Title: "Gemini CLI", Command: []string{"gemini", "--acp"},
		Install: "npm install -g @google/gemini-cli", Login: "gemini", VersionArgs: []string{"--version"},
		Credentials: []string{
			"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA",
			"~/.gemini/oauth_creds.json", "~/.gemini/gemini-credentials.json",
		},
		Tested: []string{"0.61.0"},
		Pass:   []string{"GEMINI_*", "GOOGLE_*"},
		Quirks: acp.Quirks{
			Modes: map[contract.PermissionMode]string{
				contract.ModeDefault: "default", contract.ModeAcceptEdits: "autoEdit",
				contract.ModePlan: "plan", contract.ModeBypassPermissions: "yolo",
			},
			FreeModes:      []string{"yolo"},
			Tools:          tools(),
			NameFromID:     "__",
			TitleIsCommand: true,
			Steer:          acp.SteerNever,
			Fork:           acp.ForkNever,
			ReplaySettle:   replaySettle,
			ImagesAlone:    true,
			// Reaches one tool of a server for the session. Not in here, and so never
			// picked: proceed_always_server (all its tools), proceed_always_and_save
			// (writes a policy for all sessions and modes).
			NarrowOptions: []string{"proceed_always_tool"},
			LaunchTakes:   []string{"Dirs"},
		},
		Hooks: acp.Hooks{Refuse: noSession, LoadAt: loadAt, Tool: describeTool, Fault: fault},
	}
}

var sessionID = pattern(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// noSession refuses to look for what can be no session: a load is put off, and one
// of a wrong name should not fail a minute later. An id that the host had from
// Gemini CLI is right whatever it looks like.
func noSession(info adapters.SessionInfo) *contract.Error {
	id := info.Options.Resume
	if id == "" || !info.NativeOpened.IsZero() || sessionID().MatchString(id) {
		return nil
	}
	return &contract.Error{
		Code: contract.CodeSessionNotFound, Message: fmt.Sprintf("Gemini CLI has no session %q: its ids are UUIDs.", id),
	}
}

// loadAt keeps a load out of the minute in which the session was opened last: the
// load would append to that minute's file, fail, and the history is gone
// (google-gemini/gemini-cli issues 28693, 28775, 29288). Without knowing when that
// was it waits for the next minute.
func loadAt(now time.Time, info adapters.SessionInfo) time.Time {
	opened := info.NativeOpened
	if opened.IsZero() {
		opened = now
	}
	return opened.Truncate(time.Minute).Add(time.Minute + loadMargin)
}

// loadMargin is for what passes between the files' names and our clock.
const loadMargin = time.Second
