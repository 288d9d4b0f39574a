package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/internal/console"
	"github.com/agenthost/agenthost/relay/wire"
)

// personTTY is the terminal of the person, for an agent's own screen. Its error says that
// there is none.
func personTTY(st *streams) (*console.TTY, error) {
	in, inFile := st.in.(*os.File)
	out, outFile := st.out.(*os.File)
	if !inFile || !outFile {
		return nil, errors.New("want a terminal as standard input and output")
	}
	return console.Open(in, out)
}

// onTerminal reports whether an agent's own screen can be shown here.
func onTerminal(st *streams) bool { return isTerminal(st.in) && isTerminal(st.out) }

// parseEscape reads --escape.
func parseEscape(s string) (byte, error) {
	if s == "" {
		return console.DefaultEscape, nil
	}
	b, err := console.ParseEscape(s)
	if err != nil {
		return 0, usage("write it like ctrl-]", "--escape: %v", err)
	}
	return b, nil
}

// nearScreen is the screen of a session of this process.
type nearScreen struct {
	hub      *screen.Hub
	release  func()
	progress func(at int64)
	answers  atomic.Bool
}

// newNearScreen shows a screen whose agent waits for it, so that nothing of what scrolls
// away is missed.
func newNearScreen(hub *screen.Hub) *nearScreen {
	s := &nearScreen{hub: hub}
	s.release, s.progress = hub.Hold()
	return s
}

func (s *nearScreen) close() {
	s.Answers(false)
	s.release()
}

// Read implements console.Terminal.
func (s *nearScreen) Read(ctx context.Context, after int64, limit int) (console.Chunk, error) {
	if after > 0 {
		s.progress(after) // it is on the terminal
	}
	answers := s.answers.Load()
	if answers {
		after = s.hub.OnConsole(after)
	}
	c, err := s.hub.Read(ctx, after, limit)
	if answers && c.Reset {
		s.hub.Missed(c.At)
	}
	if errors.Is(err, screen.ErrClosed) {
		return console.Chunk{}, io.EOF
	}
	return console.Chunk{At: c.At, Data: c.Data, Reset: c.Reset, Cols: c.Cols, Rows: c.Rows, Running: c.Running, Held: true, Epoch: strconv.FormatInt(c.Epoch, 10)}, err
}

// Input implements console.Terminal. What is typed while no agent is there is lost, as
// it was not meant for the next one.
func (s *nearScreen) Input(_ context.Context, p []byte) error {
	err := s.hub.Input(p)
	if errors.Is(err, screen.ErrNoTerminal) || errors.Is(err, screen.ErrClosed) {
		return &console.NotTypedError{Why: err.Error()}
	}
	return err
}

func (s *nearScreen) Resize(_ context.Context, cols, rows int) error {
	s.hub.Resize(cols, rows)
	return nil
}

func (s *nearScreen) Take(context.Context) error { return nil }

// Answers implements console.Terminal.
func (s *nearScreen) Answers(reaches bool) {
	s.answers.Store(reaches)
	s.hub.Console(reaches)
}

// The times of a screen that is read over a connection.
const (
	// farWait is how long a call waits for news; the host has the same bound.
	farWait = wire.TerminalWaitMS * time.Millisecond
	// lostAfter is how long a connection may be lost until the person is told.
	lostAfter = time.Second
	// daemonPatience is how long a daemon of this machine is waited for.
	daemonPatience = 10 * time.Second
	// farPause is between two tries, and between two answers without news.
	farPause = 250 * time.Millisecond
)

// farScreen is the screen of a session elsewhere.
type farScreen struct {
	link    *link
	term    *client.Terminal
	session string
	// patience bounds how long the connection may be lost, 0 is not at all.
	patience time.Duration

	mu      sync.Mutex
	state   string        // of the last chunk; guarded by mu
	last    console.Chunk // the last one without data; guarded by mu
	answers bool          // guarded by mu
	lost    time.Time     // since when; guarded by mu
	told    bool          // that it is lost; guarded by mu
}

func newFarScreen(l *link, session string) *farScreen {
	s := &farScreen{link: l, term: l.Terminal(session), session: session}
	if !l.relayed {
		s.patience = daemonPatience
	}
	return s
}

// leave tells the host that nobody looks any more.
func (s *farScreen) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), lostAfter)
	defer cancel()
	s.term.Leave(ctx)
}

// Read implements console.Terminal.
func (s *farScreen) Read(ctx context.Context, after int64, limit int) (console.Chunk, error) {
	for {
		s.mu.Lock()
		r := client.TerminalRead{After: after, State: s.state, Max: limit, Wait: farWait, Console: s.answers}
		s.mu.Unlock()
		began := time.Now()
		c, err := s.term.Read(ctx, r)
		if ctx.Err() != nil {
			return console.Chunk{}, context.Cause(ctx)
		}
		if client.Again(err) {
			chunk, tell, err := s.away(after, err)
			if err != nil || tell {
				return chunk, err
			}
		} else if err != nil {
			return console.Chunk{}, s.over(err)
		} else if chunk, news := s.took(c, r); news {
			return chunk, nil
		} else if time.Since(began) > farPause {
			continue // it waited
		}
		select {
		case <-time.After(farPause):
		case <-ctx.Done():
		}
	}
}

// took takes what was read; news says that there is some.
func (s *farScreen) took(c wire.TerminalChunk, r client.TerminalRead) (chunk console.Chunk, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	chunk = console.Chunk{Cols: c.Cols, Rows: c.Rows, Running: c.Running, Held: c.Held, Holder: holderName(c.Holder), At: c.At, Epoch: c.Epoch}
	news = len(c.Data) > 0 || c.Reset || c.State != r.State || s.told
	s.state, s.last = c.State, chunk
	s.lost, s.told = time.Time{}, false
	chunk.Data, chunk.Reset = c.Data, c.Reset
	return chunk, news
}

// away notes that the screen cannot be read for the moment; tell says that the person is
// to know.
func (s *farScreen) away(after int64, err error) (chunk console.Chunk, tell bool, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost.IsZero() {
		s.lost = time.Now()
	}
	since := time.Since(s.lost)
	if s.patience > 0 && since > s.patience {
		return chunk, false, &problem{
			code: exitFailed, what: "the daemon is gone: " + err.Error(),
			mend: "agenthost serve starts it again; then agenthost attach " + s.session + " goes on",
		}
	}
	if s.told || since < lostAfter {
		return chunk, false, nil
	}
	s.told = true
	chunk = s.last
	chunk.Held = false // what is typed now was not meant for what the screen shows then
	chunk.At, chunk.Lost = after, "the connection is lost ("+err.Error()+"); trying again"
	return chunk, true, nil
}

// over is why there is nothing more to see; io.EOF when the session is over.
func (s *farScreen) over(err error) error {
	switch client.Code(err) {
	case wire.CodeOver, wire.CodeNotFound:
		return io.EOF
	}
	return err
}

// holderName says who holds control, for people.
func holderName(c *wire.Control) string {
	switch {
	case c == nil:
		return ""
	case c.TokenID == "" || c.TokenID == "local":
		return "a " + string(c.ClientType) + " on the host"
	}
	return string(c.ClientType) + " " + c.TokenID
}

// Input implements console.Terminal.
func (s *farScreen) Input(ctx context.Context, p []byte) error {
	err := s.term.Input(ctx, p)
	switch client.Code(err) {
	case wire.CodeForbidden, wire.CodeOver, wire.CodeNotFound, wire.CodeUnsupported:
		return &console.NotTypedError{Why: err.Error()}
	}
	if errors.Is(err, client.ErrMaybeTyped) || errors.Is(err, client.ErrNotTyped) {
		return &console.NotTypedError{Why: err.Error()} // nor what was typed after it
	}
	return lockedOut(err)
}

// Resize implements console.Terminal.
func (s *farScreen) Resize(ctx context.Context, cols, rows int) error {
	err := s.term.Resize(ctx, cols, rows)
	if client.Again(err) {
		return nil // the screen is mirrored then
	}
	return lockedOut(err)
}

// lockedOut is err as a console takes it: a keyboard that is not ours, or no agent's, is
// locked, and Read says more.
func lockedOut(err error) error {
	switch client.Code(err) {
	case wire.CodeControl, wire.CodeForbidden, wire.CodeOver, wire.CodeNotFound, wire.CodeUnsupported:
		return console.ErrLocked
	}
	return err
}

// Take implements console.Terminal.
func (s *farScreen) Take(ctx context.Context) error {
	_, err := s.link.Control(ctx, wire.ControlParams{Session: s.session, ClientType: contract.ClientCLI})
	return err
}

// Answers implements console.Terminal.
func (s *farScreen) Answers(reaches bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = reaches
}

// showFar shows the screen of a session elsewhere until the person leaves or it is over.
func showFar(ctx context.Context, st *streams, l *link, session string, tty *console.TTY, o console.Options) (console.End, error) {
	far := newFarScreen(l, session)
	fmt.Fprintf(st.err, "agenthost: session %s; %s and then d leaves it running, ? helps\n", session, console.EscapeName(o.Escape))
	end, err := console.Run(ctx, far, tty, o)
	if end == console.Detached || end == console.HungUp || ctx.Err() != nil {
		far.leave()
	}
	if end == console.Detached {
		fmt.Fprintf(st.err, "agenthost: left session %s, which goes on; agenthost attach %s goes back to it\n", session, session)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return console.HungUp, nil // a signal is a goodbye
	}
	return end, err
}

// heldBytes bounds what is kept of what is to be told while a screen is shown.
const heldBytes = 256 << 10

// heldWriter keeps what is written while an agent's screen has the terminal.
type heldWriter struct {
	w io.Writer

	mu      sync.Mutex
	holding bool   // guarded by mu
	kept    []byte // guarded by mu
	more    int    // bytes that had no room; guarded by mu
}

// Write implements io.Writer.
func (h *heldWriter) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.holding {
		return h.w.Write(p)
	}
	if len(h.kept)+len(p) > heldBytes {
		h.more += len(p)
		return len(p), nil
	}
	h.kept = append(h.kept, p...)
	return len(p), nil
}

// hold keeps what comes, until release writes it.
func (h *heldWriter) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = true
}

func (h *heldWriter) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = false
	_, _ = h.w.Write(h.kept) // nobody to tell
	if h.more > 0 {
		fmt.Fprintf(h.w, "agenthost: %d more bytes of warnings are left out\n", h.more)
	}
	h.kept, h.more = nil, 0
}
