//go:build linux

package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/internal/leaktest"
)

// TestMain plays the child of job control tests, and checks in the end that no goroutine
// is left.
func TestMain(m *testing.M) {
	if play := os.Getenv("AGENTHOST_CONSOLE_CHILD"); play != "" {
		os.Exit(child(play))
	}
	leaktest.Main(m, "agenthost/internal/console.")
}

// The bytes of the agent reach the terminal as they are, and those of the person the
// agent.
func TestPasses(t *testing.T) {
	p, a := newPerson(t, 80, 24), newAgent(80, 24)
	u := p.runs(a, Options{})
	want := "\x1b[?2004h\x1b[31mhällo\x1b[m\r\n\x00\xff\x1b]0;t\x07"
	a.show(want)
	p.got("\x1b]0;t\x07")
	if got := p.written(); got != want {
		t.Errorf("written %q, want %q", got, want)
	}
	keys := "ls -l\r\x1b[A\x03\x1b[200~pasted\x1d\x1b[201~\x7f"
	p.press(keys)
	a.until(t, "the keys", func() bool { return len(a.typed) >= len(keys) })
	if string(a.typed) != keys || !a.answers {
		t.Errorf("typed %q, want %q; answers %t", a.typed, keys, a.answers)
	}
	p.press("last\x1dd")
	u.ends(Detached)
	if !strings.HasSuffix(string(a.typed), "last") {
		t.Errorf("what was typed before leaving is %q", a.typed)
	}
	p.inOrder()
}

// Whatever way it ends, the terminal is as it was.
func TestInOrder(t *testing.T) {
	const wild = "\x1b[?1049h\x1b[?1000;1006;2004h\x1b[>1u\x1b[?25l\x1b[5;10r\x1b[31mX\x1b]0;half"
	crash := errors.New("the connection is lost for good")
	for name, c := range map[string]struct {
		end  func(p *person, a *agent, u *using)
		want End
		err  error
	}{
		"detached":            {end: func(p *person, _ *agent, _ *using) { p.press("\x1dd") }, want: Detached},
		"quit":                {end: func(p *person, _ *agent, _ *using) { p.press("\x1dq"); p.seesText("once more"); p.press("\x1dq") }, want: Quit},
		"the session is over": {end: func(_ *person, a *agent, _ *using) { a.end(io.EOF) }, want: Over},
		"the connection":      {end: func(_ *person, a *agent, _ *using) { a.end(crash) }, err: crash},
		"cancelled":           {end: func(_ *person, _ *agent, u *using) { u.cancel(crash) }, err: crash},
		"in the mirror":       {end: func(p *person, a *agent, _ *using) { a.take("phone"); p.seesText("phone holds"); p.press("\x1dd") }, want: Detached},
	} {
		t.Run(name, func(t *testing.T) {
			p, a := newPerson(t, 80, 24), newAgent(80, 24)
			u := p.runs(a, Options{})
			a.show(wild)
			p.got("half")
			c.end(p, a, u)
			<-u.done
			if u.end != c.want || !errors.Is(u.err, c.err) {
				t.Errorf("Run = %d, %v; want %d, %v", u.end, u.err, c.want, c.err)
			}
			p.got("\x1b[<1u") // in either way to restore it
			p.inOrder()
			if a.answers {
				t.Error("nobody answers what the agent asks of its terminal")
			}
		})
	}
}

// A terminal that is closed ends it.
func TestHangUp(t *testing.T) {
	p, a := newPerson(t, 80, 24), newAgent(80, 24)
	u := p.runs(a, Options{})
	a.show("ready")
	p.seesText("ready")
	_ = p.master.Close()
	u.ends(HungUp)
	if a.answers {
		t.Error("nobody answers what the agent asks of its terminal")
	}
}

// What was printed below the agent's screen stands there, not in the middle of it.
func TestBelow(t *testing.T) {
	p, a := newPerson(t, 40, 5), newAgent(40, 5)
	u := p.runs(a, Options{})
	a.show("one\r\ntwo\r\n> box\x1b[2A")
	p.seesText("box")
	p.press("\x1dd")
	u.ends(Detached)
	if _, err := io.WriteString(p.tty, "$ "); err != nil {
		t.Fatal(err)
	}
	p.sees("the prompt at the bottom", func(s string) bool { return strings.HasSuffix(s, "\n$") && strings.Contains(s, "> box") })
}

// While another one holds control the keyboard is locked, visibly, and the screen goes on;
// a key takes it back, and all is drawn as it is.
func TestLocked(t *testing.T) {
	p, a := newPerson(t, 80, 10), newAgent(80, 10)
	p.runs(a, Options{})
	a.show("hello\r\nworld\r\n")
	p.seesText("world")
	a.take("phone (Anna)")
	p.seesText("phone (Anna) holds control - ctrl-] t takes it, ctrl-] d leaves")
	p.press("rm -rf\r")
	a.show("more")
	p.sees("the screen and the line", func(s string) bool {
		return strings.HasPrefix(s, "hello\nworld\nmore") && strings.Contains(s, "holds control")
	})
	a.until(t, "the host answers", func() bool { return !a.answers })
	p.press("\x1dt")
	p.sees("the screen as it is", func(s string) bool { return s == "hello\nworld\nmore" })
	a.until(t, "the terminal answers", func() bool { return a.answers && a.held })
	p.press("x")
	a.until(t, "the key", func() bool { return len(a.typed) > 0 })
	if string(a.typed) != "x" {
		t.Errorf("typed %q, want %q: what was typed while locked is not typed", a.typed, "x")
	}
}

// TestNotTyped: who holds control and may not type is told at each key.
func TestNotTyped(t *testing.T) {
	p, a := newPerson(t, 80, 10), newAgent(80, 10)
	p.runs(a, Options{})
	a.show("hello\r\n")
	p.seesText("hello")
	a.do(func() { a.refuses = &NotTypedError{Why: "a token of the scope admin is wanted"} })
	p.press("x")
	p.seesText("a token of the scope admin is wanted")
	a.do(func() { a.refuses = nil })
	p.press("y")
	a.until(t, "the key", func() bool { return string(a.typed) == "y" })
}

// A key ends the hint that stood when it was typed, and not the one that says that it did
// not go.
func TestKeyAndItsHint(t *testing.T) {
	for _, stood := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := &console{events: make(chan byte, 1)}
			c.out = newOutbox(c)
			c.held.Store(true)
			c.notice.Store(stood)
			c.out.typed = make([]byte, MaxTyped)
			done := make(chan struct{})
			go func() { defer close(done); c.typedKeys(t.Context(), []byte("x")) }()
			synctest.Wait() // there is no room for it
			if got := len(c.events) == 1; got != stood {
				t.Errorf("a hint stood: %t, it is ended before the key goes: %t", stood, got)
			}
			c.notice.Store(true) // it did not go
			c.out.drop()
			<-done
			if got := len(c.events) == 1; got != stood {
				t.Errorf("a hint stood: %t, one is ended when the key has gone: %t", stood, got)
			}
		})
	}
}

// TestAnotherAgent: what waits to be typed is meant for the agent that was seen, and goes to
// no other one; the person is told.
func TestAnotherAgent(t *testing.T) {
	c := &console{told: make(chan string, 1)}
	c.out = newOutbox(c)
	waits := func() string {
		c.out.mu.Lock()
		defer c.out.mu.Unlock()
		return string(c.out.typed)
	}
	c.meet("first")
	c.out.add(t.Context(), []byte("y\r"))
	c.meet("first")
	c.meet("") // not known
	if waits() != "y\r" || len(c.told) > 0 {
		t.Errorf("%q waits for the same agent, want all; %d hints", waits(), len(c.told))
	}
	c.meet("second")
	if waits() != "" || len(c.told) != 1 {
		t.Errorf("%q waits for another agent, want nothing; %d hints, want 1", waits(), len(c.told))
	}
	c.meet("third")
	if len(c.told) != 1 {
		t.Error("a hint though nothing was dropped")
	}
}

// Control that cannot be taken says why.
func TestTakeRefused(t *testing.T) {
	p, a := newPerson(t, 100, 10), newAgent(100, 10)
	a.takes = errors.New("the token's scope is view: want control")
	a.take("phone")
	p.runs(a, Options{From: -1})
	p.seesText("phone holds control")
	p.press("\x1dt")
	p.seesText("could not be taken: the token's scope is view")
}

// A screen of another size is shown in part, or with room beside it, and whoever types
// gives it the size of his terminal.
func TestSizes(t *testing.T) {
	for _, c := range []struct{ cols, rows int }{{100, 30}, {40, 5}} {
		t.Run(fmt.Sprintf("%dx%d", c.cols, c.rows), func(t *testing.T) {
			p, a := newPerson(t, 60, 10), newAgent(c.cols, c.rows)
			a.take("browser")
			var lines []string
			for i := range c.rows {
				lines = append(lines, fmt.Sprintf("line %d", i))
			}
			a.show(strings.Join(lines, "\r\n"))
			p.runs(a, Options{From: -1})
			// The cursor is in the last line, so that is seen.
			last := fmt.Sprintf("line %d", c.rows-1)
			p.sees("its last line", func(s string) bool {
				return strings.Contains(s, last) && strings.Contains(s, "browser holds control") && len(strings.Split(s, "\n")) <= 10
			})
			if cols, rows := a.cols, a.rows; cols != c.cols || rows != c.rows {
				t.Errorf("the screen became %dx%d: it is the holder's", cols, rows)
			}
			a.take("")
			p.seesText(fmt.Sprintf("the screen has %dx%d", c.cols, c.rows)) // another terminal took control
			p.press("k")
			a.until(t, "the person's size", func() bool { return a.cols == 60 && a.rows == 10 })
			p.sees("no line at the bottom", func(s string) bool { return !strings.Contains(s, "the screen has") && s != "" })
			// Another terminal of the same person makes it another size.
			a.do(func() { a.cols, a.rows = c.cols, c.rows })
			p.seesText(fmt.Sprintf("the screen has %dx%d", c.cols, c.rows))
			p.press("k")
			a.until(t, "the person's size again", func() bool { return a.cols == 60 && a.rows == 10 && string(a.typed) == "kk" })
			p.sees("no line at the bottom", func(s string) bool { return !strings.Contains(s, "the screen has") && s != "" })
		})
	}
}

// The size of the terminal is that of the screen, also when it has none.
func TestResize(t *testing.T) {
	p, a := newPerson(t, 0, 0), newAgent(10, 10)
	p.runs(a, Options{})
	a.until(t, "some size", func() bool { return a.cols == someCols && a.rows == someRows })
	for _, size := range [][2]int{{100, 40}, {20, 5}, {1, 1}} {
		p.size(size[0], size[1])
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			t.Fatal(err)
		}
		a.until(t, "the new size", func() bool { return a.cols == size[0] && a.rows == size[1] })
	}
}

// Who only watches changes nothing.
func TestWatch(t *testing.T) {
	p, a := newPerson(t, 80, 24), newAgent(30, 10)
	u := p.runs(a, Options{From: -1, Watch: true})
	a.show("hello")
	p.seesText("hello")
	p.seesText("watching - ctrl-] d leaves")
	p.press("x\x1dt")
	p.seesText("without --watch")
	p.press("\x1dd")
	u.ends(Detached)
	if len(a.typed) > 0 || a.sizes > 0 || a.cols != 30 {
		t.Errorf("typed %q, sized %d times", a.typed, a.sizes)
	}
}

// A session that nobody else keeps is not left by a slip.
func TestAlone(t *testing.T) {
	p, a := newPerson(t, 100, 24), newAgent(100, 24)
	u := p.runs(a, Options{Alone: true})
	a.show("hello")
	p.seesText("hello")
	p.press("\x1dd")
	p.seesText("no daemon keeps this session")
	p.press("x") // takes the hint away, and is typed
	p.sees("the screen alone", func(s string) bool { return s == "hello" })
	a.until(t, "the key", func() bool { return string(a.typed) == "x" })
	p.press("\x1dq\x1dq")
	u.ends(Quit)
}

func TestHelp(t *testing.T) {
	p, a := newPerson(t, 100, 24), newAgent(100, 24)
	p.runs(a, Options{Escape: 1})
	a.show("hello")
	p.press("\x01?")
	p.seesText("ctrl-a and then: d leaves, z stops this program, q ends the session, ctrl-a is itself")
	p.press("\x01\x01")
	a.until(t, "the key itself", func() bool { return string(a.typed) == "\x01" })
}

// A connection that is lost says so, and what comes then is shown whole.
func TestLost(t *testing.T) {
	p, a := newPerson(t, 80, 24), newAgent(80, 24)
	p.runs(a, Options{})
	a.show("hello")
	p.seesText("hello")
	a.do(func() { a.lost = "the connection is lost, trying again" })
	p.seesText("the connection is lost, trying again - ctrl-] d leaves")
	a.do(func() { a.lost = ""; a.shown = append(a.shown, " again"...) })
	p.sees("the screen", func(s string) bool { return s == "hello again" })
}

// What is typed while the connection is lost, or waited to be typed then, is not typed when
// it comes back: another dialog may be open.
func TestLostKeys(t *testing.T) {
	p, a := newPerson(t, 80, 24), newAgent(80, 24)
	p.runs(a, Options{})
	a.show("hello")
	p.seesText("hello")
	p.press("a")
	a.until(t, "a key", func() bool { return string(a.typed) == "a" })
	stuck := make(chan struct{})
	a.do(func() { a.stuck = stuck })
	p.press("b") // is on its way, or waits for it
	a.do(func() { a.lost = "the connection is lost, trying again" })
	p.seesText("the connection is lost, trying again")
	p.press("y\r\x1d?")
	p.seesText("ctrl-] and then: d leaves, z stops this program")
	a.do(func() { a.lost = ""; a.stuck = nil; a.shown = append(a.shown, " again"...) })
	close(stuck)
	p.sees("the screen", func(s string) bool { return s == "hello again" })
	p.press("z")
	a.until(t, "the next key", func() bool { return strings.HasSuffix(string(a.typed), "z") })
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := string(a.typed); got != "az" && got != "abz" {
		t.Errorf("typed %q, want what was typed while the screen could be seen", got)
	}
}

// Attached again, the screen is the same, and what was on the terminal can be scrolled to.
func TestAttach(t *testing.T) {
	p, a := newPerson(t, 40, 6), newAgent(40, 6)
	if _, err := io.WriteString(p.tty, "$ make\r\nok\r\n"); err != nil {
		t.Fatal(err)
	}
	p.seesText("ok")
	a.show("\x1b[1;1Hone\x1b[2;1Htwo")
	for range 100 {
		u := p.runs(a, Options{From: -1})
		p.sees("the agent's screen", func(s string) bool { return s == "one\ntwo" })
		p.press("\x1dd")
		u.ends(Detached)
		p.inOrder()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	above := string(p.em.Scrollback())
	if !strings.HasPrefix(above, "$ make\r\nok\r\n") {
		t.Errorf("above the screen is %q", above)
	}
}

// What left the screen before is wanted once, for the scrollback of the terminal: not by
// the mirror, nor again when it is drawn anew.
func TestAttachWhole(t *testing.T) {
	for name, holder := range map[string]string{"at once": "", "after another": "phone"} {
		t.Run(name, func(t *testing.T) {
			p, a := newPerson(t, 60, 6), newAgent(60, 6)
			a.take(holder)
			a.show("hello")
			p.runs(a, Options{From: -2})
			if holder != "" {
				p.seesText("phone holds control")
				a.take("")
			}
			p.sees("the screen", func(s string) bool { return s == "hello" })
			a.until(t, "the whole", func() bool { return len(a.resets) > 0 && a.resets[len(a.resets)-1] == -2 })
			a.take("phone")
			p.seesText("phone holds control")
			a.take("")
			p.sees("the screen anew", func(s string) bool { return s == "hello" })
			a.mu.Lock()
			defer a.mu.Unlock()
			wholes := 0
			for _, after := range a.resets[1:] { // the first one may be seen by the mirror
				if after == -2 {
					wholes++
				}
			}
			if want := map[string]int{"": 0, "phone": 1}[holder]; wholes != want || a.resets[len(a.resets)-1] != -1 {
				t.Errorf("repainted from %v, want from -2 once", a.resets)
			}
		})
	}
}

// The memory of a console does not grow with a terminal that takes nothing, and the
// escape key works.
func TestStuckTerminal(t *testing.T) {
	p, a := newPerson(t, 80, 24), newAgent(80, 24)
	u := p.runs(a, Options{})
	a.show("ready")
	p.seesText("ready")
	p.stop()
	a.show(strings.Repeat("x", 8<<20))
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	p.press("\x1dd")
	u.ends(Detached)
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("%d bytes more for a terminal that takes nothing", grown)
	}
	if p.termios() != p.before {
		t.Error("the settings are not as they were")
	}
}

// An agent that takes no keys does not take the escape key away.
func TestStuckAgent(t *testing.T) {
	p, a := newPerson(t, 80, 24), newAgent(80, 24)
	a.stuck = make(chan struct{})
	u := p.runs(a, Options{})
	a.show("ready")
	p.seesText("ready")
	for range 20 {
		p.press(strings.Repeat("y", 1000))
	}
	p.press("\x1dd")
	u.ends(Detached)
	p.inOrder()
}

// Any bytes of a terminal do no harm, in either way to show.
func TestGarbage(t *testing.T) {
	p, a := newPerson(t, 40, 10), newAgent(40, 10)
	u := p.runs(a, Options{})
	a.show("ready")
	p.seesText("ready")
	var junk []byte
	for i := range 4096 {
		if b := byte(i * 7); b != DefaultEscape {
			junk = append(junk, b)
		}
	}
	p.press(string(junk))
	a.until(t, "the junk", func() bool { return len(a.typed) == len(junk) })
	a.take("phone")
	p.seesText("phone holds")
	p.press(string(junk))
	a.show(string(junk))
	p.press("\x1b\\\x18\x1dd")
	u.ends(Detached)
	p.inOrder()
}
