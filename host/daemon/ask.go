package daemon

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/policy"
	"github.com/agenthost/agenthost/relay/wire"
)

// decide answers a permission request or a question.
func (d *Daemon) decide(ctx context.Context, caller wire.Caller, p wire.DecideParams) (wire.SentResult, error) {
	id, err := envelopeID(p.ID)
	if err != nil {
		return wire.SentResult{}, err
	}
	if p.TTLMS < 0 || p.TTLMS > maxTTL.Milliseconds() {
		return wire.SentResult{}, wire.Errorf(wire.CodeInvalid, "ttlMs: want 0 to %d, got %d", maxTTL.Milliseconds(), p.TTLMS)
	}
	e, err := d.find(p.Session)
	if err != nil {
		return wire.SentResult{}, err
	}
	e.use()
	sent := wire.SentResult{ID: id, Session: e.id}
	run := e.alive()
	if run == nil {
		return sent, e.noAsk(ctx, nil, id, p.Call)
	}
	err = run.Submit(ctx, host.Input{
		Envelope: user(id, contract.PermissionResponse{
			Call: p.Call, Decision: p.Decision, Message: p.Message, Args: p.Args, Answers: p.Answers,
		}),
		By: byOf(caller), Nonce: p.Nonce, Scope: permission.Scope(p.Scope), TTL: time.Duration(p.TTLMS) * time.Millisecond,
	})
	switch {
	case errors.Is(err, host.ErrNoAsk), errors.Is(err, host.ErrOver), errors.Is(err, permission.ErrUnknown):
		err = e.noAsk(ctx, run, id, p.Call)
	case errors.Is(err, permission.ErrStale):
		err = e.stale(p.Call, err)
	}
	return sent, err
}

// maxTTL is the longest time for which a decision is remembered, other than for
// ever.
const maxTTL = 10 * 365 * 24 * time.Hour

// noAsk is why there is nothing to decide about a call: who was faster, or that
// nobody asked. It is nil when the decision under this id settled it.
func (e *entry) noAsk(ctx context.Context, run *host.Session, id, call string) error {
	if run != nil {
		// What settled it is in the stream, maybe just now.
		_ = e.await(ctx, run.Journal().End())
	}
	e.mu.Lock()
	r, settled := e.rec.Sum.resolved[call]
	_, open := e.rec.Sum.Asks[call]
	e.mu.Unlock()
	switch {
	case settled && r.id == id:
		return nil
	case settled:
		return resolvedError(r.decision, r.by)
	case open:
		return wire.Errorf(wire.CodeBusy, "call %q is asked about in another process, which alone can answer", call)
	}
	return wire.Errorf(wire.CodeNotFound, "nothing is asked about call %q", call)
}

// stale is the error for a decision about an earlier showing, with the ask as it is
// shown now.
func (e *entry) stale(call string, cause error) error {
	w := wire.Errorf(wire.CodeStale, "%s", cause.Error())
	for _, a := range e.d.cfg.Mediator.Pending(e.id) {
		if a.Call == call {
			return w.WithData(e.ask(a))
		}
	}
	return w
}

// asks are the open asks of a session, the oldest first.
func (d *Daemon) asks(_ context.Context, _ wire.Caller, p wire.SessionRef) (wire.AsksResult, error) {
	e, err := d.find(p.Session)
	if err != nil {
		return wire.AsksResult{}, err
	}
	res := wire.AsksResult{Asks: []wire.Ask{}}
	for _, a := range d.cfg.Mediator.Pending(e.id) {
		res.Asks = append(res.Asks, e.ask(a))
	}
	return res, nil
}

// ask is an open ask for those who may answer it.
func (e *entry) ask(a permission.Ask) wire.Ask {
	w := wire.Ask{
		Session: a.Session, Call: a.Call, Nonce: a.Nonce, Opened: a.Opened.UnixMilli(), Why: why(a.Verdict), Request: e.requestOf(a),
	}
	if !a.Deadline.IsZero() {
		w.Deadline = a.Deadline.UnixMilli()
	}
	return w
}

// requestOf is the request as it stands in the stream. The mediator may know of it
// before the summary does.
func (e *entry) requestOf(a permission.Ask) jsontext.Value {
	e.mu.Lock()
	q, known := e.rec.Sum.Asks[a.Call]
	e.mu.Unlock()
	if known && q.ID == a.ID {
		return q.Event
	}
	raw, err := contract.AppendEvent(nil, contract.PermissionRequest{
		Call: a.Call, ToolName: a.Tool, Title: a.Title, Description: a.Description, Args: a.Args, Options: a.Options,
		Patterns: a.Patterns, Always: a.Always, Question: a.Question,
	})
	if err != nil {
		return jsontext.Value("null")
	}
	return raw
}

// why says in a line what left it to people.
func why(v policy.Explanation) string {
	if v.Why != "" {
		return v.Why
	}
	return v.Rule
}
