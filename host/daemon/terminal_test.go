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
	epoch   int64
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
		c := screen.Chunk{Cols: 80, Rows: 24, Running: true, Epoch: g.epoch}
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

func (g *glass) Epoch() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.epoch
}

// anew lets another agent be before the screen.
func (g *glass) anew() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.epoch++
}

func (g *glass) InputAt(epoch int64, p []byte) error {
	g.mu.Lock()
	pause := g.pause
	g.mu.Unlock()
	if pause != nil {
		<-pause
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if epoch != g.epoch {
		return screen.ErrEpoch
	}
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

func (g *glass) OnConsole(after int64) int64 { return after }

func (g *glass) Missed(int64) {}

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
		// Another agent's screen is told with its epoch, which stays until the next.
		if taken.Epoch == "" || taken.Epoch != first.Epoch {
			t.Errorf("the epoch was %q, and is %q", first.Epoch, taken.Epoch)
		}
		g.anew()
		g.show("!")
		if c, _ := read(taken.At, taken.State, time.Minute); c.Epoch == taken.Epoch || c.State == taken.State {
			t.Errorf("another agent: %+v", c)
		} else if same, _ := read(c.At, c.State, time.Second); same.Epoch != c.Epoch || same.State != c.State {
			t.Errorf("without news: %+v, want the epoch of %+v", same, c)
		}
		next.At++
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
		_, err := a.input(by, g, wire.TerminalInputParams{Attachment: name, Offset: offset, Data: []byte(data)})
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
		wg.Go(func() {
			if r, err := a.input(cli, g, wire.TerminalInputParams{Attachment: "a", Data: []byte("once")}); err != nil || r.Next != 4 {
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

// Keys are typed at the screen that they are meant for, by a host that knows what of them
// was typed. What another agent, another host or nobody is there for is refused with the
// epoch of now.
func TestInputEpoch(t *testing.T) {
	g, a := newGlass(), &attachments{}
	input := func(a *attachments, epoch string, offset int64, data string) (wire.TerminalInputResult, wire.Code) {
		r, err := a.input(cli, g, wire.TerminalInputParams{Attachment: "a", Epoch: epoch, Offset: offset, Data: []byte(data)})
		if err == nil {
			return r, ""
		}
		refused := wire.AsError(err)
		if err := wire.Unmarshal(refused.Data, &r); err != nil {
			t.Errorf("%v: the data are %s", refused, refused.Data)
		}
		return r, refused.Code
	}
	asked, _ := input(a, "", 0, "")
	for _, c := range []struct {
		what  string
		do    func()
		epoch string
		at    int64
		data  string
		code  wire.Code
		typed string
	}{
		{what: "first keys", epoch: asked.Epoch, data: "one ", typed: "one "},
		{what: "the same again", epoch: asked.Epoch, data: "one ", typed: "one "},
		{what: "the same again after a hand-over", do: g.anew, epoch: asked.Epoch, data: "one ", typed: "one "},
		{what: "keys for the agent before", epoch: asked.Epoch, at: 4, data: "y\r", code: wire.CodeEpoch, typed: "one "},
		{what: "first keys again after a restart of the host", do: func() { a = &attachments{} }, epoch: asked.Epoch, data: "one ", code: wire.CodeEpoch, typed: "one "},
		{what: "an epoch that is none", epoch: ".", data: "x", code: wire.CodeEpoch, typed: "one "},
	} {
		if c.do != nil {
			c.do()
		}
		r, code := input(a, c.epoch, c.at, c.data)
		if code != c.code || g.typed != c.typed || r.Epoch != a.epoch(g.epoch) {
			t.Errorf("%s = %+v, %q, typed %q; want %q, typed %q, epoch %s", c.what, r, code, g.typed, c.code, c.typed, a.epoch(g.epoch))
		}
	}
	next, _ := input(a, "", 0, "")
	if _, code := input(a, next.Epoch, 0, "two"); code != "" || g.typed != "one two" {
		t.Errorf("keys for the epoch of now = %q, typed %q", code, g.typed)
	}
}

// What was typed is known for a while however many come; when it cannot be the epoch is
// another. Who only looks takes nobody's place who typed.
func TestTypedKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := newGlass(), &attachments{}
		first := wire.TerminalInputParams{Attachment: "first", Epoch: a.epoch(0), Data: []byte("once ")}
		again := func() wire.Code {
			if _, err := a.input(cli, g, first); err != nil {
				return wire.AsError(err).Code
			}
			return ""
		}
		again()
		for i := range 2 * maxAttachments {
			if _, err := a.of(phone, fmt.Sprint("looks", i)); err != nil {
				t.Fatal(err)
			}
		}
		if code := again(); code != "" || g.typed != "once " {
			t.Errorf("again, after many who look = %q, typed %q", code, g.typed)
		}
		time.Sleep(time.Second)
		for i := range maxAttachments {
			p := wire.TerminalInputParams{Attachment: fmt.Sprint("types", i), Data: []byte(".")}
			if _, err := a.input(cli, g, p); err != nil {
				t.Fatal(err)
			}
		}
		if code := again(); code != wire.CodeEpoch || strings.Count(g.typed, "once") != 1 {
			t.Errorf("again, after many who type = %q, typed %q", code, g.typed)
		}
		now := a.epoch(0)
		time.Sleep(2 * typedTime)
		for i := range 2 * maxAttachments {
			time.Sleep(time.Second)
			p := wire.TerminalInputParams{Attachment: fmt.Sprint("late", i), Data: []byte(".")}
			if _, err := a.input(cli, g, p); err != nil {
				t.Fatal(err)
			}
		}
		if a.epoch(0) != now {
			t.Error("the epoch changes though those who are forgotten typed long ago")
		}
	})
}

// Calls without a name are not one another's: each waits for itself, and is no console.
func TestReadUnnamed(t *testing.T) {
	g, a := newGlass(), &attachments{}
	var waiting []context.Context
	for range 3 {
		at, err := a.of(cli, "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, done := a.begin(t.Context(), at, g, true, false)
		defer done()
		waiting = append(waiting, ctx)
	}
	for i, ctx := range waiting {
		if ctx.Err() != nil {
			t.Errorf("call %d was ended by a later one", i)
		}
	}
	if strings.Contains(g.told(), "true") || len(a.all) > 0 {
		t.Errorf("told %s, %d are kept", g.told(), len(a.all))
	}
}

// Attachments are bounded; who waits is not forgotten.
func TestAttachmentsBounded(t *testing.T) {
	a := &attachments{}
	kept, err := a.of(cli, "kept")
	if err != nil {
		t.Fatal(err)
	}
	_, done := a.begin(t.Context(), kept, newGlass(), false, false)
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
		first, done := a.begin(t.Context(), at, g, true, false)
		_, again := a.begin(t.Context(), at, g, true, false)
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
		_, done = a.begin(t.Context(), at, g, true, false)
		done()
		_, done = a.begin(t.Context(), at, g, false, false) // it left, or only mirrors
		done()
		if g.told() != "[true false true false]" {
			t.Errorf("told %s", g.told())
		}
		// The next agent's screen is told too.
		other := newGlass()
		_, done = a.begin(t.Context(), at, other, true, false)
		done()
		if other.told() != "[true]" {
			t.Errorf("the other was told %s", other.told())
		}
	})
}

// A console whose connection on this machine ends is gone at once: it was killed. One of
// another machine may be back in a moment. Of several one is enough.
func TestConsoleGone(t *testing.T) {
	for name, c := range map[string]struct {
		near   bool
		others int
		want   string
	}{
		"near":       {true, 0, "[true false]"},
		"far":        {false, 0, "[true]"},
		"of several": {true, 2, "[true]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, a := newGlass(), &attachments{}
			defer a.close()
			for i := range c.others {
				other, err := a.of(cli, fmt.Sprint(i))
				if err != nil {
					t.Fatal(err)
				}
				_, done := a.begin(t.Context(), other, g, true, c.near)
				defer done()
			}
			at, err := a.of(cli, "a")
			if err != nil {
				t.Fatal(err)
			}
			call, lost := context.WithCancel(t.Context())
			_, done := a.begin(call, at, g, true, c.near)
			lost()
			done()
			if g.told() != c.want {
				t.Errorf("%s: told %s, want %s", name, g.told(), c.want)
			}
		})
	}
}

// A session whose agent ended holds nothing of its screen, whoever still lets go of it.
func TestEndedScreenIsFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := newGlass(), &attachments{}
		at, err := a.of(phone, "a")
		if err != nil {
			t.Fatal(err)
		}
		_, done := a.begin(t.Context(), at, g, true, false)
		holds := func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.hub != nil
		}
		a.close()
		if holds() {
			t.Error("the screen is held after the end")
		}
		done()
		time.Sleep(awayTime + time.Second)
		if holds() {
			t.Error("the screen is held after the last console left")
		}
	})
}

// A terminal answers for the agent's only when its person's keys reach the agent.
func TestConsoleAnswers(t *testing.T) {
	stays := wire.TerminalReadParams{Console: true, WaitMS: 1000}
	root := wire.Caller{TokenID: "root", ClientType: contract.ClientBrowser, Scope: wire.ScopeAdmin}
	for _, c := range []struct {
		by, holder wire.Caller
		read       wire.TerminalReadParams
		want       bool
	}{
		{cli, cli, stays, true},
		{root, root, stays, true},
		{phone, phone, stays, false}, // may hold control, and not type
		{cli, phone, stays, false},
		{cli, cli, wire.TerminalReadParams{Console: true}, false}, // it leaves
		{cli, cli, wire.TerminalReadParams{WaitMS: 1000}, false},  // it mirrors
	} {
		holder := &wire.Control{ClientType: c.holder.ClientType, TokenID: c.holder.TokenID}
		if got := answers(c.by, holder, c.read); got != c.want {
			t.Errorf("answers(%+v, %+v, %+v) = %t, want %t", c.by, c.holder, c.read, got, c.want)
		}
	}
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
