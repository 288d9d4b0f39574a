package gateway

import (
	"context"
	"encoding/json/jsontext"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

// The forms in which a stream can be had.
const (
	jsonPage = iota
	eventStream
	jsonLines
)

// accepts is the form that a request asks for. Who takes anything gets a page.
func accepts(r *http.Request) int {
	for _, line := range r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(line, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "text/event-stream":
				return eventStream
			case "application/x-ndjson", "application/jsonl":
				return jsonLines
			}
		}
	}
	return jsonPage
}

func (g *Gateway) getEnvelopes(w http.ResponseWriter, r *http.Request, p Principal) error {
	return g.serveStream(w, r, p, wire.FormatEnvelopes)
}

func (g *Gateway) getEvents(w http.ResponseWriter, r *http.Request, p Principal) error {
	return g.serveStream(w, r, p, wire.FormatEvents)
}

// query is what a stream's URL asks for.
type query struct {
	params wire.SubscribeParams
	limit  int
	follow bool
}

func readQuery(r *http.Request, format wire.Format) (q query, err error) {
	values := r.URL.Query()
	q = query{params: wire.SubscribeParams{Session: r.PathValue("session"), Format: format, Profile: values.Get("profile")}, limit: 100}
	from := values.Get("from")
	if last := r.Header.Get("Last-Event-ID"); last != "" && accepts(r) == eventStream {
		from = last // the cursor of one who comes again
	}
	if from != "" {
		if q.params.From, err = strconv.ParseInt(from, 10, 64); err != nil {
			return q, wire.Errorf(wire.CodeInvalid, "from: want a position, got %q", clip(from))
		}
	}
	if v := values.Get("limit"); v != "" {
		if q.limit, err = strconv.Atoi(v); err != nil || q.limit < 1 || q.limit > 1000 {
			return q, wire.Errorf(wire.CodeInvalid, "limit: want 1 to 1000, got %q", clip(v))
		}
	}
	for name, into := range map[string]*bool{"live": &q.params.Live, "follow": &q.follow} {
		switch v := values.Get(name); v {
		case "", "0", "false":
		case "1", "true":
			*into = true
		default:
			return q, wire.Errorf(wire.CodeInvalid, "%s: want true or false, got %q", name, clip(v))
		}
	}
	return q, nil
}

func (g *Gateway) serveStream(w http.ResponseWriter, r *http.Request, p Principal, format wire.Format) error {
	q, err := readQuery(r, format)
	if err != nil {
		return err
	}
	mem := g.budget.connection(p)
	defer mem.close()
	if accepts(r) == jsonPage {
		return g.servePage(w, r, p, mem, q)
	}
	leave, err := g.limit.connect(p.Caller)
	if err != nil {
		return err
	}
	defer leave()
	ctx, done := g.life(r, p)
	defer done()
	f, err := g.open(ctx, mem, p.Backend, q.params)
	if err != nil {
		return err
	}
	defer f.close()
	w.Header().Set("Agenthost-Position", strconv.FormatInt(f.next, 10))
	out := newPatient(w, g.opts.Limits.Write)
	if accepts(r) == jsonLines {
		return g.serveLines(ctx, w, f, out, q.follow)
	}
	return g.serveEvents(ctx, w, out, func(ctx context.Context, s *sse) error {
		s.format = format
		if err := f.run(ctx, s, 0, forever); err != nil {
			return err
		}
		return s.event("ended", wire.EndedPush{Session: f.session.ID})
	})
}

// servePage answers with what there is, up to a limit.
func (g *Gateway) servePage(w http.ResponseWriter, r *http.Request, p Principal, mem *pool, q query) error {
	f, err := g.open(r.Context(), mem, p.Backend, q.params)
	if err != nil {
		return err
	}
	defer f.close()
	page := &page{from: f.next, mem: mem.part()}
	defer page.mem.close()
	stop := f.next + int64(q.limit)
	enough := func() bool {
		return f.next >= min(stop, f.session.End) || page.size >= g.opts.Limits.PageBytes
	}
	if err := f.run(r.Context(), page, g.opts.Limits.Settle, enough); err != nil {
		return err
	}
	if q.params.Format == wire.FormatEvents {
		g.writeJSON(w, http.StatusOK, wire.EventsPage{Position: page.from, Next: f.next, Oldest: f.session.Oldest, End: f.session.End, Events: page.raw})
		return nil
	}
	g.writeJSON(w, http.StatusOK, wire.EnvelopesPage{Position: page.from, Next: f.next, Oldest: f.session.Oldest, End: f.session.End, Envelopes: page.raw})
	return nil
}

// page is a sink that collects.
type page struct {
	from wire.Position
	raw  []jsontext.Value
	size int
	mem  *pool
}

func (p *page) lines(_ context.Context, _, _ wire.Position, entries []entry) error {
	for _, e := range entries {
		for _, raw := range e.raw {
			if err := p.mem.try(copies * len(raw)); err != nil {
				return err
			}
			p.raw = append(p.raw, raw)
			p.size += len(raw)
		}
	}
	return nil
}

// reset is a gap, which Position tells when nothing was collected before it. A gap
// within a page begins the page anew, so that what it has is without one.
func (p *page) reset(_ context.Context, oldest wire.Position) error {
	p.from, p.raw, p.size = oldest, nil, 0
	return nil
}

func (p *page) live(context.Context, []wire.Live, []jsontext.Value) error { return nil }
func (p *page) changed(context.Context, wire.Session, wire.Position, []jsontext.Value) error {
	return nil
}

// serveLines writes envelopes or events as lines: those that are there, and with
// follow those that come.
func (g *Gateway) serveLines(ctx context.Context, w http.ResponseWriter, f *feed, out *patient, follow bool) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	idle, enough := time.Duration(0), forever
	if !follow {
		idle, enough = f.limits.Settle, func() bool { return f.next >= f.session.End }
	}
	out.flush()
	if err := f.run(ctx, &lines{out: out}, idle, enough); err != nil {
		g.opts.Log.Debug("stream ended", "session", f.session.ID, "why", err)
	}
	return nil
}

// lines is a sink of lines. Envelopes that cannot be shown are left out.
type lines struct{ out *patient }

func (l *lines) lines(_ context.Context, _, _ wire.Position, entries []entry) error {
	var buf []byte
	for _, e := range entries {
		for _, raw := range e.raw {
			if string(raw) != "null" {
				buf = append(append(buf, raw...), '\n')
			}
		}
	}
	if len(buf) == 0 {
		return nil
	}
	_, err := l.out.Write(buf)
	l.out.flush()
	return err
}

func (l *lines) reset(context.Context, wire.Position) error                { return nil }
func (l *lines) live(context.Context, []wire.Live, []jsontext.Value) error { return nil }
func (l *lines) changed(context.Context, wire.Session, wire.Position, []jsontext.Value) error {
	return nil
}
