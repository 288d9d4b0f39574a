package acp

import (
	"encoding/json/jsontext"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// AgentSpec describes one ACP agent. It is data, so that the config can add
// agents; the zero Quirks suit an agent that follows the specification.
type AgentSpec struct {
	// Name is what users type, Title the agent's name for people.
	Name, Title string
	// Command is the argv that makes the agent speak ACP on its standard input
	// and output.
	Command []string
	// Install and Login are command lines for people.
	Install, Login string
	// Credentials are the places of a login, as in adapters.Description.
	Credentials []string
	// VersionArgs make the command print its version.
	VersionArgs []string
	// Tested are the versions that were recorded.
	Tested []string
	// Env is set for the agent, Pass are globs of variables it needs.
	Env    []adapters.Pair
	Pass   []string
	Quirks Quirks
	Hooks  Hooks
}

// Quirks are an agent's deviations from the specification, as data.
type Quirks struct {
	// Client is what we offer the agent to do for it.
	Client ClientFeatures

	// Modes maps the contract's permission modes to the agent's, where they
	// differ. StartMode is the agent's mode to switch to when nobody chose one
	// and the agent starts in another. FreeModes are modes in which the agent
	// acts without asking, beside those that their names give away.
	Modes     map[contract.PermissionMode]string
	StartMode string
	FreeModes []string

	// Tools maps native tool names to canonical ones, beside the common table.
	Tools map[string]string
	// NameFromTitle: the first title of a pending call is the tool's name.
	NameFromTitle bool
	// NameFromID: the tool's name is what stands in a call's id before this text.
	NameFromID string
	// TitleIsCommand: the title of an execute call is the whole command line.
	TitleIsCommand bool
	// StubWait is how long the start of a call without input is held back,
	// DefaultStubWait when 0.
	StubWait time.Duration

	// Usage says how the agent counts tokens.
	Usage UsageKind
	// Steer says how the agent takes input in the middle of a turn.
	Steer SteerKind
	// Fork says how the agent forks, Rewind whether it can.
	Fork   ForkKind
	Rewind bool
	// Since is the version from which Steer, Fork and Rewind hold, empty for any.
	Since string

	// ReplaySettle: the agent replays history after it answered session/load, too.
	// The session is open when nothing came for this long.
	ReplaySettle time.Duration
	// NoResume: session/resume is advertised and does not work; session/load is used.
	NoResume bool
	// NoLoad refuses to open earlier sessions; it says why.
	NoLoad string
	// ImagesAlone: an image is lost when other attachments go with it.
	ImagesAlone bool
	// NarrowOptions are option ids of kind allow_always that reach no further than
	// the session, and of kind allow_once without side effects, beside the common ones.
	NarrowOptions []string
	// ErrorText: the agent reports failures of the model's service as text that
	// begins with this, and completes the turn.
	ErrorText string
	// LaunchTakes are options that Hooks.Launch takes care of, by the name of the
	// field: "Dirs", "SystemPrompt", "Sandbox", "MaxTurns", "AllowedTools" …
	LaunchTakes []string
}

// ClientFeatures are the client methods that we offer an agent. The zero value
// offers elicitation and nothing else; an agent that calls what was not offered
// is told that there is no such method.
type ClientFeatures struct {
	ReadFile, WriteFile, Terminal bool
	// MissingReadsEmpty answers the read of a missing file with an empty text.
	MissingReadsEmpty bool
	// NoElicitation does not offer questions to the user.
	NoElicitation bool
	// Subagents asks for the updates of sub-agents as sessions of their own.
	Subagents bool
}

// UsageKind says what PromptResponse.usage counts.
type UsageKind int

// The ways to count.
const (
	// UsageTurn counts the turn.
	UsageTurn UsageKind = iota
	// UsageSession counts the session since the process started.
	UsageSession
	// UsageLastRequest counts the turn's last model request only.
	UsageLastRequest
)

// SteerKind says how an agent takes input in the middle of a turn.
type SteerKind int

// The ways to steer.
const (
	// SteerAdvertised uses _session/steering when the handshake advertises it.
	SteerAdvertised SteerKind = iota
	// SteerPrompt sends a second session/prompt, which the agent takes into the
	// running turn.
	SteerPrompt
	// SteerDrain answers the agent's craft/drainMidTurnQueue.
	SteerDrain
	// SteerNever does not steer, whatever the agent says.
	SteerNever
)

// ForkKind says how an agent forks a session.
type ForkKind int

// The ways to fork.
const (
	// ForkAdvertised uses session/fork when the handshake advertises it.
	ForkAdvertised ForkKind = iota
	// ForkBranch uses qwen/control/session/branch.
	ForkBranch
	// ForkNever does not fork, whatever the agent says.
	ForkNever
)

// Hooks change what data cannot. A nil hook does nothing. Hooks must be pure and
// must not keep what they are given.
type Hooks struct {
	// Launch changes how the agent is started, after the spec was applied.
	Launch func(adapters.LaunchRequest, *adapters.Launch) error
	// Refuse says why a session cannot be opened, before the agent is asked; nil when
	// it may be.
	Refuse func(adapters.SessionInfo) *contract.Error
	// LoadAt returns the earliest time at which an earlier session may be opened;
	// the zero Time is at once.
	LoadAt func(now time.Time, info adapters.SessionInfo) time.Time
	// Chunk sees each chunk of agent text before it becomes part of a message.
	Chunk func(text string, thinking bool) Chunk
	// Tool corrects what is about to be said of a call. It is called before the
	// call's start, each ask and its end.
	Tool func(*Tool)
	// Fault corrects how an error of the agent is reported.
	Fault func(Fault, *contract.Error)
}

// Chunk is what a Hooks.Chunk makes of a piece of text.
type Chunk struct {
	// Drop says that it is no text of the model.
	Drop bool
	// Mode is the agent's mode that it announces, empty for none.
	Mode string
}

// Tool is what is known of a tool call.
type Tool struct {
	// ID is the agent's, Native the agent's name of the tool, empty when it gave none.
	ID, Native string
	// Kind is ACP's: read, edit, delete, move, search, execute, think, fetch,
	// switch_mode, other, or something newer.
	Kind string
	// Name is the canonical name.
	Name string
	// NativeTitle is the agent's title.
	NativeTitle string
	// Title and Description are for people, inline markdown; empty ones are derived.
	Title, Description string
	// Args is the input, always an object.
	Args jsontext.Value
	// Paths are the files it concerns, as the agent wrote them.
	Paths []string
	// Ended says that Result is set: this is the call's end.
	Ended  bool
	Result contract.ToolResult
}

// Fault is an error as the agent sent it.
type Fault struct {
	Code    int64
	Message string
	Data    jsontext.Value
}

// Times and sizes. They are generous: under load a handshake took 28 s, and
// agents retry silently for minutes.
const (
	// InitializeWait bounds the handshake; after it the agent does not start.
	InitializeWait = 2 * time.Minute
	// OpenWait bounds session/new, load, resume, list and fork: an agent may read
	// a long history and start MCP servers.
	OpenWait = 5 * time.Minute
	// AuthWait bounds a login in which a person has to act.
	AuthWait = 5 * time.Minute
	// ConfigWait bounds changes of mode and model, and operations.
	ConfigWait = time.Minute
	// CancelWait is how long an agent may take to end a cancelled turn. Then the
	// turn is ended as cancelled and the child given up.
	CancelWait = 15 * time.Second
	// StallWait is the silence in a running turn after which a notice tells so: some
	// agents retry a refused request for minutes without a word. Package silence says
	// when more of them come.
	StallWait = time.Minute
	// DefaultStubWait is how long a call's start waits for its input.
	DefaultStubWait = 3 * time.Second
	// SettleWait is how long a call's start waits for more input when some is there
	// and the agent says nothing else.
	SettleWait = 200 * time.Millisecond
	// QuietWait ends a turn that the agent began by itself: there is no signal for
	// it, so silence without an open call or ask has to do.
	QuietWait = 3 * time.Second
	// QuietCallWait is the same while a call is open: agents leave some open for
	// ever, and a prompt waits for the turn. When such a call ends after all, it is
	// told as a call of its own, so nothing is lost by a short wait.
	QuietCallWait = 30 * time.Second
	// ReportWait is how long the call of a sub-agent waits for its report after the
	// sub-agent came to rest.
	ReportWait = 2 * time.Second
	// MaxText is the size at which a text envelope is written although its message
	// goes on, in bytes.
	MaxText = 32 << 10
	// MaxOutput bounds the output of a tool that is collected from deltas, in
	// bytes; the beginning is kept.
	MaxOutput = 1 << 20
)
