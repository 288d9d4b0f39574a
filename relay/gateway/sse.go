package gateway

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

// sse writes server-sent events. An id is the cursor: the position behind the
// envelope, which Last-Event-ID brings back.
type sse struct {
	format wire.Format

	mu  sync.Mutex // between events and comments
	out *patient
	buf []byte
}

// serveEvents answers with an event stream that write fills until ctx is over.
func (g *Gateway) serveEvents(ctx context.Context, w http.ResponseWriter, out *patient, write func(context.Context, *sse) error) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would keep it back
	w.WriteHeader(http.StatusOK)
	s := &sse{out: out}
	if err := s.comment("agenthost"); err != nil {
		return nil
	}
	beating, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.beat(beating, g.opts.Limits.Heartbeat) })
	err := write(ctx, s)
	stop()
	wg.Wait()
	var e *wire.Error
	switch {
	case err == nil:
	case errors.As(err, &e), !errors.Is(err, context.Canceled):
		// The cause of ctx when the token or the server ended it, or a fault.
		_ = s.event("ended", wire.EndedPush{Error: wire.AsError(err)})
		g.opts.Log.Info("event stream ended", "why", err)
	}
	return nil
}

// beat keeps proxies from taking an idle stream for a dead one.
func (s *sse) beat(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if s.comment("alive") != nil {
			return // the next event fails too
		}
	}
}

func (s *sse) comment(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(append(append(s.buf[:0], ": "...), text...), "\n\n"...)
	return s.send()
}

// event writes one event without a cursor.
func (s *sse) event(name string, v any) error {
	raw, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = appendEvent(s.buf[:0], name, raw, -1)
	return s.send()
}

// send writes what is in buf. The caller holds mu.
func (s *sse) send() error {
	_, err := s.out.Write(s.buf)
	s.out.flush()
	return err
}

// appendEvent appends one event. JSON has no line end within, so data is one line.
func appendEvent(dst []byte, name string, data []byte, id wire.Position) []byte {
	dst = append(append(append(dst, "event: "...), name...), '\n')
	if id >= 0 {
		dst = strconv.AppendInt(append(dst, "id: "...), id, 10)
		dst = append(dst, '\n')
	}
	return append(append(append(dst, "data: "...), data...), "\n\n"...)
}

// lines writes the envelopes as "envelope" or their events as "event". The cursor
// stands on the last event of an envelope, so that one who comes again gets an
// envelope's events together.
func (s *sse) lines(_ context.Context, _, _ wire.Position, entries []entry) error {
	name := "envelope"
	if s.format == wire.FormatEvents {
		name = "event"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = s.buf[:0]
	for _, e := range entries {
		for i, raw := range e.raw {
			id := wire.Position(-1)
			if i == len(e.raw)-1 {
				id = e.next
			}
			s.buf = appendEvent(s.buf, name, oneLine(raw), id)
		}
	}
	if len(s.buf) == 0 {
		return nil
	}
	return s.send()
}

// oneLine is raw on one line: a journal of another hand might have line ends in it.
func oneLine(raw jsontext.Value) []byte {
	for _, c := range raw {
		if c == '\n' || c == '\r' {
			v := raw.Clone()
			if v.Compact(jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)) == nil {
				return v
			}
			return null
		}
	}
	return raw
}

func (s *sse) live(_ context.Context, items []wire.Live, events []jsontext.Value) error {
	return s.event("live", wire.LivePush{Items: items, Events: events})
}

func (s *sse) changed(_ context.Context, session wire.Session, _ wire.Position, events []jsontext.Value) error {
	s.mu.Lock()
	s.buf = s.buf[:0]
	for _, raw := range events {
		s.buf = appendEvent(s.buf, "event", raw, -1)
	}
	err := error(nil)
	if len(s.buf) > 0 {
		err = s.send()
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.event("changed", wire.ChangedPush{Session: session})
}

func (s *sse) reset(_ context.Context, oldest wire.Position) error {
	return s.event("reset", wire.ResetPush{Oldest: oldest})
}

// streamSessions is the list of sessions and what changes in it, as events.
func (g *Gateway) streamSessions(w http.ResponseWriter, r *http.Request, p Principal, params wire.SessionsParams) error {
	leave, err := g.limit.connect(p.Caller)
	if err != nil {
		return err
	}
	defer leave()
	mem := g.budget.connection(p)
	defer mem.close()
	if err := mem.keep(subscriptionCost); err != nil {
		return err
	}
	ctx, done := g.life(r, p)
	defer done()
	list, changes, err := p.Backend.WatchSessions(ctx, params)
	if err != nil {
		return err
	}
	out := newPatient(w, g.opts.Limits.Write)
	return g.serveEvents(ctx, w, out, func(ctx context.Context, s *sse) error {
		if err := s.event("sessions", wire.SessionsResult{Sessions: list}); err != nil {
			return err
		}
		for change, err := range changes {
			if err != nil {
				return err
			}
			if err := s.event("change", change); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	})
}
