package wire

import "slices"

// Protocol is the version spoken, as the WebSocket subprotocol and in hello.
const Protocol = "agenthost.v1"

// Scope is what a token may do. A higher scope includes the lower ones of people:
// view < control < admin. ScopeHost is for hosts and includes nothing else.
type Scope string

// The scopes.
const (
	ScopeHost    Scope = "host"
	ScopeView    Scope = "view"
	ScopeControl Scope = "control"
	ScopeAdmin   Scope = "admin"
)

// Scopes lists the scopes, the weakest first.
func Scopes() []Scope { return []Scope{ScopeHost, ScopeView, ScopeControl, ScopeAdmin} }

// Includes reports whether having s is enough where need is wanted.
func (s Scope) Includes(need Scope) bool {
	if s == ScopeHost || need == ScopeHost {
		return s == need
	}
	people := []Scope{ScopeView, ScopeControl, ScopeAdmin}
	has, want := slices.Index(people, s), slices.Index(people, need)
	return has >= 0 && want >= 0 && has >= want
}

// Party is an end of a connection.
type Party string

// The parties. A daemon is a relay to the viewers on its own machine.
const (
	PartyHost   Party = "host"
	PartyRelay  Party = "relay"
	PartyViewer Party = "viewer"
)

// Names of methods.
const (
	// Host to relay.
	HostHello       = "host.hello"
	SessionOpen     = "session.open"
	SessionAppend   = "session.append"
	SessionMetadata = "session.metadata"
	SessionLive     = "session.live"
	SessionClose    = "session.close"

	// Viewer to relay or daemon.
	ViewerHello        = "viewer.hello"
	HostsList          = "hosts.list"
	SessionsList       = "sessions.list"
	SessionsSubscribe  = "sessions.subscribe"
	SessionGet         = "session.get"
	SessionSubscribe   = "session.subscribe"
	SessionUnsubscribe = "session.unsubscribe"

	// Commands: viewer to relay or daemon, relay to host.
	SessionSpawn     = "session.spawn"
	SessionSend      = "session.send"
	SessionAbort     = "session.abort"
	SessionDecide    = "session.decide"
	SessionAsks      = "session.asks"
	SessionConfigure = "session.configure"
	SessionControl   = "session.control"
	SessionOp        = "session.op"
	SessionUpdate    = "session.update"
	SessionResume    = "session.resume"
	SessionStop      = "session.stop"
	SessionRemove    = "session.remove"

	// Commands about the agent's own screen.
	TerminalRead     = "terminal.read"
	TerminalSnapshot = "terminal.screen"
	TerminalInput    = "terminal.input"
	TerminalResize   = "terminal.resize"

	// Notifications of the relay or daemon to viewers.
	PushEnvelopes = "session.envelopes"
	PushEvents    = "session.events"
	PushLive      = "session.live"
	PushChanged   = "session.changed"
	PushReset     = "session.reset"
	PushEnded     = "session.ended"
	PushSessions  = "sessions.changed"
	PushHosts     = "hosts.changed"
)

// Method says who may call a method.
type Method struct {
	Name string
	// From and To are the ends, in the order in which the call travels first.
	From, To Party
	// Scope is what the caller's token needs.
	Scope Scope
	// Command is set for what a relay passes on to the host that owns the session.
	Command bool
	// Notification is set for what gets no answer.
	Notification bool
	// Repeatable is set when a call whose outcome is unknown may simply be made
	// again: it changes nothing, or is idempotent by its envelope id.
	Repeatable bool
}

// methods are those of Methods. Nobody changes it; it is looked into for each message.
var methods = []Method{
	{Name: HostHello, From: PartyHost, To: PartyRelay, Scope: ScopeHost, Repeatable: true},
	{Name: SessionOpen, From: PartyHost, To: PartyRelay, Scope: ScopeHost, Repeatable: true},
	{Name: SessionAppend, From: PartyHost, To: PartyRelay, Scope: ScopeHost, Repeatable: true},
	{Name: SessionMetadata, From: PartyHost, To: PartyRelay, Scope: ScopeHost},
	{Name: SessionLive, From: PartyHost, To: PartyRelay, Scope: ScopeHost, Notification: true},
	{Name: SessionClose, From: PartyHost, To: PartyRelay, Scope: ScopeHost, Repeatable: true},

	{Name: ViewerHello, From: PartyViewer, To: PartyRelay, Scope: ScopeView, Repeatable: true},
	{Name: HostsList, From: PartyViewer, To: PartyRelay, Scope: ScopeView, Repeatable: true},
	{Name: SessionsList, From: PartyViewer, To: PartyRelay, Scope: ScopeView, Repeatable: true},
	{Name: SessionsSubscribe, From: PartyViewer, To: PartyRelay, Scope: ScopeView, Repeatable: true},
	{Name: SessionGet, From: PartyViewer, To: PartyRelay, Scope: ScopeView, Repeatable: true},
	{Name: SessionSubscribe, From: PartyViewer, To: PartyRelay, Scope: ScopeView, Repeatable: true},
	{Name: SessionUnsubscribe, From: PartyViewer, To: PartyRelay, Scope: ScopeView, Repeatable: true},

	{Name: SessionSpawn, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
	{Name: SessionSend, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
	{Name: SessionAbort, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
	{Name: SessionDecide, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
	{Name: SessionAsks, From: PartyViewer, To: PartyHost, Scope: ScopeView, Command: true, Repeatable: true},
	{Name: SessionConfigure, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
	{Name: SessionControl, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
	{Name: SessionOp, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true},
	{Name: SessionUpdate, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true},
	{Name: SessionResume, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
	{Name: SessionStop, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
	{Name: SessionRemove, From: PartyViewer, To: PartyHost, Scope: ScopeAdmin, Command: true, Repeatable: true},

	{Name: TerminalRead, From: PartyViewer, To: PartyHost, Scope: ScopeView, Command: true, Repeatable: true},
	{Name: TerminalSnapshot, From: PartyViewer, To: PartyHost, Scope: ScopeView, Command: true, Repeatable: true},
	{Name: TerminalInput, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
	{Name: TerminalResize, From: PartyViewer, To: PartyHost, Scope: ScopeControl, Command: true, Repeatable: true},
}

// Methods lists all methods of requests and of a host's notifications.
func Methods() []Method { return slices.Clone(methods) }

// MethodOf is the method of that name; false when there is none.
func MethodOf(name string) (Method, bool) {
	for _, m := range methods {
		if m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}
