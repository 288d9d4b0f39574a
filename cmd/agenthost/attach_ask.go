package main

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/prompt"
	"github.com/agenthost/agenthost/relay/wire"
)

// remoteAsks shows the asks of a session elsewhere at this terminal. A mediator
// without rules holds those that are open, so that the terminal's prompt works as
// in a run; it decides nothing: what a person answers goes to the session's own.
type remoteAsks struct {
	link  *link
	shown *permission.Mediator

	mu   sync.Mutex
	open map[string]wire.Ask // guarded by mu; by the id under which it is shown
}

var _ prompt.Mediator = (*remoteAsks)(nil)

func newRemoteAsks(l *link) *remoteAsks {
	return &remoteAsks{link: l, shown: permission.New(permission.Options{}), open: map[string]wire.Ask{}}
}

func (r *remoteAsks) close() { r.shown.Close() }

// run asks at the terminal until ctx ends.
func (r *remoteAsks) run(ctx context.Context, st *streams, k *keyboard) {
	p := &prompt.Prompt{In: k.asks, Out: st.err, Color: os.Getenv("NO_COLOR") == ""}
	_ = p.Run(ctx, r, "") // ends with ctx, the mediator, or the input: asks stay open then
}

// offer shows an ask. One that is offered anew, with another nonce, takes the place
// of the former.
func (r *remoteAsks) offer(a wire.Ask) {
	req, err := requestOf(a)
	if err != nil {
		return // a newer peer's: it is for newer viewers
	}
	id := a.Call + " " + a.Nonce
	r.mu.Lock()
	_, known := r.open[id]
	for old, o := range r.open {
		if o.Call == a.Call && old != id {
			delete(r.open, old)
			defer r.shown.Withdraw(old, contract.ByHost)
		}
	}
	r.open[id] = a
	r.mu.Unlock()
	if known {
		return
	}
	err = r.shown.Open(permission.Ask{
		ID: id, Nonce: a.Nonce, Session: a.Session, Call: a.Call, Tool: req.ToolName, Title: req.Title, Description: req.Description,
		Args: req.Args, Options: req.Options, Patterns: req.Patterns, Always: req.Always, Question: req.Question,
		// The other side knows what its agent takes, and says so.
		CanEditArgs: true, CanMessage: true,
	}, func(permission.Answer) {})
	if err != nil {
		r.forget(id)
	}
}

func (r *remoteAsks) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, id)
}

// see takes an ask off the screen that was settled.
func (r *remoteAsks) see(e contract.Envelope) {
	resp, ok := e.Event.(contract.PermissionResponse)
	if !ok {
		return
	}
	r.mu.Lock()
	var gone []string
	for id, a := range r.open {
		if a.Call == resp.Call {
			delete(r.open, id)
			gone = append(gone, id)
		}
	}
	r.mu.Unlock()
	by := contract.ByHost
	if resp.By != nil {
		by = resp.By.Resolver
	}
	for _, id := range gone {
		r.shown.Withdraw(id, by)
	}
}

// Subscribe implements prompt.Mediator.
func (r *remoteAsks) Subscribe(string) *permission.Feed { return r.shown.Subscribe("") }

// Resolve implements prompt.Mediator: it gives the decision to the other side.
func (r *remoteAsks) Resolve(ctx context.Context, id string, resp permission.Response) error {
	r.mu.Lock()
	a, open := r.open[id]
	r.mu.Unlock()
	if !open {
		return permission.ErrUnknown
	}
	_, err := r.link.Decide(ctx, wire.DecideParams{
		Session: a.Session, Call: a.Call, Nonce: a.Nonce, Decision: resp.Decision, Message: resp.Message, Args: resp.Args,
		Answers: resp.Answers, Scope: string(resp.Scope), TTLMS: resp.TTL.Milliseconds(),
	})
	var w *wire.Error
	if !errors.As(err, &w) {
		return err
	}
	switch w.Code {
	case wire.CodeStale:
		var fresh wire.Ask
		if wire.UnmarshalStream(w.Data, &fresh) == nil && fresh.Call != "" {
			r.offer(fresh)
		}
		return permission.ErrStale
	case wire.CodeResolved:
		res := &permission.ErrResolved{ID: id}
		var told wire.Resolved
		if wire.UnmarshalStream(w.Data, &told) == nil {
			res.Decision = contract.Decision(told.Decision)
			_ = wire.UnmarshalStream(told.By, &res.By) // who it was is nice to know
		}
		return res
	case wire.CodeNotFound:
		return permission.ErrUnknown
	}
	return err
}
