package peer

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// transport carries frames. read is called by one goroutine, write by another, ping
// by a third; close and kill by any.
type transport interface {
	// read returns the next text frame, which is the caller's. A frame that cannot
	// be taken is a *frameError, after which reading goes on unless it is fatal.
	read(ctx context.Context) ([]byte, error)
	write(ctx context.Context, frame []byte) error
	// ping asks for a sign of life, and is one.
	ping(ctx context.Context) error
	// lastLife is when the last byte came.
	lastLife() time.Time
	// readingSince is when the frame began of which the end has not come yet, zero for
	// none.
	readingSince() time.Time
	// close says goodbye and ends the connection; kill ends it at once, and so all
	// that others are doing with it.
	close(code Status, reason string)
	kill()
	// free comes last, when nothing uses the transport any more.
	free()
}

// Status is why a connection is closed, as in RFC 6455, section 7.4.
type Status int

// The statuses in use.
const (
	StatusNormal     Status = 1000
	StatusGoingAway  Status = 1001 // the server stops, or the program ends
	StatusProtocol   Status = 1002
	StatusPolicy     Status = 1008 // garbage, an expired or revoked token
	StatusTooLarge   Status = 1009
	StatusInternal   Status = 1011
	StatusTryAgain   Status = 1013 // a limit of connections
	statusNone       Status = 1005 // closed without a status
	statusUnexpected Status = 1006 // not closed at all: lost
)

// CloseError says that the connection was closed with a status that is no normal
// end, by the other side or, for a fault of the other side, by this one.
type CloseError struct {
	Status Status
	Reason string
	// Remote is set when the other side closed it.
	Remote bool
}

// Error implements error.
func (e *CloseError) Error() string {
	by := "closing"
	if e.Remote {
		by = "closed by the other side"
	}
	return fmt.Sprintf("%s: %s (%d)", by, e.Reason, e.Status)
}

// normal reports whether the end is nothing that went wrong.
func (e *CloseError) normal() bool {
	return e.Status == StatusNormal || e.Status == StatusGoingAway || e.Status == statusNone
}

// ErrDead says that there was no sign of life.
var ErrDead = errors.New("connection is dead: no sign of life")

// frameError says that a frame cannot be taken.
type frameError struct {
	status Status
	what   string
	fatal  bool
}

func (e *frameError) Error() string { return e.what }

// clipReason cuts a reason to what a close frame holds, 123 bytes.
func clipReason(s string) string {
	if len(s) <= 123 {
		return s
	}
	cut := 120
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
