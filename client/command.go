package client

import (
	"context"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/relay/wire"
)

// The commands. An id that is empty is made here, so that a command whose connection
// was lost can be made again and is done once.

// Hosts lists the hosts, and whether they are there.
func (c *Client) Hosts(ctx context.Context) ([]wire.Host, error) {
	var r wire.HostsResult
	err := c.call(ctx, wire.HostsList, nil, &r)
	return r.Hosts, err
}

// Sessions lists sessions, the newest first.
func (c *Client) Sessions(ctx context.Context, p wire.SessionsParams) ([]wire.Session, error) {
	var r wire.SessionsResult
	err := c.call(ctx, wire.SessionsList, p, &r)
	return r.Sessions, err
}

// Session finds the session that ref names: an id, the beginning of one, or "last".
func (c *Client) Session(ctx context.Context, ref string) (wire.Session, error) {
	return c.session(ctx, wire.SessionGet, wire.SessionRef{Session: ref})
}

// session makes a call that answers with a session.
func (c *Client) session(ctx context.Context, method string, params any) (wire.Session, error) {
	var r wire.SessionResult
	err := c.call(ctx, method, params, &r)
	return r.Session, err
}

// sent makes a call that answers with what was written.
func (c *Client) sent(ctx context.Context, method string, params any) (wire.SentResult, error) {
	var r wire.SentResult
	err := c.call(ctx, method, params, &r)
	return r, err
}

// Spawn starts a session.
func (c *Client) Spawn(ctx context.Context, p wire.SpawnParams) (wire.Session, error) {
	p.ID = idOr(p.ID)
	if p.Prompt != nil {
		prompt := *p.Prompt
		prompt.ID = idOr(prompt.ID)
		p.Prompt = &prompt
	}
	return c.session(ctx, wire.SessionSpawn, p)
}

// Send sends a message.
func (c *Client) Send(ctx context.Context, p wire.SendParams) (wire.SentResult, error) {
	p.ID = idOr(p.ID)
	return c.sent(ctx, wire.SessionSend, p)
}

// Abort ends the running turn.
func (c *Client) Abort(ctx context.Context, p wire.AbortParams) (wire.SentResult, error) {
	p.ID = idOr(p.ID)
	return c.sent(ctx, wire.SessionAbort, p)
}

// Decide answers a permission request or a question.
func (c *Client) Decide(ctx context.Context, p wire.DecideParams) (wire.SentResult, error) {
	p.ID = idOr(p.ID)
	return c.sent(ctx, wire.SessionDecide, p)
}

// Asks lists the open permission requests and questions of a session.
func (c *Client) Asks(ctx context.Context, ref string) ([]wire.Ask, error) {
	var r wire.AsksResult
	err := c.call(ctx, wire.SessionAsks, wire.SessionRef{Session: ref}, &r)
	return r.Asks, err
}

// Configure changes model, mode, thinking or sandbox.
func (c *Client) Configure(ctx context.Context, p wire.ConfigureParams) (wire.Session, error) {
	p.ID = idOr(p.ID)
	return c.session(ctx, wire.SessionConfigure, p)
}

// Control takes control of a session.
func (c *Client) Control(ctx context.Context, p wire.ControlParams) (wire.Session, error) {
	p.ID = idOr(p.ID)
	return c.session(ctx, wire.SessionControl, p)
}

// Op runs an operation of the agent: rewind, fork, … It is not made again by itself.
func (c *Client) Op(ctx context.Context, p wire.OpParams) (wire.OpResult, error) {
	var r wire.OpResult
	err := c.call(ctx, wire.SessionOp, p, &r)
	return r, err
}

// Update changes title or archived, by compare and swap. It is not made again by
// itself.
func (c *Client) Update(ctx context.Context, p wire.UpdateParams) (wire.Session, error) {
	return c.session(ctx, wire.SessionUpdate, p)
}

// Resume starts the agent of a stopped session again.
func (c *Client) Resume(ctx context.Context, ref string) (wire.Session, error) {
	return c.session(ctx, wire.SessionResume, wire.SessionRef{Session: ref})
}

// Stop ends a session's agent; the session can be gone on with.
func (c *Client) Stop(ctx context.Context, p wire.StopParams) (wire.Session, error) {
	return c.session(ctx, wire.SessionStop, p)
}

// Remove removes a session and its journal.
func (c *Client) Remove(ctx context.Context, ref string) error {
	return c.call(ctx, wire.SessionRemove, wire.SessionRef{Session: ref}, nil)
}

func idOr(id string) string {
	if id == "" {
		return cuid2.Generate()
	}
	return id
}
