//go:build linux

package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agenthost/agenthost/internal/vt"
)

// wait is how long a test waits for what must happen, on a busy machine.
const wait = 60 * time.Second

// agent is a Terminal whose screen a test writes.
type agent struct {
	mu         sync.Mutex
	changed    chan struct{} // closed, and made anew, whenever something changes
	shown      []byte
	oldest     int
	repaint    string // what Reset gives; empty: all that was shown
	cols, rows int
	fixed      bool // Resize changes nothing
	held       bool
	holder     string
	lost       string
	over       error
	typed      []byte
	refuses    error // of Input
	takes      error
	answers    bool
	told       []bool  // what answers was, one after the other
	resets     []int64 // the offsets that were answered with one
	sizes      int
	stuck      chan struct{} // Input waits for it, nil for not
	panics     bool
	state      int // counts changes but output
	seen       int // of state
}

func newAgent(cols, rows int) *agent {
	return &agent{changed: make(chan struct{}), cols: cols, rows: rows, held: true}
}

// do changes the agent; its state too.
func (a *agent) do(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	a.state++
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *agent) show(s string) { a.do(func() { a.state--; a.shown = append(a.shown, s...) }) }
func (a *agent) end(err error) { a.do(func() { a.over = err }) }

// take lets somebody hold control; "" is the person.
func (a *agent) take(holder string) { a.do(func() { a.held, a.holder = holder == "", holder }) }

func (a *agent) Read(ctx context.Context, after int64, limit int) (Chunk, error) {
	for {
		a.mu.Lock()
		if a.panics {
			a.mu.Unlock()
			panic("the agent's side fell over")
		}
		c := Chunk{At: int64(len(a.shown)), Cols: a.cols, Rows: a.rows, Running: true, Held: a.held, Holder: a.holder, Lost: a.lost}
		state, changed, over := a.state, a.changed, a.over
		switch {
		case after < int64(a.oldest):
			c.Reset, c.Data = true, append([]byte("\x1b[H\x1b[2J"), a.shown...)
			if a.repaint != "" {
				c.Data = []byte(a.repaint)
			}
		case after < int64(len(a.shown)):
			c.Data = append(c.Data, a.shown[after:min(len(a.shown), int(after)+limit)]...)
			c.At = after + int64(len(c.Data))
		}
		news := len(c.Data) > 0 || c.Reset || state != a.seen
		if news && ctx.Err() == nil {
			a.seen = state
			if c.Reset {
				a.resets = append(a.resets, after)
			}
		}
		a.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return Chunk{}, context.Cause(ctx)
		case news:
			return c, nil
		case over != nil:
			return Chunk{}, over
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (a *agent) Input(ctx context.Context, p []byte) error {
	a.mu.Lock()
	stuck := a.stuck
	a.mu.Unlock()
	if stuck != nil {
		select {
		case <-stuck:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := ErrLocked
	a.do(func() {
		a.state--
		if a.refuses != nil {
			err = a.refuses
		} else if a.held {
			a.typed, err = append(a.typed, p...), nil
		}
	})
	return err
}

func (a *agent) Resize(_ context.Context, cols, rows int) error {
	err := ErrLocked
	a.do(func() {
		if !a.held {
			a.state--
			return
		}
		err = nil
		a.sizes++
		if !a.fixed {
			a.cols, a.rows = cols, rows
		}
	})
	return err
}

func (a *agent) Answers(reaches bool) {
	a.do(func() { a.state--; a.answers = reaches; a.told = append(a.told, reaches) })
}

func (a *agent) Take(context.Context) error {
	a.mu.Lock()
	err := a.takes
	a.mu.Unlock()
	if err == nil {
		a.take("")
	}
	return err
}

// until waits until is says so.
func (a *agent) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.After(wait)
	for {
		a.mu.Lock()
		ok, changed := is(), a.changed
		a.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("not in %v: %s", wait, what)
		}
	}
}

// person is who sits before a terminal: a PTY and an emulator that shows it.
type person struct {
	t      *testing.T
	master *os.File
	tty    *os.File
	before syscall.Termios

	mu      sync.Mutex
	em      *vt.Terminal // guarded by mu
	raw     []byte       // guarded by mu: all that was written to the terminal
	changed chan struct{}
	stopped bool          // guarded by mu: reads nothing
	goes    chan struct{} // holds a value when it reads again
	read    chan struct{} // closed when the terminal is gone
	marks   int
}

func newPerson(t *testing.T, cols, rows int) *person {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, master: nonblocking(t, master), em: vt.New(cols, rows, 1000), changed: make(chan struct{}), goes: make(chan struct{}, 1), read: make(chan struct{})}
	p.size(cols, rows)
	p.tty, err = os.OpenFile(slave.Name(), os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	p.before = p.termios()
	go p.look()
	t.Cleanup(func() {
		p.resume()
		_ = p.master.Close()
		_ = p.tty.Close()
		<-p.read
	})
	return p
}

// nonblocking makes a PTY's master one whose reads can be ended.
func nonblocking(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	return os.NewFile(uintptr(fd), f.Name())
}

func (p *person) look() {
	defer close(p.read)
	buf := make([]byte, 64<<10)
	for {
		p.mu.Lock()
		stopped := p.stopped
		p.mu.Unlock()
		if stopped {
			<-p.goes
			continue
		}
		n, err := p.master.Read(buf)
		p.mu.Lock()
		_, _ = p.em.Write(buf[:n])
		if p.raw = append(p.raw, buf[:n]...); len(p.raw) > 4<<20 {
			p.raw = p.raw[len(p.raw)-1<<20:]
		}
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// stop lets the terminal take nothing, as ctrl-S does; resume goes on.
func (p *person) stop() { p.mu.Lock(); p.stopped = true; p.mu.Unlock() }

func (p *person) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = false
	select {
	case p.goes <- struct{}{}:
	default:
	}
}

func (p *person) press(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.master, s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) size(cols, rows int) {
	p.t.Helper()
	if err := pty.Setsize(p.master, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.em.Resize(cols, rows)
}

// screenLocked is what the person sees, without blanks at the ends.
func (p *person) screenLocked() string {
	return strings.TrimRight(strings.Join(p.em.Lines(), "\n"), "\n")
}

// sees waits for a screen.
func (p *person) sees(what string, is func(screen string) bool) {
	p.t.Helper()
	late := time.After(wait)
	for {
		p.mu.Lock()
		s, changed := p.screenLocked(), p.changed
		p.mu.Unlock()
		if is(s) {
			return
		}
		select {
		case <-changed:
		case <-late:
			p.t.Fatalf("not in %v: %s; the screen is\n%s", wait, what, s)
		}
	}
}

func (p *person) seesText(text string) {
	p.t.Helper()
	p.sees(text, func(s string) bool { return strings.Contains(s, text) })
}

// got waits until the terminal has got some bytes.
func (p *person) got(bytes string) {
	p.t.Helper()
	p.sees("the bytes "+bytes, func(string) bool { p.mu.Lock(); defer p.mu.Unlock(); return strings.Contains(string(p.raw), bytes) })
}

// written is all that the terminal has got so far.
func (p *person) written() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.raw)
}

// inOrder checks that the terminal is as it was.
func (p *person) inOrder() {
	p.t.Helper()
	p.marks++
	mark := fmt.Sprintf("\x1b]7777;%d\x07", p.marks)
	if _, err := io.WriteString(p.tty, mark); err != nil {
		p.t.Fatal(err)
	}
	p.got(mark)
	if got := p.termios(); got != p.before {
		p.t.Errorf("the terminal's settings are %+v, want %+v", got, p.before)
	}
	m := newModes()
	m.see([]byte(p.written()))
	if m.changed() {
		p.t.Errorf("modes are left over: %+v of %q", m, p.written())
	}
}

// using is a console that runs.
type using struct {
	t      *testing.T
	cancel context.CancelCauseFunc
	done   chan struct{}
	end    End
	err    error
}

func (p *person) runs(a Terminal, o Options) *using {
	p.t.Helper()
	ctx, cancel := context.WithCancelCause(p.t.Context())
	u := &using{t: p.t, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(u.done)
		u.end, u.err = Run(ctx, a, Use(p.tty), o)
	}()
	p.t.Cleanup(func() { cancel(errors.New("the test is over")); p.resume(); <-u.done })
	return u
}

func (u *using) ends(want End) {
	u.t.Helper()
	select {
	case <-u.done:
	case <-time.After(wait):
		u.t.Fatal("it does not end")
	}
	if u.end != want || u.err != nil {
		u.t.Fatalf("Run = %d, %v; want %d", u.end, u.err, want)
	}
}
