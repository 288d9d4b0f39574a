package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/relay/wire"
)

// glass is a screen without an agent.
type glass struct {
	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, when something is shown
	shown   string
	typed   string
	refuse  error
	closed  bool
	console []bool
	pause   chan struct{} // Input waits for it, nil for not
}

func newGlass() *glass { return &glass{changed: make(chan struct{})} }

func (g *glass) show(s string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shown += s
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *glass) Read(ctx context.Context, after int64, limit int) (screen.Chunk, error) {
	for {
		g.mu.Lock()
		c := screen.Chunk{Cols: 80, Rows: 24, Running: true}
		switch {
		case g.closed:
			g.mu.Unlock()
			return c, screen.ErrClosed
		case after < 0 || after > int64(len(g.shown)):
			c.Reset, c.Data, c.At = true, []byte(g.shown), int64(len(g.shown))
		default:
			c.Data = []byte(g.shown[after:min(len(g.shown), int(after)+limit)])
			c.At = after + int64(len(c.Data))
		}
		changed := g.changed
		g.mu.Unlock()
		if c.Reset || len(c.Data) > 0 {
			return c, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return c, context.Cause(ctx)
		}
	}
}

func (g *glass) Input(p []byte) error {
	g.mu.Lock()
	pause := g.pause
	g.mu.Unlock()
	if pause != nil {
		<-pause
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse != nil {
		return g.refuse
	}
	g.typed += string(p)
	return nil
}

func (g *glass) Console(attached bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.console = append(g.console, attached)
}

func (g *glass) told() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return fmt.Sprint(g.console)
}

// controlled gives control of e to a caller.
func controlled(e *entry, by wire.Caller, at int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rec.Sum.Control = &wire.Control{ClientType: by.ClientType, TokenID: by.TokenID, Since: at}
	e.moveLocked()
}

var (
	cli   = wire.Caller{TokenID: "local", ClientType: contract.ClientCLI, Scope: wire.ScopeAdmin, Local: true}
	phone = wire.Caller{TokenID: "anna", ClientType: contract.ClientPhone, Scope: wire.ScopeControl}
)

// A call waits for what is shown, for another holder of control, and for its time.
func TestReadScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, g := newEntry(nil, "s"), newGlass()
		controlled(e, cli, 1)
		read := func(after int64, state string, wait time.Duration) (wire.TerminalChunk, time.Duration) {
			t.Helper()
			began := time.Now()
			c, err := e.readScreen(t.Context(), g, cli, wire.TerminalReadParams{After: after, State: state, Max: 100}, wait)
			if err != nil {
				t.Fatal(err)
			}
			return c, time.Since(began)
		}
		g.show("old")
		first, _ := read(-1, "", time.Minute)
		if !first.Reset || string(first.Data) != "old" || !first.Held || first.Cols != 80 || !first.Running {
			t.Fatalf("first = %+v", first)
		}
		if c, took := read(first.At, first.State, 5*time.Second); took != 5*time.Second || len(c.Data) > 0 || c.State != first.State || c.At != first.At || c.Cols != 80 || !c.Running {
			t.Errorf("without news = %+v after %v", c, took)
		}
		time.AfterFunc(time.Second, func() { g.show("new") })
		next, took := read(first.At, first.State, time.Minute)
		if took != time.Second || string(next.Data) != "new" || next.Reset {
			t.Errorf("with news = %+v after %v", next, took)
		}
		time.AfterFunc(time.Second, func() {
			e.mu.Lock()
			e.moveLocked() // an envelope that changes nothing here
			e.mu.Unlock()
		})
		time.AfterFunc(3*time.Second, func() { controlled(e, phone, 2) })
		taken, took := read(next.At, next.State, time.Minute)
		if took < 3*time.Second || took > 4*time.Second || taken.Held || taken.Holder.TokenID != "anna" || taken.State == next.State {
			t.Errorf("control was taken: %+v after %v", taken, took)
		}
		// Who has an old state does not wait for it.
		if c, took := read(next.At, next.State, time.Minute); took > time.Second || c.State != taken.State {
			t.Errorf("with an old state = %+v after %v", c, took)
		}
		if c, took := read(next.At, "what", time.Minute); took > time.Second || c.Cols != 0 || c.Holder.TokenID != "anna" {
			t.Errorf("with a state that is none = %+v after %v", c, took)
		}
		g.mu.Lock()
		g.closed = true
		g.mu.Unlock()
		_, err := e.readScreen(t.Context(), g, cli, wire.TerminalReadParams{}, time.Minute)
		if !errors.Is(err, &wire.Error{Code: wire.CodeOver}) {
			t.Errorf("at the end = %v", err)
		}
	})
}

// Each byte is typed once, however often and in whatever pieces it is sent; one that was
// not typed is not counted.
func TestInputOnce(t *testing.T) {
	g, a := newGlass(), &attachments{}
	send := func(by wire.Caller, name string, offset int64, data, code string) {
		t.Helper()
		at, err := a.of(by, name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = at.input(g, offset, []byte(data))
		if got := wire.AsError(err); err == nil && code != "" || err != nil && string(got.Code) != code {
			t.Errorf("%s %d %q = %v, want %q", name, offset, data, err, code)
		}
	}
	send(cli, "a", 0, "one ", "")
	send(cli, "a", 0, "one ", "")
	send(cli, "a", 2, "e two ", "")
	send(cli, "a", 8, "", "")
	send(cli, "a", 20, "later", "gap")
	send(cli, "a", -1, "x", "gap")
	send(phone, "a", 0, "phone ", "") // the name is another caller's too
	send(phone, "b", 3, "x", "gap")   // nothing is known of it
	g.refuse = screen.ErrNoTerminal
	send(cli, "a", 8, "three", "over")
	g.refuse = errors.New("the agent reads nothing")
	send(cli, "a", 8, "three", "busy")
	g.refuse = nil
	send(cli, "a", 8, "three", "")
	if g.typed != "one two phone three" {
		t.Errorf("typed %q", g.typed)
	}
	if _, err := a.of(cli, strings.Repeat("x", maxAttachmentName+1)); !errors.Is(err, &wire.Error{Code: wire.CodeInvalid}) {
		t.Errorf("a long name = %v", err)
	}
}

// Sent again while it is being typed, it waits and is typed once.
func TestInputAtOnce(t *testing.T) {
	g, a := newGlass(), &attachments{}
	g.pause = make(chan struct{})
	var wg sync.WaitGroup
	for range 10 {
		at, err := a.of(cli, "a")
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if r, err := at.input(g, 0, []byte("once")); err != nil || r.Next != 4 {
				t.Errorf("input = %+v, %v", r, err)
			}
		})
	}
	close(g.pause)
	wg.Wait()
	if g.typed != "once" {
		t.Errorf("typed %q", g.typed)
	}
}

// Attachments are bounded; who waits is not forgotten.
func TestAttachmentsBounded(t *testing.T) {
	a := &attachments{}
	kept, err := a.of(cli, "kept")
	if err != nil {
		t.Fatal(err)
	}
	_, done := a.begin(t.Context(), kept, newGlass(), false)
	defer done()
	for i := range 3 * maxAttachments {
		if _, err := a.of(phone, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := a.of(cli, "kept"); err != nil || again != kept || len(a.all) > maxAttachments {
		t.Errorf("%d are kept, the one that waits %t", len(a.all), again == kept)
	}
}

// The screen knows whether a console is there that answers, and for how long.
func TestConsoleThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := newGlass(), &attachments{}
		defer a.close()
		at, err := a.of(cli, "a")
		if err != nil {
			t.Fatal(err)
		}
		first, done := a.begin(t.Context(), at, g, true)
		_, again := a.begin(t.Context(), at, g, true)
		if first.Err() == nil {
			t.Error("the earlier call still waits")
		}
		done()
		again()
		if g.told() != "[true]" {
			t.Errorf("told %s", g.told())
		}
		time.Sleep(awayTime - time.Second)
		synctest.Wait()
		if g.told() != "[true]" {
			t.Errorf("told %s between two calls", g.told())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if g.told() != "[true false]" {
			t.Errorf("told %s when it is away", g.told())
		}
		_, done = a.begin(t.Context(), at, g, true)
		done()
		_, done = a.begin(t.Context(), at, g, false) // it left, or only mirrors
		done()
		if g.told() != "[true false true false]" {
			t.Errorf("told %s", g.told())
		}
		// The next agent's screen is told too.
		other := newGlass()
		_, done = a.begin(t.Context(), at, other, true)
		done()
		if other.told() != "[true]" {
			t.Errorf("the other was told %s", other.told())
		}
	})
}

// What cannot be is refused with what to do.
func TestTerminalRefusals(t *testing.T) {
	e := newEntry(nil, "k3x9")
	for _, c := range []struct {
		by   wire.Caller
		want string
	}{
		{cli, ""},
		{phone, "control is held by cli local; agenthost control k3x9 takes it"},
		{wire.Caller{TokenID: "local", ClientType: contract.ClientPhone}, "control is held by cli local; agenthost control k3x9 takes it"},
	} {
		controlled(e, cli, 1)
		err := e.mustHold(c.by)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want || !errors.Is(err, &wire.Error{Code: wire.CodeControl})) {
			t.Errorf("mustHold(%+v) = %v, want %q", c.by, err, c.want)
		}
	}
	e = newEntry(nil, "k3x9")
	if err := e.mustHold(wire.Caller{}); err == nil || !strings.HasPrefix(err.Error(), "nobody holds control") {
		t.Errorf("without a holder = %v", err)
	}
	if err := e.mustShow(); !errors.Is(err, &wire.Error{Code: wire.CodeUnsupported}) || !strings.Contains(err.Error(), "agenthost control k3x9 --terminal") {
		t.Errorf("without a screen = %v", err)
	}
}

// The keyboard is for people of this machine, and for who may do everything.
func TestTypingFromAfar(t *testing.T) {
	w := newWorld(t, nil)
	id := w.start("hello").ID
	for _, c := range []struct {
		by   wire.Caller
		want wire.Code
	}{
		{cli, wire.CodeUnsupported}, // the fake has no screen
		{wire.Caller{TokenID: "root", ClientType: contract.ClientPhone, Scope: wire.ScopeAdmin}, wire.CodeUnsupported},
		{phone, wire.CodeForbidden},
		{wire.Caller{TokenID: "local", ClientType: contract.ClientCLI, Scope: wire.ScopeControl}, wire.CodeForbidden},
		{wire.Caller{}, wire.CodeForbidden},
	} {
		_, err := do[wire.TerminalInputResult](w, c.by, wire.TerminalInput, wire.TerminalInputParams{Session: id, Attachment: "a", Data: []byte("x")})
		w.code(err, c.want)
	}
}
