package wire

// Shape is what a method or a push carries, as zero values of its types. Result is
// nil where the answer is null, and for notifications.
type Shape struct {
	Name           string
	Params, Result any
}

// Shapes lists what the methods carry, in the order of Methods.
func Shapes() []Shape {
	return []Shape{
		{HostHello, Hello{}, Welcome{}},
		{SessionOpen, OpenParams{}, OpenResult{}},
		{SessionAppend, AppendParams{}, AppendResult{}},
		{SessionMetadata, MetadataParams{}, MetadataResult{}},
		{SessionLive, LiveParams{}, nil},
		{SessionClose, CloseParams{}, nil},

		{ViewerHello, Hello{}, Welcome{}},
		{HostsList, struct{}{}, HostsResult{}},
		{SessionsList, SessionsParams{}, SessionsResult{}},
		{SessionsSubscribe, SessionsParams{}, SessionsResult{}},
		{SessionGet, SessionRef{}, SessionResult{}},
		{SessionSubscribe, SubscribeParams{}, SubscribeResult{}},
		{SessionUnsubscribe, UnsubscribeParams{}, nil},

		{SessionSpawn, SpawnParams{}, SessionResult{}},
		{SessionSend, SendParams{}, SentResult{}},
		{SessionAbort, AbortParams{}, SentResult{}},
		{SessionDecide, DecideParams{}, SentResult{}},
		{SessionAsks, SessionRef{}, AsksResult{}},
		{SessionConfigure, ConfigureParams{}, SessionResult{}},
		{SessionControl, ControlParams{}, SessionResult{}},
		{SessionOp, OpParams{}, OpResult{}},
		{SessionUpdate, UpdateParams{}, SessionResult{}},
		{SessionResume, SessionRef{}, SessionResult{}},
		{SessionStop, StopParams{}, SessionResult{}},
		{SessionRemove, SessionRef{}, nil},

		{TerminalRead, TerminalReadParams{}, TerminalChunk{}},
		{TerminalSnapshot, SessionRef{}, TerminalScreen{}},
		{TerminalInput, TerminalInputParams{}, TerminalInputResult{}},
		{TerminalResize, TerminalResizeParams{}, nil},
	}
}

// Pushes lists what a relay or daemon sends to viewers without being asked.
func Pushes() []Shape {
	return []Shape{
		{PushEnvelopes, EnvelopesPush{}, nil},
		{PushEvents, EventsPush{}, nil},
		{PushLive, LivePush{}, nil},
		{PushChanged, ChangedPush{}, nil},
		{PushReset, ResetPush{}, nil},
		{PushEnded, EndedPush{}, nil},
		{PushSessions, SessionsPush{}, nil},
		{PushHosts, SessionsPush{}, nil},
	}
}

// Ordered reports whether calls of a method are handled one after the other in the
// order in which they were sent, with the notifications (peer.Options.Ordered): what
// a host tells a relay. Calls of viewers and commands are not: who wants an order
// waits for the answer.
func Ordered(method string) bool {
	m, ok := MethodOf(method)
	return ok && m.From == PartyHost
}
