package adapters

import (
	"errors"
	"time"

	"github.com/agenthost/agenthost/contract/session"
)

// Adapter knows one kind of agent. It is safe for concurrent use and holds no state.
type Adapter interface {
	// Name is what users type: agenthost run NAME.
	Name() string
	// Describe says what the agent is and what is claimed of it before it runs.
	Describe() Description
	// Launch says how to start the agent; it starts nothing.
	Launch(LaunchRequest) (Launch, error)
	// NewProtocol makes the translator for one child process.
	NewProtocol(SessionInfo) Protocol
}

// Protocol translates for one child process. See the package documentation for
// what a Protocol must not do.
type Protocol interface {
	// Receive takes one frame of the child's output. An error says that the
	// frame (or a part of it) could not be understood; the Step is valid and
	// must be applied all the same.
	Receive(now time.Time, f Frame) (Step, error)
	// Submit takes one command. On an error nothing happened and the Step is
	// empty; errors.ErrUnsupported says that this agent cannot do it.
	Submit(now time.Time, c Command) (Step, error)
	// Tick is called at the time a Step asked for with WakeAt, or later.
	Tick(now time.Time) Step
	// Exit is the last call: it ends open calls, sub-agents and the turn.
	Exit(now time.Time, s ExitStatus) Step
	// Capabilities is what the agent can do now. The set may grow when the
	// handshake is over; it never shrinks.
	Capabilities() []session.Capability
}

// AsksFirst is an Adapter whose agent is told Options.AskFirst at its start, and asks
// then for what it would have done without.
type AsksFirst interface {
	Adapter
	// AsksFirst does nothing.
	AsksFirst()
}

// Unwrapper is an Adapter whose command, as package managers install it, is a
// script that starts the program itself. The host starts the program: that is one
// process less, and none that outlives a script which is killed.
type Unwrapper interface {
	// Unwrap lists where the program lies, best first, when command, an absolute path
	// whose symbolic links were followed, is such a script; nothing when it is not.
	// It looks at names only. platform and architecture are those of runtime.GOOS and
	// runtime.GOARCH. None of the places need exist: the script is started then.
	Unwrap(command, platform, architecture string) []string
}

// ErrUnsupported is what Submit returns (wrapped, with the reason) for a command
// that this agent cannot take.
var ErrUnsupported = errors.ErrUnsupported

// Description is what is known of an agent without running it.
type Description struct {
	// Title is the agent's name for people.
	Title string
	// Command is the default argv; Command[0] is looked up on PATH.
	Command []string
	// Install is a command line that installs the agent.
	Install string
	// Login is what a person runs to log in.
	Login string
	// Credentials are the places of a login: NAME is a variable, ~/FILE a file in the
	// home directory, $NAME/FILE one in the directory that a variable names. Whether
	// one is there is looked at, never what is in it. Nil when they are not known; a
	// login may also be kept where nobody can look, like a keychain.
	Credentials []string
	// VersionArgs make the command print its version, nil when it can't.
	VersionArgs []string
	// Tested are the versions that the adapter was recorded against.
	Tested []string
	// Claims has one entry for each of the seven capabilities.
	Claims []Claim
}

// Claim says whether an agent has a capability, and why not.
type Claim struct {
	Capability session.Capability
	Supported  bool
	// Reason says why it lacks the capability, or what depends on the handshake.
	Reason string
}

// Supported are the capabilities that claims say an agent has.
func Supported(claims []Claim) []session.Capability {
	var list []session.Capability
	for _, c := range claims {
		if c.Supported {
			list = append(list, c.Capability)
		}
	}
	return list
}

// SessionInfo is what a Protocol is told about the session it serves.
type SessionInfo struct {
	// ID is the host's session id.
	ID string
	// Dir is the working directory, absolute.
	Dir string
	// Face is the child's.
	Face Face
	// Client names us to the agent.
	Client ClientInfo
	// NativeOpened is when an agent last made or opened the native session of
	// Options.Resume, the zero Time when the host does not know.
	NativeOpened time.Time
	// Options are the options of the session.
	Options Options
}

// ClientInfo names the program that talks to the agent.
type ClientInfo struct{ Name, Title, Version string }

// Options are what a person chose for a session.
type Options struct {
	Model string
	// Mode is the permission mode to start in, empty for the agent's default
	// (which an adapter makes "default" where the agent starts in a freer one).
	Mode     string
	Thinking string
	Sandbox  bool
	// Resume is the native session to go on with; Continue takes the newest of Dir.
	Resume   string
	Continue bool
	// Fork is the native session to branch off, at ForkAt (an origin) or its end.
	Fork, ForkAt string
	// Dirs are further directories the agent may work in, absolute.
	Dirs       []string
	MCPServers []MCPServer
	// SystemPrompt is appended to the agent's own.
	SystemPrompt string
	// AllowBypass is the local opt-in without which bypassPermissions is refused.
	AllowBypass bool
	// MaxTurns and BudgetUSD are limits, 0 = none. Agents without such a limit refuse them.
	MaxTurns  int
	BudgetUSD float64
	// AllowedTools and DisallowedTools are native tool patterns for agents that take them.
	AllowedTools, DisallowedTools []string
	// AskFirst are uses that rules forbid or want asked: an agent that runs some of
	// them without asking is told to ask, where it can be.
	AskFirst []Use
	// Settings are adapter-specific settings from the config, by name.
	Settings map[string]string
}

// Use is a tool by its canonical name and what it is used on: a pattern of
// permission/policy, empty for everything; "*" is every tool.
type Use struct{ Tool, Pattern string }

// MCPServer is an MCP server that the agent shall connect to.
type MCPServer struct {
	Name string
	// Transport is "stdio", "http" or "sse".
	Transport string
	// Command, Args and Env are for stdio, URL and Headers for the others.
	Command string
	Args    []string
	Env     []Pair
	URL     string
	Headers []Pair
}

// Pair is a name with a value.
type Pair struct{ Name, Value string }
