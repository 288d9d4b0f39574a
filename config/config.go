package config

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Config is the whole configuration. It and everything in it is shared and must
// not be changed.
type Config struct {
	// StateDir is where sessions, journals, grants and sockets are kept, absolute.
	StateDir    string
	Log         Log
	Permissions Permissions
	Journal     Journal
	NativeLog   NativeLog
	Limits      Limits
	Serve       Serve
	Relay       Relay

	// File is the file that was read, empty when there was none.
	File string `mapstructure:"-"`
	// Warnings are for a person to read; none stops anything.
	Warnings []string `mapstructure:"-"`
	// Custom are the agents that the file adds, in its order.
	Custom []CustomAgent `mapstructure:"-"`

	agents  map[string]Agent
	prices  map[string]Price
	origins map[string]string
}

// Log is what the host itself logs, on stderr.
type Log struct {
	// Level is debug, info, warn or error.
	Level string
	// Format is text or json.
	Format string
}

// Permissions is what decides when no person does. The strings are those of the
// permission policy, which checks the rules.
type Permissions struct {
	// Mode is what sessions begin with: default, acceptEdits, plan, bypassPermissions.
	Mode string
	// AllowBypass is the local opt-in without which bypassPermissions is refused.
	AllowBypass bool
	// Timeout is how long an ask waits for a person, 0 for ever.
	Timeout time.Duration
	// OnAsk is wait, deny, fail or prompt; empty lets the command choose.
	OnAsk string
	// Remember is who remembers an allow-always: host or agent.
	Remember string
	Rules    []Rule `mapstructure:"-"`
}

// Rule is one rule of the policy as it was written: exactly one of Allow, Ask and
// Deny should be set.
type Rule struct {
	Allow, Ask, Deny string
	// Agents, Cwd and Subagent narrow it down; nil and empty do not.
	Agents   []string
	Cwd      string
	Subagent *bool
	// At is where it stands, like "config.yaml:12: permissions.rules[0]".
	At string
}

// Journal is how sessions are kept.
type Journal struct {
	// Sync is off, interval or always.
	Sync string
	// Interval is the time between an envelope and its sync with interval.
	Interval time.Duration
	// SegmentBytes is the size from which on a journal begins a new file.
	SegmentBytes int64
	// Retention is how long a session is kept that is over, 0 for ever.
	Retention time.Duration
}

// NativeLog is the log of what agents and host said to each other.
type NativeLog struct {
	Enabled bool
	// FileBytes and Files bound it, for each session.
	FileBytes int64
	Files     int
}

// Limits bound what agents may do and how long they may take.
type Limits struct {
	// LineBytes is the longest line of an agent's output.
	LineBytes int64
	// OutputBytes is the longest tool output in an envelope.
	OutputBytes int64
	// StderrBytes is how much of the end of an agent's stderr is kept.
	StderrBytes int64
	// Start is how long an agent may take until its session is open.
	Start time.Duration
	// Stall is after how long without a sign of life of a busy agent a notice is
	// given, 0 for never.
	Stall time.Duration
	// Abort is how long an agent may take to end an aborted turn.
	Abort time.Duration
	// Stop is the grace of each step of stopping an agent.
	Stop time.Duration
	// Quiet is how long an agent that spoke without a prompt may be silent until
	// its turn is taken as ended.
	Quiet time.Duration
	// Restarts is how often in a row an agent that died is started again.
	Restarts int
}

// Serve is how the daemon keeps sessions.
type Serve struct {
	// MaxSessions is how many agents may run at once.
	MaxSessions int
	// Idle is after how long without a turn and a viewer an agent is stopped, 0 for
	// never.
	Idle time.Duration
	// Resume starts the agents again that ran when the host ended.
	Resume bool
	// Restart says when an agent that died is started again: message or always.
	Restart string
	// FilesBytes bounds uploaded files.
	FilesBytes int64
}

// Relay is where the host dials out to.
type Relay struct {
	// URL is ws:// or wss://, empty for none.
	URL string
	// TokenFile holds the host's token; absolute.
	TokenFile string
	// Profile is extended or strict.
	Profile string
}

// Agent is what is set for one agent.
type Agent struct {
	// Command replaces the agent's own command when not nil; Args follow the
	// agent's own arguments.
	Command, Args []string
	// Env is set in the agent's environment; names keep their case.
	Env []Pair
	// PassEnv are globs of variables of the host that the agent gets too.
	PassEnv []string
	Model   string
	// Mode is a permission mode, empty for that of permissions.mode.
	Mode     string
	Thinking string
	// Settings are the adapter's own, by name.
	Settings map[string]string
}

// Pair is a name with a value.
type Pair struct{ Name, Value string }

// CustomAgent is an agent that speaks ACP and is not known by itself.
type CustomAgent struct {
	// Name is what users type.
	Name, Title string
	// Command makes the agent speak ACP on its standard input and output.
	Command []string
	// Install and Login are command lines for people.
	Install, Login string
	// VersionArgs make the command print its version.
	VersionArgs []string
	Env         []Pair
	PassEnv     []string
	Quirks      Quirks
	// At is where it stands in the file.
	At string
}

// Quirks are an agent's deviations from ACP.
type Quirks struct {
	// Modes maps the four permission modes to the agent's. StartMode is the agent's
	// mode to switch to first, FreeModes are those that act without asking.
	Modes     map[string]string
	StartMode string
	FreeModes []string
	// Tools maps native tool names to canonical ones.
	Tools map[string]string
	// NameFromTitle: the first title of a call is the tool's name. NameFromID: what
	// stands in a call's id before this text is. TitleIsCommand: the title of an
	// execute call is the command line.
	NameFromTitle  bool
	NameFromID     string
	TitleIsCommand bool
	// StubWait is how long the start of a call without input is held back, 0 for the
	// adapter's own.
	StubWait time.Duration
	// ReadFile, WriteFile and Terminal offer the agent the client methods;
	// MissingReadsEmpty answers the read of a missing file with an empty text.
	ReadFile, WriteFile, Terminal, MissingReadsEmpty bool
	// NoElicitation keeps questions to the user from being offered, Subagents asks
	// for sub-agents as sessions of their own.
	NoElicitation, Subagents bool
	// Usage is turn, session or last-request; Steer advertised, prompt, drain or
	// never; Fork advertised, branch or never. Empty is the first.
	Usage, Steer, Fork string
	Rewind             bool
	// Since is the agent's version from which Steer, Fork and Rewind hold.
	Since string
	// ReplaySettle is how long history may still come after session/load was answered.
	ReplaySettle time.Duration
	NoResume     bool
	// NoLoad says why earlier sessions cannot be opened.
	NoLoad      string
	ImagesAlone bool
	// NarrowOptions are ids of permission options that reach no further than they
	// say: "always" within the session, "once" without side effects.
	NarrowOptions []string
	// ErrorText begins a text that is a failure of the model's service.
	ErrorText string
	// LaunchTakes are options of a session that the command takes care of by itself,
	// so that they are not refused: see LaunchOptions.
	LaunchTakes []string
}

// LaunchOptions are what Quirks.LaunchTakes may name.
func LaunchOptions() []string {
	return []string{"Sandbox", "MaxTurns", "BudgetUSD", "AllowedTools", "DisallowedTools", "ForkAt", "Dirs", "SystemPrompt"}
}

// Price is what a model costs, in USD per million tokens.
type Price struct{ Input, Output, CacheRead, CacheWrite float64 }

// Agent returns what is set for an agent, by the name users type.
func (c Config) Agent(name string) Agent { return c.agents[name] }

// Agents lists the agents that something is set for, in alphabetical order.
func (c Config) Agents() []string { return slices.Sorted(maps.Keys(c.agents)) }

// Price returns the price of a model: of its own name, or of the longest entry
// that ends in "*" and begins it.
func (c Config) Price(model string) (Price, bool) {
	if p, ok := c.prices[model]; ok {
		return p, true
	}
	var best string
	for name := range c.prices {
		if prefix, ok := strings.CutSuffix(name, "*"); ok && strings.HasPrefix(model, prefix) && len(name) > len(best) {
			best = name
		}
	}
	p, ok := c.prices[best]
	return p, ok && best != ""
}

// Cost is the price of tokens in USD. input includes the tokens read from and
// written to a cache, as in the contract.
func (p Price) Cost(input, output, cacheRead, cacheWrite int64) float64 {
	fresh := max(input-cacheRead-cacheWrite, 0)
	return (float64(fresh)*p.Input + float64(output)*p.Output + float64(cacheRead)*p.CacheRead + float64(cacheWrite)*p.CacheWrite) / 1e6
}

// Origin says where the value of a key of the table comes from: "default",
// "FILE:LINE", the name of a variable, or what LoadOptions.Set says.
func (c Config) Origin(path string) string { return c.origins[path] }
