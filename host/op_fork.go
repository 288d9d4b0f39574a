package host

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"path/filepath"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/journal"
)

// Branch is where a session goes on from that is branched off another one: the
// result of a fork. Configure makes a Config of it.
type Branch struct {
	// Parent is the session that it is branched off, empty for one that is none of
	// ours; Agent the name of its adapter.
	Parent string `json:"parent,omitzero"`
	Agent  string `json:"agent,omitzero"`
	// Origin is that of the last answer that both have, empty when not known.
	Origin string `json:"origin,omitzero"`
	// Fork is the agent's own session that a new process branches off, at ForkAt or
	// at its end.
	Fork   string `json:"fork,omitzero"`
	ForkAt string `json:"forkAt,omitzero"`
	// Resume is the agent's own session of the branch, when it has been made already.
	Resume string `json:"resume,omitzero"`
}

// ReadBranch reads the result of a fork.
func ReadBranch(result jsontext.Value) (Branch, error) {
	var b Branch
	if err := json.Unmarshal(result, &b); err != nil {
		return Branch{}, fmt.Errorf("reading a branch: %w", err)
	}
	if (b.Fork == "") == (b.Resume == "") {
		return Branch{}, fmt.Errorf("reading a branch: want one of fork and resume, got %q and %q", b.Fork, b.Resume)
	}
	return b, nil
}

// Configure makes cfg, which has no ID or that of a new session, the
// configuration of the branch.
func (b Branch) Configure(cfg *Config) {
	o := &cfg.Options
	o.Fork, o.ForkAt, o.Resume, o.Continue = b.Fork, b.ForkAt, b.Resume, false
	cfg.Parent, cfg.Origin = b.Parent, b.Origin
}

// BranchOf is fork for a session that need not run: m is its metadata in
// stateDir, or has no ID when the session is none of ours. point is the envelope
// id of an answer (from behind it), of a message of the user (from before it), or
// an origin; empty is the end.
func BranchOf(stateDir string, m Meta, point string) (Branch, error) {
	b := Branch{Parent: m.ID, Agent: m.Agent, Fork: m.Facts.NativeSession, ForkAt: point, Origin: point}
	if m.Facts.NativeSession == "" {
		return b, fmt.Errorf("session %q: its agent has no conversation yet", m.ID)
	}
	if m.ID == "" {
		return b, nil
	}
	r, err := journal.OpenReader(filepath.Join(SessionDir(stateDir, m.ID), "journal"), nil)
	if err != nil {
		return b, fmt.Errorf("reading the session's journal: %w", err)
	}
	oldest, end, err := r.Bounds()
	if err != nil {
		return b, fmt.Errorf("reading the session's journal: %w", err)
	}
	c, err := readConversation(r.Read(oldest, end), m.Rewinds, m.Origin)
	if err != nil {
		return b, err
	}
	p, err := c.point(opParams{At: point})
	if err != nil {
		return b, err
	}
	if p.At == "" && point != "" {
		return b, fmt.Errorf("before the message %q there is no answer to go on from: start a new session", point)
	}
	b.ForkAt, b.Origin = p.At, p.At
	if point == "" {
		b.ForkAt, b.Origin = m.cutAt(), c.last()
	}
	return b, nil
}

// fork asks the agent for a branch of its conversation.
func (s *Session) fork(raw jsontext.Value, done func(jsontext.Value, error)) {
	p, c, err := s.forkPoint(raw)
	if err == nil {
		raw, err = p.raw()
	}
	if err != nil {
		done(nil, err)
		return
	}
	s.pass(adapters.OpFork, raw, func(o adapters.Outcome) {
		if o.Err != nil {
			done(nil, outcomeError(o))
			return
		}
		r := adapters.ReadFork(o.Result)
		b := Branch{
			Parent: s.cfg.ID, Agent: s.cfg.Adapter.Name(), Fork: r.Fork, ForkAt: r.ForkAt, Resume: r.Branch(), Origin: p.At,
		}
		if b.Origin == "" {
			b.Origin = c.last()
		}
		done(b.raw(p.At))
	}, func(err error) { done(nil, err) })
}

// raw is the branch as a result. One that was to be at a point and is at the end
// is none.
func (b Branch) raw(at string) (jsontext.Value, error) {
	switch {
	case b.Fork == "" && b.Resume == "":
		return nil, fmt.Errorf("fork: the agent did not say how to open the branch")
	case b.Resume != "" && at != "":
		return nil, fmt.Errorf("fork: the agent branched off its end, not the point that was asked for: its session %q is that branch", b.Resume)
	}
	return json.Marshal(b)
}

// forkPoint says where to branch off.
func (s *Session) forkPoint(raw jsontext.Value) (opParams, *conversation, error) {
	p, err := readParams(adapters.OpFork, raw)
	if err != nil {
		return p, nil, err
	}
	end := p.To == "" && p.At == ""
	if end && s.busy() {
		return p, nil, fmt.Errorf("fork: %w, or name a point with \"to\" or \"at\"", ErrBusy)
	}
	c, err := s.conversation()
	if err != nil {
		return p, nil, err
	}
	if p, err = c.point(p); err != nil {
		return p, nil, fmt.Errorf("fork: %w", err)
	}
	if end {
		p.At = s.meta.cutAt()
	}
	return p, c, nil
}
