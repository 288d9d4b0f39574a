package peer

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"
)

// Options are how a connection behaves. The zero value has the defaults.
type Options struct {
	// FrameBytes is the longest frame taken; a longer one closes the connection
	// with 1009 and a reason that says so. 1 MiB.
	FrameBytes int
	// MessageBytes is the longest message taken, and the most that the pieces of
	// unfinished messages may hold together. 96 MiB.
	MessageBytes int
	// SendBytes is the longest message sent; a longer one is wire.CodeTooLarge.
	// 96 MiB.
	SendBytes int
	// QueueBytes bounds what waits to be sent, and what waits to be handled in
	// order, by bytes; one message may be longer. It counts twice, for what is
	// ordered and what is not. 4 MiB.
	QueueBytes int
	// Calls is how many unordered calls are handled at once; one more is answered
	// with wire.CodeBusy. 64.
	Calls int
	// HoldAnswer is asked before an answer of so many bytes waits to be sent, and
	// release is called when it waits no more: for who counts what waits. Its error is
	// answered in its place. Nil for none.
	HoldAnswer func(method string, bytes int) (release func(), err error)
	// HoldMessage is asked before more bytes of a message in chunks are kept, and release
	// is called for each when the message was handled or the connection has ended: for
	// who counts what senders make the process hold. Its error closes the connection,
	// with 1013. Nil for none.
	HoldMessage func(bytes int) (release func(), err error)
	// Ordered says which methods are handled one after the other, and with the
	// notifications, in the order in which they were sent. Both sides must agree.
	// Nil for none.
	Ordered func(method string) bool
	// PingEvery and DeadAfter: 10 s and 25 s, so that a half-open connection is
	// noticed within 30 s.
	PingEvery, DeadAfter time.Duration
	// WriteStall closes a connection whose other side takes no bytes for so long,
	// though it shows signs of life. 2 min.
	WriteStall time.Duration
	// ReadStall closes a connection that shows signs of life, but of whose frame the end
	// or of whose message the next chunk does not come for so long. 5 min.
	ReadStall time.Duration
	// CloseWait bounds closing, with what is still in the queue and the handshake
	// of WebSocket. 1 s.
	CloseWait time.Duration
	// Garbage is how many frames that are no message are answered before the
	// connection is closed. 8.
	Garbage int
	// Log takes what happens; nil discards it. Never texts or tokens.
	Log *slog.Logger

	// Token is sent by Dial as "Authorization: Bearer".
	Token string
	// Header is sent by Dial besides.
	Header http.Header
	// TLS is Dial's, nil for the default.
	TLS *tls.Config

	// OriginChecked says that the caller of Accept has looked at Origin. Else one
	// that is not the request's host is refused.
	OriginChecked bool
}

// sendFrame is the longest frame we send. It is below FrameBytes so that a ping has
// its turn every few seconds on a slow line.
const sendFrame = 256 << 10

func (o Options) withDefaults() Options {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	dur := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&o.FrameBytes, 1<<20)
	def(&o.MessageBytes, 96<<20)
	def(&o.SendBytes, 96<<20)
	def(&o.QueueBytes, 4<<20)
	def(&o.Calls, 64)
	def(&o.Garbage, 8)
	dur(&o.PingEvery, 10*time.Second)
	dur(&o.DeadAfter, 25*time.Second)
	dur(&o.WriteStall, 2*time.Minute)
	dur(&o.ReadStall, 5*time.Minute)
	dur(&o.CloseWait, time.Second)
	if o.Ordered == nil {
		o.Ordered = func(string) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
