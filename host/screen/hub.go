package screen

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/host/screen/vt"
)

const (
	// DefaultCols and DefaultRows are the size of a screen of no size.
	DefaultCols, DefaultRows = 80, 24
	// DefaultRing is how many bytes are kept. Who is further behind gets a repaint.
	DefaultRing = 1 << 20
	// DefaultScrollback is how many lines are kept that left the screen.
	DefaultScrollback = 1000
	// DefaultRest is how long the output is quiet before a screen is at rest. Agents
	// draw a frame in one go, and their spinners turn some ten times a second.
	DefaultRest = 150 * time.Millisecond
	// readSize is how much is read of a Source at once. A PTY gives 4 KiB.
	readSize = 32 << 10
	// maxMarks bounds how many changes are kept that take an offset without being a
	// byte. Who did not read so many gets a repaint.
	maxMarks = 1024
)

var (
	// ErrNoTerminal means that no agent with a screen is there to type at.
	ErrNoTerminal = errors.New("no agent with a screen of its own is running")
	// ErrClosed means that the Hub was closed.
	ErrClosed = errors.New("the screen is closed")
)

// Source is a terminal that an agent runs on: a proc.Terminal. All but Read may be
// called at any time, also after its end.
type Source interface {
	// Read blocks until there is output; every error is the end.
	Read(p []byte) (int, error)
	// Write types p, whole and in order, and does not block.
	Write(p []byte) (int, error)
	// Resize is harmless when the agent is gone.
	Resize(cols, rows int) error
}

// Options are those of a Hub. Zero values mean the defaults.
type Options struct {
	// Cols and Rows are the size to begin with.
	Cols, Rows int
	// Ring is how many bytes of the output are kept.
	Ring int
	// Scrollback is how many lines that left the top of the screen are kept.
	// Negative keeps none.
	Scrollback int
	// Rest is how long the output is quiet before Rested is called.
	Rest time.Duration
	// Logger gets what went wrong and was put right; nil discards it.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&o.Cols, DefaultCols)
	set(&o.Rows, DefaultRows)
	set(&o.Ring, DefaultRing)
	if o.Scrollback == 0 {
		o.Scrollback = DefaultScrollback
	}
	if o.Rest <= 0 {
		o.Rest = DefaultRest
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Cols, o.Rows = vt.Clamp(o.Cols, o.Rows)
	return o
}

// Hub is the screen of a session, over all agents that it has one after the other. Its
// methods are safe for concurrent use.
type Hub struct {
	o Options

	mu      sync.Mutex
	term    *vt.Terminal
	ring    ring
	epoch   int64         // where the present screen began
	marks   []mark        // changes since, in order; what is before the ring's tail may be gone
	base    status        // before the first of marks
	now     status        // after the last one
	source  *shown        // the present agent's, nil for none
	changed chan struct{} // closed when there is something to read; nil when nobody waits
	holds   []*hold
	moved   chan struct{} // closed when a hold moved; nil when nobody waits
	console bool
	rest    rest
	closed  bool
}

// status is what a viewer is to know beside bytes.
type status struct {
	cols, rows int
	running    bool
}

// mark is a change of status. It takes an offset, with a byte in the ring that is none
// of the agent's.
type mark struct {
	at int64
	status
}

// shown is a Source and how far it is.
type shown struct {
	Source
	ended chan struct{} // closed when it was read to its end
}

// New makes a Hub with an empty screen, on which no agent is.
func New(o Options) *Hub {
	o = o.withDefaults()
	now := status{cols: o.Cols, rows: o.Rows}
	start := time.Now().UnixMicro() // see Offsets in the package's doc
	return &Hub{
		o: o, term: vt.New(o.Cols, o.Rows, o.Scrollback),
		ring: newRing(o.Ring, start), epoch: start, base: now, now: now,
	}
}

// Show takes the terminal of a new agent, gives it the screen's size, and begins a new
// screen. A former one that has not come to its end is read on, and thrown away. The
// function that is returned waits until the new one was read to its end.
func (h *Hub) Show(t Source) (wait func()) {
	s := &shown{Source: t, ended: make(chan struct{})}
	h.mu.Lock()
	if !h.closed {
		h.source = s
		h.begin(true)
		h.fit()
		h.touched()
	}
	h.mu.Unlock()
	go h.pump(s)
	return func() { <-s.ended }
}

// Blank shows a text, of a session whose agent has no screen now. Lines end with "\n".
func (h *Hub) Blank(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.source = nil
	h.begin(false)
	_, _ = h.term.Write([]byte("\x1b[?25l" + strings.ReplaceAll(text, "\n", "\r\n")))
	h.touched()
}

// begin starts an epoch: an empty screen. It is called under mu.
func (h *Hub) begin(running bool) {
	h.term = vt.New(h.now.cols, h.now.rows, h.o.Scrollback)
	h.now.running = running
	h.ring.append([]byte{0}) // so that no reader is at its end
	h.ring.clear()
	h.epoch = h.ring.head
	h.marks, h.base = nil, h.now
	for _, l := range h.holds {
		l.at = max(l.at, h.epoch) // what was before is not to be had any more
	}
	h.wake()
}

// fit gives the source the screen's size. It is called under mu.
func (h *Hub) fit() {
	if h.source == nil {
		return
	}
	if err := h.source.Resize(h.now.cols, h.now.rows); err != nil {
		h.o.Logger.Warn("the agent's terminal did not take its size", "cols", h.now.cols, "rows", h.now.rows, "err", err)
	}
}

// pump reads a source to its end.
func (h *Hub) pump(s *shown) {
	defer close(s.ended)
	buf := make([]byte, min(readSize, max(h.o.Ring/2, 1)))
	for {
		n, err := s.Read(buf)
		if n > 0 {
			h.take(s, buf[:n])
		}
		if err != nil {
			h.end(s)
			return
		}
	}
}

// take puts what a source wrote into the ring and on the screen.
func (h *Hub) take(s *shown, p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.room(s, len(p))
	if h.source != s {
		return // another one is shown, or none
	}
	h.ring.append(p)
	h.wake()
	_, _ = h.term.Write(p)
	h.touched()
	if answers := h.term.Answers(); len(answers) > 0 && !h.console {
		if _, err := s.Write(answers); err != nil {
			h.o.Logger.Warn("the agent did not take its terminal's answers", "err", err)
		}
	}
}

// end tells that a source came to its end. What it showed stays.
func (h *Hub) end(s *shown) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.source != s {
		return
	}
	h.source = nil
	h.now.running = false
	h.mark()
	h.touched()
}

// mark tells readers that now has changed. It is called under mu.
func (h *Hub) mark() {
	h.marks = append(h.marks, mark{h.ring.head, h.now})
	h.ring.append([]byte{0})
	gone := 0
	for gone < len(h.marks) && (h.marks[gone].at < h.ring.tail || len(h.marks)-gone > maxMarks) {
		h.base = h.marks[gone].status
		h.ring.tail = max(h.ring.tail, h.marks[gone].at+1)
		gone++
	}
	h.marks = slices.Delete(h.marks, 0, gone)
	h.wake()
}

// wake has those read who wait. It is called under mu.
func (h *Hub) wake() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Input types p, whole and in order. The error is ErrNoTerminal, ErrClosed or the
// Source's.
func (h *Hub) Input(p []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return ErrClosed
	case h.source == nil:
		return ErrNoTerminal
	}
	_, err := h.source.Write(p)
	return err
}

// Resize sets the size, within vt.MaxCols and vt.MaxRows. What is 0 or less is ignored.
func (h *Hub) Resize(cols, rows int) {
	if cols <= 0 || rows <= 0 {
		return
	}
	cols, rows = vt.Clamp(cols, rows)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.now.cols == cols && h.now.rows == rows {
		return
	}
	h.now.cols, h.now.rows = cols, rows
	h.term.Resize(cols, rows)
	h.mark()
	h.fit()
	h.touched()
}

// Snapshot is the screen as text.
func (h *Hub) Snapshot() adapters.Screen {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.snapshot()
}

func (h *Hub) snapshot() adapters.Screen {
	s := adapters.Screen{
		Cols: h.now.cols, Rows: h.now.rows,
		Alt: h.term.Alt(), Paste: h.term.Paste(), Title: h.term.Title(), Lines: h.term.Lines(),
	}
	s.X, s.Y = h.term.Cursor()
	return s
}

// Repaint is what shows the screen on a terminal of its size, see vt.Terminal.Repaint.
func (h *Hub) Repaint() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.term.Repaint()
}

// Scrollback are the lines that left the screen at its top, the oldest first, with
// their colours and ends.
func (h *Hub) Scrollback() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.term.Scrollback()
}

// Console says whether a person's terminal shows the output and answers the agent's
// questions to its terminal by Input. While none does they are answered here.
func (h *Hub) Console(attached bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.console = attached
}

// Close ends all reads that have nothing left to read, and lets go of the source, whose
// output is thrown away from then on. Rested is not called any more, though a call may
// be on its way. It may be called again.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	h.source = nil
	h.rest.stop()
	h.wake()
	h.move()
}

// Chunk is a piece of what a viewer is to be shown.
type Chunk struct {
	// At is where to read on: the offset behind Data.
	At int64
	// Data is what the agent wrote, unchanged; with Reset it is a repaint. It may be
	// empty.
	Data []byte
	// Reset says that Data takes the place of all that was shown.
	Reset bool
	// Cols and Rows are the size of the screen that Data is for, to be set before it
	// is shown. Running says that the agent is there.
	Cols, Rows int
	Running    bool
}

// Read returns what came after an offset, of at most max bytes (0 or less: as much as
// there is; a Reset may be longer). It blocks until something did, or ctx ends. A
// negative offset, one that is too old, and one of another agent's screen give a Reset.
// The error is the cause of ctx, or ErrClosed when all was read.
func (h *Hub) Read(ctx context.Context, after int64, max int) (Chunk, error) {
	for {
		c, changed, err := h.read(after, max)
		if changed == nil {
			return c, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Chunk{}, context.Cause(ctx)
		}
	}
}

// read is Read that does not wait: changed is what to wait for, nil if there is
// nothing to.
func (h *Hub) read(after int64, limit int) (c Chunk, changed <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case after < max(h.epoch, h.ring.tail) || after > h.ring.head:
		return Chunk{
			At: h.ring.head, Data: h.term.Repaint(), Reset: true,
			Cols: h.now.cols, Rows: h.now.rows, Running: h.now.running,
		}, nil, nil
	case after < h.ring.head:
		return h.piece(after, limit), nil, nil
	case h.closed:
		return Chunk{}, nil, ErrClosed
	}
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return Chunk{}, h.changed, nil
}

// piece is what lies after an offset in the ring: changes, and bytes up to the next
// change.
func (h *Hub) piece(after int64, limit int) Chunk {
	i, _ := slices.BinarySearchFunc(h.marks, after, func(m mark, at int64) int { return int(min(max(m.at-at, -1), 1)) })
	now := h.base
	if i > 0 {
		now = h.marks[i-1].status
	}
	for ; i < len(h.marks) && h.marks[i].at == after; i++ {
		now = h.marks[i].status
		after++
	}
	end := h.ring.head
	if i < len(h.marks) {
		end = h.marks[i].at
	}
	if limit > 0 {
		end = min(end, after+int64(limit))
	}
	return Chunk{At: end, Data: h.ring.copy(after, end), Cols: now.cols, Rows: now.rows, Running: now.running}
}
