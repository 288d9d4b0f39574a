package screen

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenthost/agenthost/internal/vt"
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
	// readSize is how much is read of a Source at once: several pieces of a PTY's.
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
	// ErrEpoch means that another agent's screen is shown than the one that was typed at.
	ErrEpoch = errors.New("another agent's screen is shown by now")
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
	// Ring is how many bytes of the output are kept, 4 KiB at least.
	Ring int
	// Scrollback is how many lines that left the top of the screen are kept for who
	// begins to look. Negative keeps none.
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
	o.Ring = max(o.Ring, 4*maxMarks)
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

	// telling is held while the f of Rested is called. It is locked before the others.
	telling sync.Mutex

	// drawing guards term and scratch. It is locked before mu.
	drawing sync.Mutex
	term    *vt.Terminal
	scratch []byte // for a piece to draw

	mu      sync.Mutex
	ring    ring
	drawn   int64         // what is on term, an offset; set under both locks
	epoch   int64         // where the present screen began
	marks   []mark        // changes since, in order; what is before the ring's tail may be gone
	base    status        // before the first of marks
	now     status        // after the last one
	source  *shown        // the present agent's, nil for none
	blank   bool          // Blank's text is shown
	changed chan struct{} // closed when there is something to read; nil when nobody waits
	holds   []*hold
	moved   chan struct{} // closed when a hold moved; nil when nobody waits
	console bool
	asks    asks
	late    late
	lazy    lazy
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
		o: o, term: vt.New(o.Cols, o.Rows, o.Scrollback), drawn: start,
		ring: newRing(o.Ring, start), epoch: start, base: now, now: now,
	}
}

// Show takes the terminal of a new agent, gives it the screen's size, and begins a new
// screen. A former one that has not come to its end is read on, and thrown away. The
// function that is returned waits until the new one was read to its end.
func (h *Hub) Show(t Source) (wait func()) {
	s := &shown{Source: t, ended: make(chan struct{})}
	h.begin(s, "")
	go h.pump(s)
	return func() { <-s.ended }
}

// Blank shows a text, of a session whose agent has no screen now. Lines end with "\n".
func (h *Hub) Blank(text string) {
	h.begin(nil, "\x1b[?25l"+strings.ReplaceAll(text, "\n", "\r\n"))
}

// begin starts an epoch: a screen with a text on it, and a source, nil for none.
func (h *Hub) begin(s *shown, text string) {
	h.drawing.Lock()
	defer h.drawing.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.source = s
	h.now.running, h.blank = s != nil, s == nil
	h.ring.append([]byte{0}) // so that no reader is at its end
	h.ring.clear()
	h.epoch, h.drawn = h.ring.head, h.ring.head
	h.marks, h.base = nil, h.now
	h.asks.open = nil // the former agent's
	for _, l := range h.holds {
		l.at = max(l.at, h.epoch) // what was before is not to be had any more
	}
	h.term = vt.New(h.now.cols, h.now.rows, h.o.Scrollback)
	_, _ = h.term.Write([]byte(text))
	h.fit()
	h.wake()
	h.rest.anew = true
	h.touched()
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
	buf := make([]byte, min(readSize, h.o.Ring/4))
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

// take puts what a source wrote into the ring, and has it drawn.
func (h *Hub) take(s *shown, p []byte) {
	if h.append(s, p) {
		h.draw()
	}
}

// append reports whether it is time to draw.
func (h *Hub) append(s *shown, p []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.room(s, len(p))
	if h.source != s {
		return false // another one is shown, or none
	}
	h.ring.append(p)
	h.wakeFor(len(p))
	h.touched()
	return h.due()
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

// Input types p, whole and in order. The error is ErrNoTerminal, ErrClosed or the
// Source's.
func (h *Hub) Input(p []byte) error { return h.input(func(int64) bool { return true }, p) }

// InputAt is Input at the screen of an epoch, as Chunk has it; when another one is shown by
// now its error is ErrEpoch, and nothing is typed.
func (h *Hub) InputAt(epoch int64, p []byte) error {
	return h.input(func(now int64) bool { return now == epoch }, p)
}

func (h *Hub) input(meant func(epoch int64) bool, p []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return ErrClosed
	case !meant(h.epoch):
		return ErrEpoch
	case h.source == nil:
		return ErrNoTerminal
	}
	_, err := h.source.Write(p)
	return err
}

// Epoch is that of the present screen, as Chunk has it.
func (h *Hub) Epoch() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

// Resize sets the size, within vt.MaxCols and vt.MaxRows. What is 0 or less is ignored.
func (h *Hub) Resize(cols, rows int) {
	if cols <= 0 || rows <= 0 {
		return
	}
	if h.resize(vt.Clamp(cols, rows)) {
		h.draw()
	}
}

// Size is the size of the screen: the one of Options, or what Resize set last.
func (h *Hub) Size() (cols, rows int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now.cols, h.now.rows
}

// resize reports whether it is time to draw.
func (h *Hub) resize(cols, rows int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.now.cols == cols && h.now.rows == rows {
		return false
	}
	h.now.cols, h.now.rows = cols, rows
	h.mark()
	h.fit()
	h.touched()
	return h.due()
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
	h.rest.call = nil
	h.rest.alarm.stop()
	h.late.alarm.stop()
	h.lazy.alarm.stop()
	h.wake()
	h.move()
}
