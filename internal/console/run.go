package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// readBytes is the most that is read at once.
	readBytes = 128 << 10
	// hintTime is how long a hint stays, and a question waits for its answer.
	hintTime = 4 * time.Second
	// settleTime is how long a screen may take to get the terminal's size until it is
	// mirrored.
	settleTime = time.Second
	// frameTime is between two drawings of the mirror.
	frameTime = 33 * time.Millisecond
	// flushTime is how long the last keys before leaving are waited for.
	flushTime = time.Second
	// byeTime bounds what is written to a terminal that takes nothing, when leaving.
	byeTime = 500 * time.Millisecond
)

// occasion is what happens to the terminal or to this process.
type occasion int

const (
	nothing occasion = iota
	resized
	stopped
	continued
)

// console is a console that runs. What has no other note belongs to the loop.
type console struct {
	t    Terminal
	tty  *TTY
	opts Options

	signals chan os.Signal
	events  chan byte // commands behind the escape key; 0 is a key for the agent
	chunks  chan outcome
	faults  chan fault
	told    chan string   // hints of others
	hungUp  chan struct{} // closed when the keyboard is gone
	out     *outbox
	// held says that the person may type, notice that the loop wants to know of it,
	// leaving that the screen is not worth waiting for any more.
	held, notice, leaving atomic.Bool

	modes  *modes
	mirror mirror
	// plain says that bytes pass as they are, else the mirror draws; passed that some
	// did.
	plain, passed bool
	cols, rows    int // of the terminal
	last          Chunk
	epoch         string // of the agent that is seen, empty for not known yet
	// asked is when the screen was asked to take the terminal's size and did not yet;
	// late says that its repaint is due when it does.
	asked     time.Time
	late      bool
	hint      string
	hintUntil time.Time
	ending    bool // q was pressed once
	taking    bool // t was pressed, and control is not held yet
	dirty     bool // the mirror has something to draw
	painted   time.Time

	stopRead context.CancelFunc
	reads    int // counts them: the outcome of an earlier one is void
}

// outcome is that of Terminal.Read.
type outcome struct {
	n     int
	chunk Chunk
	err   error
}

// fault is what a goroutine ends the console with.
type fault struct {
	err   error
	panic any
	stack []byte
}

// errGone says that the terminal takes nothing any more.
var errGone = errors.New("the terminal is gone")

// Run shows t at tty and types at it, until one of the two is gone, the person leaves,
// or ctx is over, whose cause it then returns. The terminal is then as it was.
func Run(ctx context.Context, t Terminal, tty *TTY, o Options) (end End, err error) {
	if o.Escape == 0 {
		o.Escape = DefaultEscape
	}
	c := &console{
		t: t, tty: tty, opts: o, modes: newModes(), plain: true,
		signals: make(chan os.Signal, 8), events: make(chan byte, 64), chunks: make(chan outcome),
		faults: make(chan fault, 4), told: make(chan string, 4), hungUp: make(chan struct{}),
	}
	if err := tty.raw(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c.out = newOutbox(c)
	notify(c.signals)
	keys, sends := make(chan struct{}), make(chan struct{})
	c.spawn(keys, func() { c.keyboard(ctx) })
	c.spawn(sends, func() { c.out.run(ctx) })
	defer func() {
		c.t.Answers(false) // whoever comes next says so itself, and the host answers until then
		if end == Detached {
			c.out.flush(flushTime)
		}
		cancel()
		signal.Stop(c.signals)
		c.bye(end)
		tty.cooked()
		<-sends
		for ended := false; !ended && tty.interrupt(); {
			select {
			case <-keys:
				ended = true
			case <-time.After(sequenceTime): // it just said that it waits for ever
			}
		}
		tty.resume()
	}()
	end, err = c.loop(ctx)
	if errors.Is(err, errGone) {
		return HungUp, nil
	}
	return end, err
}

// spawn runs f; its panic ends the console, which puts the terminal right first.
func (c *console) spawn(done chan<- struct{}, f func()) {
	go func() {
		defer close(done)
		defer c.guard()
		f()
	}()
}

func (c *console) guard() {
	if p := recover(); p != nil {
		c.faults <- fault{panic: p, stack: debug.Stack()}
	}
}

// loop owns the person's screen.
func (c *console) loop(ctx context.Context) (End, error) {
	c.cols, c.rows = c.tty.Size()
	c.last = Chunk{Held: !c.opts.Watch, Running: true} // until something else is known
	c.held.Store(c.last.Held)
	c.t.Answers(true)
	c.claim()
	c.read(ctx, c.opts.From)
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	for {
		tick.Reset(c.due())
		var end End
		var err error
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-c.hungUp:
			return HungUp, nil
		case f := <-c.faults:
			if f.panic != nil {
				panic(fmt.Sprintf("%v\n\n%s", f.panic, f.stack))
			}
			return 0, f.err
		case s := <-c.signals:
			err = c.signalled(ctx, meaning(s))
		case b := <-c.events:
			end, err = c.commanded(ctx, b)
		case text := <-c.told:
			if end, err = c.allCommanded(ctx); end == 0 && err == nil {
				err = c.tell(ctx, text)
			}
		case r := <-c.chunks:
			end, err = c.got(ctx, r)
		case <-tick.C:
			err = c.tend(ctx)
		}
		if end != 0 || err != nil {
			return end, err
		}
	}
}

// read begins to wait for what comes after an offset; an earlier wait is given up.
func (c *console) read(ctx context.Context, after int64) {
	if c.stopRead != nil {
		c.stopRead()
	}
	ctx, c.stopRead = context.WithCancel(ctx)
	c.reads++
	n := c.reads
	go func() {
		defer c.guard()
		chunk, err := c.t.Read(ctx, after, readBytes)
		select {
		case c.chunks <- outcome{n, chunk, err}:
		case <-ctx.Done():
		}
	}()
}

// got takes what was read.
func (c *console) got(ctx context.Context, r outcome) (End, error) {
	switch {
	case r.n != c.reads:
		return 0, nil // given up
	case errors.Is(r.err, io.EOF):
		return Over, nil
	case r.err != nil:
		return 0, r.err
	}
	c.meet(r.chunk.Epoch)
	had := c.last.Held
	c.last = r.chunk
	c.last.Data = nil
	if c.opts.Watch || c.last.Lost != "" {
		c.last.Held = false
	}
	c.held.Store(c.last.Held)
	if c.last.Lost != "" {
		c.out.drop()
	}
	if c.last.Held && !had && c.taking {
		c.claim() // else another terminal of the same person took it, for its own size
	}
	c.taking = c.taking && !c.last.Held
	fits := r.chunk.Cols == c.cols && r.chunk.Rows == c.rows
	if fits {
		c.asked = time.Time{}
	}
	if c.mayPass() != c.plain {
		return 0, c.change(ctx)
	}
	switch {
	case c.plain && fits && c.late:
		c.late = false
		c.read(ctx, c.whole())
		return 0, nil
	case c.plain && r.chunk.Reset && !fits && !c.asked.IsZero():
		c.late = true // a repaint for another size would be in the way
	default:
		if err := c.show(r.chunk); err != nil {
			return 0, err
		}
	}
	c.read(ctx, r.chunk.At)
	return 0, nil
}

// meet notes which agent is before the screen. What waits was meant for the one before.
func (c *console) meet(epoch string) {
	if epoch == "" || epoch == c.epoch {
		return
	}
	if c.epoch != "" && c.out.drop() {
		select {
		case c.told <- "the agent was started again: what was typed for the one before is dropped":
		default: // it has enough to tell
		}
	}
	c.epoch = epoch
}

// claim asks for the terminal's size.
func (c *console) claim() {
	if c.opts.Watch {
		return
	}
	c.asked = time.Now()
	c.out.resize(c.cols, c.rows)
}

// fits reports whether the screen has the terminal's size, or will in a moment.
func (c *console) fits() bool {
	same := c.last.Cols == c.cols && c.last.Rows == c.rows || c.last.Cols == 0
	return same || !c.asked.IsZero() && time.Since(c.asked) < settleTime
}

// mayPass reports whether bytes may pass as they are.
func (c *console) mayPass() bool {
	c.notice.Store(c.hint != "" || !c.fits())
	return c.last.Held && c.last.Lost == "" && c.hint == "" && c.fits()
}

// change goes over to the other way to show, which begins with all of the screen.
func (c *console) change(ctx context.Context) error {
	c.plain, c.late = !c.plain, false
	c.t.Answers(c.plain)
	var b []byte
	if c.plain {
		b = append(b, c.mirror.off()...)
		c.mirror.em = nil
	} else {
		b = append(c.modes.restore(), c.mirror.on()...)
		c.dirty = true
	}
	if err := c.write(b); err != nil {
		return err
	}
	c.read(ctx, c.whole())
	return c.tend(ctx)
}

// whole is the offset for all of the screen. What left it before is wanted once, where it
// stays: not in the mirror.
func (c *console) whole() int64 {
	if c.plain && !c.passed && c.opts.From < 0 {
		return c.opts.From
	}
	return -1
}

// show gives a chunk to what shows it.
func (c *console) show(r Chunk) error {
	if !c.plain {
		if r.Reset {
			c.mirror.reset(r.Cols, r.Rows)
		}
		c.mirror.resize(r.Cols, r.Rows)
		c.mirror.write(r.Data)
		c.dirty = true
		return nil
	}
	var b []byte
	if r.Reset {
		b = c.modes.restore()
		if !c.passed {
			// What the person had on the screen goes up, where it can be scrolled to.
			b = fmt.Appendf(b, "\x1b[%d;1H%s", c.rows, strings.Repeat("\n", c.rows))
		}
	}
	c.passed = true
	c.modes.rows = c.rows
	c.modes.see(r.Data)
	if len(b) > 0 {
		return c.write(append(b, r.Data...))
	}
	return c.write(r.Data)
}

// due is when tend has something to do.
func (c *console) due() time.Duration {
	d := time.Hour
	if c.hint != "" {
		d = min(d, time.Until(c.hintUntil))
	}
	if !c.asked.IsZero() {
		d = min(d, time.Until(c.asked.Add(settleTime)))
	}
	if c.dirty && !c.plain {
		d = min(d, time.Until(c.painted.Add(frameTime)))
	}
	return max(0, d)
}

// tend does what is due.
func (c *console) tend(ctx context.Context) error {
	now := time.Now()
	if c.hint != "" && !now.Before(c.hintUntil) {
		c.hint, c.ending, c.dirty = "", false, true
	}
	if !c.asked.IsZero() && now.Sub(c.asked) >= settleTime {
		c.asked = time.Time{}
	}
	if c.mayPass() != c.plain {
		return c.change(ctx)
	}
	if c.plain || !c.dirty || now.Sub(c.painted) < frameTime {
		return nil
	}
	c.dirty, c.painted = false, now
	return c.write(c.mirror.paint(c.cols, c.rows, c.status()))
}

// write writes to the terminal. One that takes nothing is not waited for when the person
// wants to leave; what was not written is then not missed.
func (c *console) write(p []byte) error {
	err := c.tty.write(p, func() bool { return c.leaving.Load() })
	if err == nil || c.leaving.Load() {
		return nil
	}
	return errGone
}
