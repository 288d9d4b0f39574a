package gatewaytest

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

// terminal is the screen of a session. What was shown is kept whole, or from oldest on.
type terminal struct {
	shown      []byte
	oldest     int
	cols, rows int
	typed      []byte
	next       map[string]int64 // by attachment: how much it typed
	reads      int
	epoch      int  // counts the starts of its host
	crash      bool // the next input is typed, and its host is started again before it answers
}

func (st *state) screen() *terminal {
	if st.term == nil {
		st.term = &terminal{cols: 80, rows: 24, next: map[string]int64{}}
	}
	return st.term
}

// Show lets the agent of a session write to its screen.
func (b *Backend) Show(id, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.must(id).screen()
	t.shown = append(t.shown, text...)
	b.wake()
}

// Forget drops what was shown so far: who has not read it gets a repaint.
func (b *Backend) Forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.must(id).screen()
	t.oldest = len(t.shown)
	b.wake()
}

// Typed is what was typed at the keyboard of a session.
func (b *Backend) Typed(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.must(id).screen().typed)
}

func (t *terminal) restart() {
	clear(t.next)
	t.epoch++
}

// name is the epoch as the wire has it.
func (t *terminal) name() string { return fmt.Sprint("epoch ", t.epoch) }

// Restart forgets what the attachments of a session typed, as a host does that is
// started again.
func (b *Backend) Restart(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.must(id).screen().restart()
}

// Crash lets the host of a session be killed and started again when the next keys were typed
// and it did not say so yet.
func (b *Backend) Crash(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.must(id).screen().crash = true
}

// Size is that of the screen of a session, Reads how often it was asked for.
func (b *Backend) Size(id string) (cols, rows, reads int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.must(id).screen()
	return t.cols, t.rows, t.reads
}

// readTerminal waits as terminal.read does.
func (b *Backend) readTerminal(ctx context.Context, caller wire.Caller, params jsontext.Value) (any, error) {
	var p wire.TerminalReadParams
	if err := wire.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	late := time.NewTimer(time.Duration(min(p.WaitMS, wire.TerminalWaitMS)) * time.Millisecond)
	defer late.Stop()
	for first, waited := true, false; ; first = false {
		b.mu.Lock()
		st, err := b.find(p.Session)
		if err != nil {
			b.mu.Unlock()
			return nil, err
		}
		t := st.screen()
		if first {
			t.reads++
		}
		c := t.chunk(p)
		c.Holder, c.Held = st.meta.Control, st.meta.Control.HeldBy(caller)
		c.Epoch = t.name()
		c.State = fmt.Sprint(c.Cols, c.Rows, c.Held, c.Holder, c.Epoch)
		changed := b.changed
		b.mu.Unlock()
		if len(c.Data) > 0 || c.Reset || c.State != p.State || waited {
			return c, nil
		}
		select {
		case <-changed:
		case <-late.C:
			waited = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (t *terminal) chunk(p wire.TerminalReadParams) wire.TerminalChunk {
	c := wire.TerminalChunk{Cols: t.cols, Rows: t.rows, Running: true}
	after := int(p.After)
	if p.After < int64(t.oldest) || p.After > int64(len(t.shown)) {
		after, c.Reset = t.oldest, true
	}
	limit := p.Max
	if limit <= 0 {
		limit = wire.TerminalReadBytes
	}
	c.Data = t.shown[after:min(len(t.shown), after+limit)]
	c.At = int64(after + len(c.Data))
	return c
}

// mustHold refuses callers that do not hold control.
func (st *state) mustHold(caller wire.Caller) error {
	if st.meta.Control.HeldBy(caller) {
		return nil
	}
	return wire.Errorf(wire.CodeControl, "another one holds control").WithData(wire.HolderInfo{Holder: st.meta.Control})
}

func (b *Backend) typeInto(caller wire.Caller, st *state, p wire.TerminalInputParams) (any, error) {
	if err := st.mustHold(caller); err != nil {
		return nil, err
	}
	t := st.screen()
	next := t.next[p.Attachment]
	if p.Epoch != "" && p.Epoch != t.name() {
		return nil, wire.Errorf(wire.CodeEpoch, "epoch: want %q, got %q", t.name(), p.Epoch).WithData(wire.TerminalInputResult{Epoch: t.name()})
	}
	if p.Offset > next {
		return nil, wire.Errorf(wire.CodeGap, "offset: want at most %d, got %d", next, p.Offset).WithData(wire.TerminalInputResult{Next: next, Epoch: t.name()})
	}
	if done := next - p.Offset; done < int64(len(p.Data)) {
		t.typed = append(t.typed, p.Data[done:]...)
		t.next[p.Attachment] = p.Offset + int64(len(p.Data))
		b.wake()
		if t.crash {
			t.crash = false
			t.restart()
			return nil, wire.Errorf(wire.CodeUnknown, "the host was lost meanwhile")
		}
	}
	return wire.TerminalInputResult{Next: t.next[p.Attachment], Epoch: t.name()}, nil
}

func (b *Backend) resize(caller wire.Caller, st *state, p wire.TerminalResizeParams) (any, error) {
	if err := st.mustHold(caller); err != nil {
		return nil, err
	}
	t := st.screen()
	t.cols, t.rows = p.Cols, p.Rows
	b.wake()
	return nil, nil
}

func (t *terminal) text() wire.TerminalScreen {
	return wire.TerminalScreen{Cols: t.cols, Rows: t.rows, Lines: []string{string(t.shown)}, Running: true}
}
