package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/vt"
)

// fake is an agent on a terminal: what is written to it is its output.
type fake struct {
	*io.PipeWriter
	r *io.PipeReader

	mu    sync.Mutex
	typed []byte   // guarded by mu
	sizes [][2]int // guarded by mu
}

func newFake() *fake {
	r, w := io.Pipe()
	return &fake{PipeWriter: w, r: r}
}

// source is the hub's side of a fake.
type source struct{ *fake }

func (s source) Read(p []byte) (int, error) { return s.r.Read(p) }

func (s source) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typed = append(s.typed, p...)
	return len(p), nil
}

func (s source) Resize(cols, rows int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = append(s.sizes, [2]int{cols, rows})
	return nil
}

func (f *fake) say(t *testing.T, s string) {
	t.Helper()
	if _, err := f.PipeWriter.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

// put is say, and waits until the hub has it.
func (f *fake) put(t *testing.T, h *Hub, s string) {
	t.Helper()
	want := h.head() + int64(len(s))
	f.say(t, s)
	for h.head() < want {
		runtime.Gosched()
	}
}

func (f *fake) read() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.typed)
}

// shows starts a hub with a fake on it.
func shows(t *testing.T, o Options) (*Hub, *fake) {
	t.Helper()
	h, f := New(o), newFake()
	wait := h.Show(source{f})
	t.Cleanup(func() {
		f.Close()
		wait()
		h.Close()
	})
	return h, f
}

// next is one Read.
func next(t *testing.T, h *Hub, after int64, most int) Chunk {
	t.Helper()
	c, err := h.Read(t.Context(), after, most)
	if err != nil {
		t.Fatalf("Read(%d) = %v", after, err)
	}
	return c
}

// all reads from an offset on until the agent is gone.
func all(t *testing.T, h *Hub, at int64) string {
	t.Helper()
	var b bytes.Buffer
	for {
		c := next(t, h, at, 0)
		if c.Reset {
			t.Fatalf("a Reset at %d", at)
		}
		b.Write(c.Data)
		if at = c.At; !c.Running {
			return b.String()
		}
	}
}

// TestReadByOffset: 10,000 random pieces, read again from any offset on in pieces of any
// size, are the same bytes.
func TestReadByOffset(t *testing.T) {
	h, f := shows(t, Options{Ring: 1 << 20})
	r := rand.New(rand.NewPCG(1, 2))
	start := next(t, h, -1, 0).At
	var want bytes.Buffer
	offsets := []int64{start} // where reading may begin, and what is read from there
	from := []int{0}
	read := make(chan struct{})
	var live bytes.Buffer
	go func() { // one who reads along
		defer close(read)
		at := start
		for {
			c, err := h.Read(t.Context(), at, 1+r.IntN(5000)%777)
			if err != nil || c.Reset {
				t.Errorf("Read = reset %v, %v", c.Reset, err)
				return
			}
			live.Write(c.Data)
			if at = c.At; !c.Running {
				return
			}
		}
	}()
	own := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		piece := make([]byte, 1+own.IntN(80))
		for i := range piece {
			piece[i] = byte(own.Uint32())
		}
		want.Write(piece)
		f.say(t, string(piece))
	}
	f.Close()
	<-read
	if !bytes.Equal(live.Bytes(), want.Bytes()) {
		t.Fatalf("%d bytes were read, want the %d that were written", live.Len(), want.Len())
	}
	for at := start; ; {
		c := next(t, h, at, 1+own.IntN(9000))
		offsets, from = append(offsets, c.At), append(from, from[len(from)-1]+len(c.Data))
		if at = c.At; !c.Running {
			break
		}
	}
	for range 100 {
		i := own.IntN(len(offsets) - 1)
		if got := all(t, h, offsets[i]); got != want.String()[from[i]:] {
			t.Fatalf("from offset %d: %d bytes, want %d", offsets[i], len(got), want.Len()-from[i])
		}
	}
}

// TestReset: who has no place in what is kept gets the whole screen, and goes on from
// there.
func TestReset(t *testing.T) {
	h, f := shows(t, Options{Cols: 20, Rows: 4, Ring: 4096})
	f.put(t, h, "hello \x1b[1mworld")
	first := next(t, h, -1, 1)
	if !first.Reset || !first.Running || first.Cols != 20 || first.Rows != 4 {
		t.Fatalf("the first chunk is %+v, want a Reset", first)
	}
	f.put(t, h, "!")
	screen := vt.New(20, 4, 0)
	_, _ = screen.Write(first.Data)
	second := next(t, h, first.At, 0)
	_, _ = screen.Write(second.Data)
	if got := screen.Lines()[0]; second.Reset || got != "hello world!" {
		t.Errorf("the screen has %q after %+v", got, second)
	}
	f.put(t, h, strings.Repeat("more\r\n", 5000))
	for _, at := range []int64{-1, 0, first.At, second.At, second.At + 1<<40} {
		if c := next(t, h, at, 0); !c.Reset {
			t.Errorf("offset %d: want a Reset, got %d bytes", at, len(c.Data))
		}
	}
}

// TestWhole: who begins to look gets what left the screen above it, once, bounded, of the
// present agent, and goes on from there; nothing is above an alternate screen's lines.
func TestWhole(t *testing.T) {
	h, f := shows(t, Options{Cols: 20, Rows: 4, Scrollback: 10})
	look := func(after int64) (above, screen string, c Chunk) {
		t.Helper()
		c = next(t, h, after, 0)
		if !c.Reset {
			t.Fatalf("Read(%d) is no Reset", after)
		}
		fresh := vt.New(c.Cols, c.Rows, 1000)
		_, _ = fresh.Write(c.Data)
		return string(fresh.Scrollback()), strings.Join(fresh.Lines(), "|"), c
	}
	for i := range 20 {
		f.put(t, h, fmt.Sprintf("line %d\r\n", i))
	}
	f.put(t, h, "> box")
	var lines string
	for i := 7; i < 17; i++ {
		lines += fmt.Sprintf("line %d\r\n", i)
	}
	const screen = "line 17|line 18|line 19|> box"
	above, on, c := look(Whole)
	if above != lines || on != screen {
		t.Errorf("the whole is\n%q above %q, want\n%q above %q", above, on, lines, screen)
	}
	f.put(t, h, "!")
	if more := next(t, h, c.At, 0); more.Reset || string(more.Data) != "!" {
		t.Errorf("behind it comes %+v", more)
	}
	if above, on, _ := look(-1); above != "" || on != screen+"!" {
		t.Errorf("a repaint is %q above %q", above, on)
	}
	f.put(t, h, "\x1b[?1049h"+strings.Repeat("alt\r\n", 50))
	if above, on, _ := look(Whole); above != lines || on != "alt|alt|alt|" {
		t.Errorf("with the alternate screen on the whole is\n%q above %q", above, on)
	}
	second := newFake()
	wait := h.Show(source{second})
	second.put(t, h, "second")
	if above, on, _ := look(Whole); above != "" || on != "second|||" {
		t.Errorf("of the next agent the whole is %q above %q", above, on)
	}
	second.Close()
	wait()
}

// TestWholeIsBounded: in bytes too.
func TestWholeIsBounded(t *testing.T) {
	h, f := shows(t, Options{Cols: 500, Rows: 4, Scrollback: 2000})
	f.put(t, h, strings.Repeat(strings.Repeat("\x1b[31mx\x1b[32my", 100)+"\r\n", 1000))
	if n := len(next(t, h, Whole, 0).Data); n < wholeBytes/2 || n > wholeBytes+16<<10 {
		t.Errorf("the whole has %d bytes, want about %d", n, wholeBytes)
	}
}

// TestAnotherHub: an offset of a hub that is gone is no offset of the next one.
func TestAnotherHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := shows(t, Options{})
		f.say(t, "the first")
		synctest.Wait()
		at := next(t, h, -1, 0).At
		time.Sleep(time.Second)
		again, g := shows(t, Options{})
		g.say(t, "the second")
		synctest.Wait()
		if c := next(t, again, at, 0); !c.Reset {
			t.Errorf("got %q, want a Reset", c.Data)
		}
	})
}

// TestHandOver: a new agent's screen is a new one, for readers and on the emulator, and
// the old one's last words don't get onto it.
func TestHandOver(t *testing.T) {
	h := New(Options{Cols: 30, Rows: 5})
	defer h.Close()
	old := newFake()
	waitOld := h.Show(source{old})
	old.put(t, h, "\x1b[?1049h\x1b[2;3rold agent")
	c := next(t, h, -1, 0)
	at, epoch := c.At, c.Epoch
	h.Resize(40, 6)
	at = next(t, h, at, 0).At
	young := newFake()
	waitYoung := h.Show(source{young})
	if c := next(t, h, at, 0); !c.Reset || !c.Running || c.Cols != 40 {
		t.Errorf("want a Reset of 40 columns, got %+v", c)
	}
	young.put(t, h, "young agent")
	old.say(t, " says more")
	old.Close()
	waitOld()
	s := h.Snapshot()
	if want := (adapters.Screen{Cols: 40, Rows: 6, X: 11, Lines: []string{"young agent", "", "", "", "", ""}}); !equal(s, want) {
		t.Errorf("the screen is %+v, want %+v", s, want)
	}
	if !slices.Equal(young.sizes, [][2]int{{40, 6}}) {
		t.Errorf("the new agent got the sizes %v, want 40x6", young.sizes)
	}
	if err := h.InputAt(epoch, []byte("for the old agent")); !errors.Is(err, ErrEpoch) || epoch == h.Epoch() {
		t.Errorf("InputAt for the old agent = %v, want ErrEpoch", err)
	}
	if err := h.InputAt(next(t, h, -1, 0).Epoch, []byte("x")); err != nil || young.read() != "x" || old.read() != "" {
		t.Errorf("InputAt = %v, typed %q and %q, want x at the new one", err, young.read(), old.read())
	}
	if err := h.Input([]byte("y")); err != nil || young.read() != "xy" {
		t.Errorf("Input = %v, typed %q, want xy", err, young.read())
	}
	at = next(t, h, -1, 0).At
	young.Close()
	waitYoung()
	if c := next(t, h, at, 0); c.Reset || c.Running {
		t.Errorf("the end is told as %+v", c)
	}
	if got := h.Snapshot().Lines[0]; got != "young agent" {
		t.Errorf("after the end the screen has %q, want what was there", got)
	}
	if err := h.Input([]byte("x")); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("Input = %v, want ErrNoTerminal", err)
	}
	h.Blank("no screen\nnow")
	if c := next(t, h, at, 0); !c.Reset || c.Running || !strings.Contains(string(c.Data), "no screen") {
		t.Errorf("Blank is told as %+v", c)
	}
	if c := next(t, h, Beginning, 0); !c.Reset || !strings.Contains(string(c.Data), "no screen") {
		t.Errorf("from the beginning Blank is told as %+v", c)
	}
	if got := h.Snapshot().Lines[:2]; !slices.Equal(got, []string{"no screen", "now"}) {
		t.Errorf("Blank shows %q", got)
	}
}

func equal(a, b adapters.Screen) bool {
	return slices.Equal(a.Lines, b.Lines) && a.Cols == b.Cols && a.Rows == b.Rows && a.X == b.X && a.Y == b.Y &&
		a.Alt == b.Alt && a.Paste == b.Paste && a.Title == b.Title
}

// TestSizesB143: no size is 80x24, others are clamped, what is none is ignored, and a
// size comes to readers between the bytes where it was set.
func TestSizesB143(t *testing.T) {
	h, f := shows(t, Options{})
	at := next(t, h, -1, 0).At
	for _, size := range [][2]int{{0, 0}, {-1, 5}, {5, 0}, {80, 24}} {
		h.Resize(size[0], size[1])
	}
	f.say(t, "a")
	c := next(t, h, at, 0)
	if string(c.Data) != "a" || c.Cols != 80 || c.Rows != 24 {
		t.Errorf("got %+v, want a at 80x24", c)
	}
	h.Resize(1, 1)
	h.Resize(1<<30, 1<<30)
	f.say(t, "b")
	for len(c.Data) == 0 || string(c.Data) == "a" {
		c = next(t, h, c.At, 0)
	}
	if string(c.Data) != "b" || c.Cols != vt.MaxCols || c.Rows != vt.MaxRows {
		t.Errorf("got %q at %dx%d, want b at the largest size", c.Data, c.Cols, c.Rows)
	}
	h.Resize(100, 30)
	if c = next(t, h, c.At, 0); len(c.Data) > 0 || c.Cols != 100 || c.Rows != 30 || c.Reset {
		t.Errorf("got %+v, want 100x30 and no bytes", c)
	}
	f.say(t, "c")
	if c = next(t, h, c.At, 0); string(c.Data) != "c" || c.Cols != 100 {
		t.Errorf("got %+v, want c", c)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if want := [][2]int{{80, 24}, {2, 1}, {1000, 500}, {100, 30}}; !slices.Equal(f.sizes, want) {
		t.Errorf("the agent got %v, want %v", f.sizes, want)
	}
}

// TestSizeStorm: sizes that nobody reads don't pile up.
func TestSizeStorm(t *testing.T) {
	h, f := shows(t, Options{Ring: 4096})
	at := next(t, h, -1, 0).At
	for i := range 20_000 {
		h.Resize(20+i%50, 10)
	}
	f.say(t, "x")
	h.mu.Lock()
	marks := len(h.marks)
	h.mu.Unlock()
	if marks > maxMarks {
		t.Errorf("%d changes are kept", marks)
	}
	if c := next(t, h, at, 0); !c.Reset || c.Cols != 69 {
		t.Errorf("got %+v, want a Reset at 69 columns", c)
	}
}

// TestHold: the agent waits for a reader that holds, loses nothing of it, and does not
// wait for ever.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := shows(t, Options{Ring: 8192})
		at := next(t, h, -1, 0).At
		release, progress := h.Hold()
		defer release()
		var written atomic.Int64
		var writer sync.WaitGroup
		writer.Go(func() {
			for {
				n, err := f.PipeWriter.Write(bytes.Repeat([]byte("x"), 100))
				if err != nil {
					return
				}
				written.Add(int64(n))
				time.Sleep(100 * time.Microsecond)
			}
		})
		time.Sleep(time.Second)
		if int(written.Load()) > 8192+readSize {
			t.Fatalf("%d bytes were taken of the agent, want no more than the ring has", int(written.Load()))
		}
		time.Sleep(8 * time.Second)
		var got int
		for range 1000 { // a slow reader, but one that moves
			c := next(t, h, at, 500)
			if c.Reset {
				t.Fatal("a reader that holds got a Reset")
			}
			got += len(c.Data)
			at = c.At
			progress(at)
			synctest.Wait()
		}
		if got < 100_000 || int(written.Load()) > got+8192+readSize {
			t.Errorf("%d bytes were read and %d taken", got, int(written.Load()))
		}
		time.Sleep(time.Second)
		before := int(written.Load())
		time.Sleep(8 * time.Second)
		if int(written.Load()) != before {
			t.Errorf("the agent was not held for 9 s")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if int(written.Load()) == before {
			t.Errorf("the agent was held for 11 s")
		}
		f.Close()
		synctest.Wait()
		c := next(t, h, at, 0)
		if !c.Reset {
			t.Errorf("a reader that was dropped got %d bytes, want a Reset", len(c.Data))
		}
		writer.Wait()
	})
}

// TestHoldAgain: a reader that was dropped is waited for again when it is back.
func TestHoldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := shows(t, Options{Ring: 8192})
		release, progress := h.Hold()
		defer release()
		var written atomic.Int64
		var work sync.WaitGroup
		work.Go(func() {
			for n, err := 0, error(nil); err == nil; written.Add(int64(n)) {
				n, err = f.PipeWriter.Write(make([]byte, 100))
				time.Sleep(100 * time.Microsecond)
			}
		})
		limited := func() bool {
			synctest.Wait()
			before := int(written.Load())
			time.Sleep(time.Second)
			synctest.Wait()
			return int(written.Load()) == before
		}
		limited()
		if !limited() {
			t.Fatal("the agent is not held")
		}
		time.Sleep(holdLimit)
		if limited() {
			t.Fatal("the agent is held for more than the limit")
		}
		go func() { // a reader that takes what there is, as a web page does
			at := int64(-1)
			for range 100 {
				c, err := h.Read(t.Context(), at, 0)
				if err != nil {
					return
				}
				at = c.At
			}
			progress(at)
		}()
		limited()
		limited()
		if !limited() {
			t.Error("the agent is not held again")
		}
		release()
		release()
		if limited() {
			t.Error("the agent is held though nobody holds it")
		}
		f.Close()
		work.Wait()
	})
}

// TestRested: the screen at rest is told once, when it is another one.
func TestRested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := shows(t, Options{Cols: 20, Rows: 2, Rest: 100 * time.Millisecond})
		var told []string
		under := false
		h.Rested(func(s adapters.Screen) {
			if under {
				t.Error("two calls at once")
			}
			under = true
			time.Sleep(10 * time.Millisecond)
			told = append(told, strings.Join(s.Lines, "|"))
			under = false
		})
		step := func(s string, d time.Duration) {
			if s != "" {
				f.say(t, s)
			}
			time.Sleep(d)
			synctest.Wait()
		}
		step("", time.Second)
		for range 20 {
			step("busy ", 50*time.Millisecond)
		}
		step("\x1b[H\x1b[2Jquiet", 99*time.Millisecond)
		step("", 20*time.Millisecond)
		step("\x1b[1m\x1b[m", time.Second) // looks the same
		step("\r\x1b[Kother", 105*time.Millisecond)
		step("\r\x1b[Klast", 500*time.Millisecond) // while the call is under way
		want := []string{"|", "quiet|", "other|", "last|"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		h.Close()
		step("after", time.Second)
		if len(told) != len(want) {
			t.Errorf("told %q after Close", told[len(want):])
		}
	})
}

// TestLook: a look is told whatever it shows, and what is at rest behind it too; none is
// told behind a newer one.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := shows(t, Options{Cols: 20, Rows: 2, Rest: 100 * time.Millisecond})
		h.Look() // nobody wants it
		var told []string
		var holds chan struct{}
		h.Rested(func(s adapters.Screen) {
			if holds != nil {
				<-holds
			}
			told = append(told, s.Lines[0])
		})
		say := func(s string, d time.Duration) {
			f.say(t, "\r\x1b[K"+s)
			time.Sleep(d)
			synctest.Wait()
		}
		say("a", time.Second)
		say("b", time.Millisecond)
		h.Look()
		h.Look()
		say("a", time.Second)
		say("a", time.Second) // nothing is new
		if want := []string{"a", "b", "b", "a"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}

		told, holds = nil, make(chan struct{})
		say("old", time.Second) // its call is under way
		say("new", time.Millisecond)
		looked := make(chan struct{})
		go func() { defer close(looked); h.Look() }()
		for range 100 {
			runtime.Gosched() // synctest.Wait waits for no lock
		}
		close(holds)
		<-looked
		if want := []string{"old", "new"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// TestRestedOfEachAgent: a screen that looks like the last one of the agent before is
// told all the same, however soon it does: the new agent is another one.
func TestRestedOfEachAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := shows(t, Options{Cols: 20, Rows: 2, Rest: 100 * time.Millisecond})
		var told []string
		h.Rested(func(s adapters.Screen) { told = append(told, strings.Join(s.Lines, "|")) })
		f.say(t, "$ ")
		time.Sleep(time.Second)
		f.Close()
		time.Sleep(time.Second)
		next := newFake()
		wait := h.Show(source{next})
		next.say(t, "$ ")
		time.Sleep(time.Second)
		synctest.Wait()
		next.Close()
		wait()
		if want := []string{"$|", "$|"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// TestIdle: when nothing happens nothing runs.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := shows(t, Options{})
		calls := 0
		h.Rested(func(adapters.Screen) { calls++ })
		at := next(t, h, -1, 0).At
		go func() {
			for {
				c, err := h.Read(t.Context(), at, 0)
				if err != nil {
					return
				}
				at = c.At
			}
		}()
		for range 3 {
			f.say(t, strings.Repeat("some output\r\n", 1000))
			time.Sleep(time.Second)
			synctest.Wait()
			h.mu.Lock()
			if h.lazy.armed || h.late.armed || h.rest.armed {
				t.Errorf("a second after the output timers run: draw %v, wake %v, rest %v", h.lazy.armed, h.late.armed, h.rest.armed)
			}
			if h.drawn != h.ring.head {
				t.Errorf("%d bytes are not drawn", h.ring.head-h.drawn)
			}
			h.mu.Unlock()
		}
		if calls != 1 {
			t.Errorf("Rested was called %d times, want once: the screen was the same each time", calls)
		}
		h.Close()
	})
}

// TestConsole: the agent's questions are answered here while no person's terminal is
// there to do it.
func TestConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := shows(t, Options{})
		ask := func() string {
			f.say(t, "\x1b[6n")
			time.Sleep(time.Second)
			synctest.Wait()
			return f.read()
		}
		if got := ask(); got != "\x1b[1;1R" {
			t.Errorf("answered %q", got)
		}
		at := next(t, h, -1, 0).At
		if from := h.OnConsole(Beginning); from != Whole {
			t.Errorf("a console that reads from the beginning reads from %d, want a Reset: what is asked there was answered", from)
		}
		for _, after := range []int64{at, -1, Whole} {
			if from := h.OnConsole(after); from != after {
				t.Errorf("a console that reads from %d reads from %d", after, from)
			}
		}
		h.Console(true)
		if got := ask(); got != "\x1b[1;1R" {
			t.Errorf("answered %q though a console is there", got)
		}
		h.OnConsole(next(t, h, at, 0).At)
		h.Console(false)
		if got := ask(); got != "\x1b[1;1R\x1b[1;1R" {
			t.Errorf("answered %q after the console left", got)
		}
		if h.OnConsole(at) == at {
			t.Error("a console that was away is to answer once more what was answered")
		}
		// What is asked just before a console comes, which begins behind it.
		f.say(t, "\x1b[6n")
		for h.head() < at+3*int64(len("\x1b[6n")) {
			runtime.Gosched()
		}
		h.Console(true)
		if got := f.read(); got != strings.Repeat("\x1b[1;1R", 3) {
			t.Errorf("answered %q when a console came", got)
		}
	})
}

// TestConsoleMisses: what a console does not show is answered here when that is known,
// once: it left, or got a Reset.
func TestConsoleMisses(t *testing.T) {
	const question, answer = "\x1b[6n", "\x1b[1;1R"
	for name, c := range map[string]struct {
		does func(h *Hub, before, behind int64)
		want string
	}{
		"shows it":                  {func(h *Hub, _, behind int64) { h.OnConsole(behind) }, ""},
		"shows it and leaves":       {func(h *Hub, _, behind int64) { h.OnConsole(behind); h.Console(false) }, ""},
		"shows it, drawn only then": {func(h *Hub, _, behind int64) { h.OnConsole(behind); h.Snapshot(); h.Console(false) }, ""},
		"leaves":                    {func(h *Hub, before, _ int64) { h.OnConsole(before); h.Console(false) }, answer},
		"leaves twice":              {func(h *Hub, _, _ int64) { h.Console(false); h.Console(true); h.Console(false) }, answer},
		"gets a Reset":              {func(h *Hub, _, behind int64) { h.Snapshot(); h.Missed(behind); h.OnConsole(behind) }, answer},
		"gets a Reset before it":    {func(h *Hub, before, _ int64) { h.Snapshot(); h.Missed(before) }, ""},
		"shows a part": {func(h *Hub, before, _ int64) {
			h.Snapshot()
			h.OnConsole(before + 1 + int64(len(question)))
			h.Console(false)
		}, ""},
		"shows less": {func(h *Hub, before, _ int64) {
			h.Snapshot()
			h.OnConsole(before + int64(len(question)))
			h.Console(false)
		}, answer},
		"claims to have shown for ever": {func(h *Hub, _, _ int64) { h.OnConsole(1 << 62); h.Console(false) }, ""},
		"leaves another agent": {func(h *Hub, _, _ int64) {
			h.Snapshot()
			h.Blank("")
			h.Console(false)
		}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, f := shows(t, Options{})
			h.Console(true)
			f.put(t, h, "hello")
			before := h.head()
			f.put(t, h, "\r"+question+strings.Repeat("\r", 20))
			c.does(h, before, h.head())
			if got := f.read(); got != c.want {
				t.Errorf("%s: answered %q, want %q", name, got, c.want)
			}
			h.Close()
		})
	}
}

// TestConsoleOnceMore: what a console has shown and answered no other one answers again,
// whether it was drawn by then or not.
func TestConsoleOnceMore(t *testing.T) {
	for _, drawn := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, f := shows(t, Options{})
			h.Console(true)
			f.put(t, h, "hello")
			before := h.head()
			f.put(t, h, "\x1b[6n")
			if drawn {
				h.Snapshot()
			}
			behind := h.head()
			for after, want := range map[int64]int64{behind: behind, before: -1, Beginning: Whole, -1: -1} {
				h.OnConsole(behind)
				if from := h.OnConsole(after); from != want {
					t.Errorf("drawn %t: one that has shown up to %d reads from %d, want %d", drawn, after, from, want)
				}
			}
			f.put(t, h, "no question")
			h.OnConsole(h.head())
			if from := h.OnConsole(behind); from != behind {
				t.Errorf("drawn %t: one behind the question gets a Reset", drawn)
			}
			h.Close()
		})
	}
}

// TestConsoleMissesMany: questions that no console shows take little memory.
func TestConsoleMissesMany(t *testing.T) {
	h, f := shows(t, Options{})
	h.Console(true)
	for range 3 * maxAsks {
		f.put(t, h, "\x1b[6n")
		h.Snapshot()
	}
	h.Console(false)
	if n := strings.Count(f.read(), "R"); n != maxAsks {
		t.Errorf("%d questions answered, want the newest %d", n, maxAsks)
	}
}

// TestReadEnds: by the context, and by Close when all was read.
func TestReadEnds(t *testing.T) {
	h, f := shows(t, Options{})
	f.put(t, h, "last words")
	at := next(t, h, -1, 0).At
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	for at < h.head() {
		at = next(t, h, at, 0).At
	}
	if _, err := h.Read(ctx, at, 0); !errors.Is(err, cause) {
		t.Errorf("Read = %v, want the context's cause", err)
	}
	f.put(t, h, "the very last")
	c := next(t, h, at, 3)
	if string(c.Data) != "the" {
		t.Errorf("got %q, want 3 bytes", c.Data)
	}
	h.Close()
	h.Close()
	if c = next(t, h, c.At, 0); string(c.Data) != " very last" {
		t.Errorf("got %q, want what was there before Close", c.Data)
	}
	if _, err := h.Read(t.Context(), c.At, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("Read = %v, want ErrClosed", err)
	}
	if err := h.Input([]byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("Input = %v, want ErrClosed", err)
	}
	h.Resize(10, 10)
	h.Blank("x")
	late := newFake()
	wait := h.Show(source{late})
	late.say(t, "thrown away")
	late.Close()
	wait()
}

func (h *Hub) head() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ring.head
}

// TestWakeLate: in a flood a reader learns of the first piece at once, and of the others
// together, also when no more comes. Little is told at once however often it comes.
func TestWakeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := shows(t, Options{})
		at := next(t, h, -1, 0).At
		reads := func(most time.Duration, bytes int) {
			t.Helper()
			began := time.Now()
			c := next(t, h, at, 0)
			at = c.At
			if took := time.Since(began); len(c.Data) != bytes || took > most || most > 0 && took == 0 {
				t.Errorf("%d bytes after %v, want %d after %v at most", len(c.Data), took, bytes, most)
			}
		}
		say := func(pieces ...string) {
			go func() {
				synctest.Wait() // the reader waits
				for _, p := range pieces {
					f.say(t, p)
				}
			}()
		}
		full := strings.Repeat("x", quickBytes)
		say(full)
		reads(0, len(full))
		say(full, "x", full)
		reads(wakePause, 2*len(full)+1)
		for range 5 {
			time.Sleep(wakePause / 5)
			say("x")
			reads(0, 1)
		}
	})
}

// TestRepaintIsTheScreen: for a viewer who comes at any time, the Reset and the bytes
// behind it make the same screen as all bytes do.
func TestRepaintIsTheScreen(t *testing.T) {
	h, f := shows(t, Options{Cols: 40, Rows: 10})
	r := rand.New(rand.NewPCG(9, 9))
	pieces := []string{"text ", "\r\n", "\x1b[31m", "\x1b[m", "世界", "\x1b[5;5H", "\x1b[J", "\x1b[?1049h", "\x1b[?1049l", "\x1b[2;6r", "\x1b[", "1", "m", "\x1bM", "é", "\xe4\xb8"}
	whole := vt.New(40, 10, 0)
	type viewer struct {
		term *vt.Terminal
		at   int64
	}
	var viewers []*viewer
	taken := h.head() // when all that was written is in the ring
	for i := range 400 {
		piece := pieces[r.IntN(len(pieces))]
		f.say(t, piece)
		_, _ = whole.Write([]byte(piece))
		taken += int64(len(piece))
		if i%20 == 0 {
			cols, rows := 20+r.IntN(40), 5+r.IntN(10)
			for h.head() != taken {
				runtime.Gosched()
			}
			h.Resize(cols, rows)
			whole.Resize(cols, rows)
			taken = h.head()
		}
		if i%10 == 0 {
			viewers = append(viewers, &viewer{vt.New(2, 2, 0), -1})
		}
		for _, v := range viewers {
			if v.at < 0 || v.at < h.head() && r.IntN(3) == 0 {
				c := next(t, h, v.at, 0)
				v.term.Resize(c.Cols, c.Rows)
				_, _ = v.term.Write(c.Data)
				v.at = c.At
			}
		}
	}
	f.Close()
	for i, v := range viewers {
		for running := true; running; {
			c := next(t, h, v.at, 0)
			v.term.Resize(c.Cols, c.Rows)
			_, _ = v.term.Write(c.Data)
			v.at, running = c.At, c.Running
		}
		if got, want := string(v.term.Repaint()), string(whole.Repaint()); got != want {
			t.Errorf("viewer %d sees\n%q, want\n%q", i, v.term.Lines(), whole.Lines())
		}
	}
	if got, want := string(h.Repaint()), string(whole.Repaint()); got != want {
		t.Errorf("the hub has\n%q, want\n%q", got, want)
	}
}

// TestTogether: everything at once, for the race detector.
func TestTogether(t *testing.T) {
	h, f := shows(t, Options{Ring: 8192, Rest: time.Millisecond})
	h.Rested(func(adapters.Screen) {})
	var work sync.WaitGroup
	run := func(do func(i int)) {
		work.Go(func() {
			for i := range 300 {
				do(i)
			}
		})
	}
	run(func(int) { _, _ = f.PipeWriter.Write(bytes.Repeat([]byte("out \x1b[6n"), 100)) })
	run(func(i int) { h.Resize(20+i%7, 10) })
	run(func(int) { _ = h.Input([]byte("in")) })
	run(func(int) { _ = h.InputAt(h.Epoch(), []byte("in")) })
	run(func(int) { h.Snapshot(); h.Repaint(); h.repaint(true) })
	run(func(i int) { h.Console(i%2 == 0); h.OnConsole(h.head()); h.Missed(h.head()) })
	run(func(int) {
		release, progress := h.Hold()
		progress(h.head())
		release()
	})
	for range 3 {
		at := int64(-1)
		run(func(int) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if c, err := h.Read(ctx, at, 100); err == nil {
				at = c.At
			}
		})
	}
	work.Wait()
}
