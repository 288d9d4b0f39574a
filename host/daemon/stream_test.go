package daemon

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// reader reads a stream in the background.
type reader struct {
	w     *world
	items chan gateway.Item
	err   chan error
	next  wire.Position
	// lives and changes are what came between the envelopes.
	lives   []wire.Live
	changes []wire.Session
}

func (w *world) read(id string, from wire.Position) *reader {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	seq, err := w.Stream(ctx, id, from)
	if err != nil {
		w.t.Fatal(err)
	}
	r := &reader{w: w, items: make(chan gateway.Item, 1000), err: make(chan error, 1), next: from}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(r.items)
		r.pump(seq)
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	return r
}

func (r *reader) pump(seq iter.Seq2[gateway.Item, error]) {
	for it, err := range seq {
		if err != nil {
			r.err <- err
			return
		}
		r.items <- it
	}
}

// want reads the next envelopes: these, in order, each at the next position.
func (r *reader) want(words ...string) {
	r.w.t.Helper()
	for _, want := range words {
		it := r.line()
		e, err := contract.Decode(it.Line)
		if err != nil {
			r.w.t.Fatal(err)
		}
		if got := word(e); got != want || it.Position != r.next {
			r.w.t.Fatalf("the stream gave %q at %d, want %q at %d", got, it.Position, want, r.next)
		}
		r.next++
	}
}

// line is the next envelope.
func (r *reader) line() gateway.Item {
	r.w.t.Helper()
	for {
		it, ok := r.item()
		if !ok {
			r.w.t.Fatal("the stream ended")
		}
		switch {
		case it.Line != nil:
			return it
		case it.Live != nil:
			r.lives = append(r.lives, *it.Live)
		case it.Changed != nil:
			r.changes = append(r.changes, *it.Changed)
		}
	}
}

func (r *reader) item() (gateway.Item, bool) {
	r.w.t.Helper()
	select {
	case it, ok := <-r.items:
		return it, ok
	case err := <-r.err:
		r.w.t.Fatal(err)
	case <-time.After(10 * time.Second):
		r.w.t.Fatal("the stream gives nothing")
	}
	return gateway.Item{}, false
}

// ask is the next ask that is offered.
func (r *reader) ask() wire.Ask {
	r.w.t.Helper()
	for {
		for i, l := range r.lives {
			if l.Ask != nil {
				r.lives = r.lives[i+1:]
				return *l.Ask
			}
		}
		it, ok := r.item()
		if !ok {
			r.w.t.Fatal("the stream ended")
		}
		if it.Live != nil {
			r.lives = append(r.lives, *it.Live)
		}
	}
}

// TestStream: a reader sees all of a session, through stops and starts, until it is
// removed.
func TestStream(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	early := w.read(s.ID, 0)
	early.want("user:one", "turn-start", "agent:one", "turn-end:completed")
	late := w.read(s.ID, 2)
	late.want("agent:one", "turn-end:completed")
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID})
	stopped := w.read(s.ID, wire.FromEnd)
	stopped.next = 4
	w.send(s.ID, "two")
	for _, r := range []*reader{early, late, stopped} {
		r.want("user:two", "turn-start", "agent:two", "turn-end:completed")
	}
	must[removed](w, wire.SessionRemove, wire.SessionRef{Session: s.ID})
	for _, r := range []*reader{early, late, stopped} {
		for ok := true; ok; {
			_, ok = r.item()
		}
	}
	if len(early.changes) == 0 {
		t.Error("no change of the metadata came")
	}
	for _, p := range []wire.Position{-2, 1} {
		_, err := w.Stream(t.Context(), w.start("").ID, p)
		w.code(err, wire.CodeInvalid)
	}
	_, err := w.Stream(t.Context(), s.ID, 0)
	w.code(err, wire.CodeNotFound)
}

// TestDeltas: who watches sees text as it is made.
func TestDeltas(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("")
	r := w.read(s.ID, 0)
	w.send(s.ID, "first")
	r.want("user:first", "turn-start", "agent:first", "turn-end:completed") // it watches now
	r.lives = nil
	w.send(s.ID, "word")
	r.want("user:word", "turn-start", "agent:word")
	if len(r.lives) != 1 || r.lives[0].Delta == nil || r.lives[0].Delta.Text != "word" || r.lives[0].Delta.At != 6 {
		t.Errorf("the deltas are %+v", r.lives)
	}
}

// TestDecide: an ask is offered to all, with its nonce, again to who comes later;
// the first decision counts, once.
func TestDecide(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("ask c1")
	r := w.read(s.ID, 0)
	r.want("user:ask c1", "turn-start", "tool-call-start", "permission-request")
	ask := r.ask()
	if ask.Call != "c1" || ask.Nonce == "" || ask.Session != s.ID || len(ask.Request) < 20 {
		t.Fatalf("the ask is %+v", ask)
	}
	if again := w.read(s.ID, wire.FromEnd).ask(); again.Nonce != ask.Nonce {
		t.Errorf("who comes later is offered %+v", again)
	}
	if list := must[wire.AsksResult](w, wire.SessionAsks, wire.SessionRef{Session: s.ID}); len(list.Asks) != 1 || list.Asks[0].Nonce != ask.Nonce {
		t.Errorf("the open asks are %+v", list)
	}
	decide := func(c wire.Caller, p wire.DecideParams) error {
		p.Session, p.Call = s.ID, "c1"
		_, err := do[wire.SentResult](w, c, wire.SessionDecide, p)
		return err
	}
	err := decide(here, wire.DecideParams{Nonce: "old", Decision: contract.AllowOnce})
	w.code(err, wire.CodeStale)
	var fresh wire.Ask
	if wire.UnmarshalStream(wire.AsError(err).Data, &fresh) != nil || fresh.Nonce != ask.Nonce {
		t.Errorf("a stale decision is told %s, want the ask", wire.AsError(err).Data)
	}
	w.code(decide(here, wire.DecideParams{Decision: "maybe"}), wire.CodeInvalid)
	w.code(decide(here, wire.DecideParams{Decision: contract.AllowOnce, Scope: "galaxy"}), wire.CodeInvalid)
	w.code(decide(here, wire.DecideParams{Decision: contract.AllowOnce, TTLMS: -1}), wire.CodeInvalid)
	w.code(decide(wire.Caller{Scope: wire.ScopeView}, wire.DecideParams{Decision: contract.AllowOnce}), wire.CodeForbidden)

	phone := wire.Caller{Scope: wire.ScopeControl, ClientType: contract.ClientPhone, TokenID: "p1"}
	first := wire.DecideParams{ID: cuid2.Generate(), Nonce: ask.Nonce, Decision: contract.AllowOnce}
	for range 2 {
		if err := decide(phone, first); err != nil {
			t.Errorf("decide = %v", err)
		}
	}
	err = decide(here, wire.DecideParams{Decision: contract.RejectOnce})
	w.code(err, wire.CodeResolved)
	var won wire.Resolved
	if wire.UnmarshalStream(wire.AsError(err).Data, &won) != nil || won.Decision != string(contract.AllowOnce) {
		t.Errorf("who comes late is told %s", wire.AsError(err).Data)
	}
	r.want("answer:allow-once", "agent:decided allow-once")
}

// TestSlow: a reader that does not read holds up nobody.
func TestSlow(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	w.until(s.ID, idle)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seq, err := w.Stream(ctx, s.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	next, stop := iter.Pull2(seq)
	defer stop()
	if _, _, ok := next(); !ok {
		t.Fatal("the stream gave nothing")
	}
	for range 50 {
		w.send(s.ID, "more")
	}
	w.until(s.ID, func(s wire.Session) bool { return s.Usage.InputTokens == 510 })
	var at wire.Position
	for at < 51*4-1 {
		it, err, ok := next()
		if err != nil || !ok {
			t.Fatalf("the stream ended at %d: %v", at, err)
		}
		if it.Line != nil {
			if it.Position != at+1 {
				t.Fatalf("position %d came after %d", it.Position, at)
			}
			at = it.Position
		}
	}
}
