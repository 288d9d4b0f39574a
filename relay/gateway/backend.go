package gateway

import (
	"context"
	"encoding/json/jsontext"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

// Backend is what a gateway serves to one tenant's viewers: a daemon's own sessions,
// or those that a relay knows. Its errors are *wire.Error where a caller should see
// more than "internal". It is safe for concurrent use.
type Backend interface {
	// Hosts are the hosts, this one for a daemon.
	Hosts(ctx context.Context) ([]wire.Host, error)
	// Sessions are the sessions, the newest first.
	Sessions(ctx context.Context, p wire.SessionsParams) ([]wire.Session, error)
	// Session finds the session that ref names: an id, a unique prefix of one with
	// at least four characters, the agent's own id, or "last".
	Session(ctx context.Context, ref string) (wire.Session, error)
	// WatchSessions gives the list and then what changes in it, from the same
	// moment, until ctx is over. Changes may be merged, never lost.
	WatchSessions(ctx context.Context, p wire.SessionsParams) ([]wire.Session, iter.Seq2[wire.SessionsPush, error], error)
	// Stream gives the envelopes of a session, by its full id, from a position on
	// and what comes, in order, until ctx is over or the session is removed. It
	// pulls: a consumer that is slow holds up nobody, and loses Live items only.
	Stream(ctx context.Context, session string, from wire.Position) (iter.Seq2[Item, error], error)
	// Call runs a command (wire.Method.Command) for a caller whose scope is enough.
	Call(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error)
}

// Item is one thing of a session's stream: exactly one of Line, Live, Changed and
// Reset is set.
type Item struct {
	// Position is that of Line, or the next one.
	Position wire.Position
	// Line is an envelope as the journal has it, without the line end.
	Line []byte
	Live *wire.Live
	// Changed is the new metadata.
	Changed *wire.Session
	// Reset says that the envelopes before Position are no longer kept.
	Reset bool
	// Held is for how many bytes Hold was asked.
	Held int

	counted int // what the reader gives back
}

// Files keeps uploaded files. A Backend that has it serves /v1/files.
type Files interface {
	// Create begins an upload.
	Create(ctx context.Context, caller wire.Caller, p wire.UploadParams) (wire.Upload, error)
	// Append adds what r gives at offset, which must be where the upload ends.
	// What arrived before r failed is kept, and the Upload says how much.
	Append(ctx context.Context, ref string, offset int64, r io.Reader) (wire.Upload, error)
	Stat(ctx context.Context, ref string) (wire.Upload, error)
	// Open reads a whole file.
	Open(ctx context.Context, ref string) (io.ReadCloser, wire.Upload, error)
}

// Principal is who made a request, and what it may see: the Backend is its tenant's,
// so that no filter stands between tenants.
type Principal struct {
	Caller  wire.Caller
	Backend Backend
	// Expires is when the token ends, zero for never. Connections end with it.
	Expires time.Time
}

// Authenticator says who makes a request. Its error is a *wire.Error, CodeUnauthorized
// as a rule, and is the same for every token that does not count.
type Authenticator interface {
	Authenticate(r *http.Request) (Principal, error)
}
