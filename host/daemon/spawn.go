package daemon

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/big"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/wire"
)

// spawn starts a session, or gives the one of that id. Its result comes when the
// agent's process runs, or when it was seen that it does not.
func (d *Daemon) spawn(ctx context.Context, caller wire.Caller, p wire.SpawnParams) (wire.SessionResult, error) {
	if p.Host != "" && p.Host != d.host.ID {
		return wire.SessionResult{}, wire.Errorf(wire.CodeNotFound, "no host %q here", p.Host)
	}
	id, err := envelopeID(p.ID)
	if err != nil {
		return wire.SessionResult{}, err
	}
	if err := checkSpawn(caller, p); err != nil {
		return wire.SessionResult{}, err
	}
	branch, err := d.branch(&p)
	if err != nil {
		return wire.SessionResult{}, err
	}
	e, fresh, err := d.begun(ctx, caller, id, p, branch)
	if err != nil {
		return wire.SessionResult{}, err
	}
	if fresh && caller.ClientType != "" {
		ev := contract.SessionControlChanged{ClientType: caller.ClientType, TokenID: caller.TokenID}
		if err := e.write(ctx, user(derivedID("control", id), ev)); err != nil {
			return wire.SessionResult{}, err
		}
	}
	if p.Prompt != nil && (fresh || p.ID != "") {
		if err := d.firstPrompt(ctx, caller, id, *p.Prompt); err != nil {
			return wire.SessionResult{}, err
		}
	}
	return e.seen(ctx), nil
}

func checkSpawn(caller wire.Caller, p wire.SpawnParams) error {
	if p.Agent == "" {
		return wire.Errorf(wire.CodeInvalid, "agent: want the name of an agent, got none")
	}
	if err := absolute("dir", p.Dir); err != nil {
		return err
	}
	for _, dir := range p.Dirs {
		if err := absolute("dirs", dir); err != nil {
			return err
		}
	}
	if p.Resume != "" && p.Fork != "" {
		return wire.Errorf(wire.CodeInvalid, "want one of resume and fork, got both")
	}
	if len(p.Title) > maxTitle {
		return wire.Errorf(wire.CodeTooLarge, "title: want at most %d bytes, got %d", maxTitle, len(p.Title))
	}
	if len(p.Args) > 0 && !caller.Local && caller.Scope != "" {
		return wire.Errorf(wire.CodeForbidden, "args can be given only on the host's own machine")
	}
	if p.Env != nil && !caller.Local {
		return wire.Errorf(wire.CodeForbidden, "env can be given only over the daemon's own socket")
	}
	if err := p.Env.Check(); err != nil {
		return err
	}
	if _, err := faceOf(p.Face); err != nil {
		return err
	}
	if p.Cols < 0 || p.Rows < 0 || p.Cols > wire.TerminalCells || p.Rows > wire.TerminalCells {
		return wire.Errorf(wire.CodeInvalid, "cols and rows: want 0 to %d, got %d and %d", wire.TerminalCells, p.Cols, p.Rows)
	}
	return mayBypass(caller, p.Mode)
}

// branch is what p forks, nil when it forks nothing. A session of ours may be named
// by what find takes; anything else is the agent's own.
func (d *Daemon) branch(p *wire.SpawnParams) (*host.Branch, error) {
	if p.Fork == "" {
		return nil, nil
	}
	var m host.Meta
	e, err := d.find(p.Fork)
	var w *wire.Error
	switch {
	case err == nil:
		e.mu.Lock()
		m = e.meta
		e.mu.Unlock()
	case errors.As(err, &w) && w.Code == wire.CodeNotFound:
		m.Facts.NativeSession = p.Fork
	default:
		return nil, err
	}
	if m.Agent != "" && m.Agent != p.Agent {
		return nil, wire.Errorf(wire.CodeInvalid, "fork: session %s is one of %s, not of %s", m.ID, m.Agent, p.Agent)
	}
	b, err := host.BranchOf(d.cfg.StateDir, m, p.ForkAt)
	if err != nil {
		return nil, wire.Errorf(wire.CodeInvalid, "fork: %v", err)
	}
	return &b, nil
}

// begun gives the session of an id, and starts it when there is none; fresh says
// that it did.
func (d *Daemon) begun(ctx context.Context, caller wire.Caller, id string, p wire.SpawnParams, b *host.Branch) (e *entry, fresh bool, err error) {
	if err := d.scan(); err != nil {
		return nil, false, err
	}
	d.mu.Lock()
	e = d.sessions[id]
	if fresh = e == nil; fresh {
		e = newEntry(d, id)
		d.sessions[id] = e
		<-e.life // nobody else has it yet
	}
	d.mu.Unlock()
	if !fresh {
		// Whoever spawned it first may be at it.
		if err := e.lock(ctx); err != nil {
			return nil, false, err
		}
		e.unlock()
		e.give(p.Env)
		return e, false, nil
	}
	defer e.unlock()
	e.give(p.Env)
	p.ID, p.Prompt, p.Env = id, nil, nil
	e.mu.Lock()
	e.rec.Spawn, e.state = &p, wire.StateStarting
	e.meta.Facts.NativeSession = p.Resume
	e.meta.Face, _ = faceOf(p.Face) // it was checked
	e.mu.Unlock()
	e.publish()
	if _, err := e.start(ctx, caller, want{branch: b}); err != nil {
		e.mu.Lock()
		never := e.meta.ID == ""
		e.mu.Unlock()
		if never {
			e.forget() // nothing of it is on disk
		}
		return nil, false, err
	}
	return e, true, nil
}

// firstPrompt sends the prompt that a session was spawned with. Without an id of its
// own it gets the same one each time, so that a spawn can be sent again.
func (d *Daemon) firstPrompt(ctx context.Context, caller wire.Caller, session string, p wire.SendParams) error {
	p.Session = session
	if p.ID == "" {
		p.ID = derivedID("prompt", session)
	}
	_, err := d.send(ctx, caller, p)
	return err
}

// derivedID is an id that the same words give each time. It looks like a cuid2 and
// is as unlikely to come twice for other words.
func derivedID(words ...string) string {
	h := sha256.New()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	text := new(big.Int).SetBytes(h.Sum(nil)).Text(36)
	for len(text) < 24 {
		text += "0"
	}
	return "d" + text[len(text)-23:]
}

// send gives a message to a session.
func (d *Daemon) send(ctx context.Context, caller wire.Caller, p wire.SendParams) (wire.SentResult, error) {
	id, err := envelopeID(p.ID)
	if err != nil {
		return wire.SentResult{}, err
	}
	for name, a := range map[string]wire.Admission{"admission": p.Admission, "fallback": p.Fallback} {
		if a != "" && a != wire.AdmitQueue && a != wire.AdmitSteer {
			return wire.SentResult{}, wire.Errorf(wire.CodeInvalid, "%s: want queue or steer, got %q", name, a)
		}
	}
	if len(p.Files) > maxFiles {
		return wire.SentResult{}, wire.Errorf(wire.CodeInvalid, "files: want at most %d, got %d", maxFiles, len(p.Files))
	}
	sent := wire.SentResult{ID: id}
	err = d.retry(ctx, caller, p.Session, func(e *entry, run *host.Session) error {
		sent.Session = e.id
		select { // the files of one message are not another one's
		case <-e.sending:
			defer func() { e.sending <- struct{}{} }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return d.submit(ctx, run, id, p)
	})
	return sent, err
}

// maxFiles is how many files may go with one message.
const maxFiles = 32

// submit sends a message with its files. What was taken is not taken again, in the
// middle of it either: the ids of its files follow from its own.
func (d *Daemon) submit(ctx context.Context, run *host.Session, id string, p wire.SendParams) error {
	if took, err := run.Took(ctx, id); err != nil || took {
		return err
	}
	text := contract.Text{Text: p.Text, Steer: p.Admission == wire.AdmitSteer}
	if strings.TrimSpace(p.Text) == "" && len(p.Files) == 0 {
		return host.ErrEmptyPrompt
	}
	in := host.Input{Queue: p.Fallback == wire.AdmitQueue}
	for _, f := range p.Files {
		name, path, err := d.upload(f)
		if err != nil {
			return err
		}
		ev, att, err := run.Attach(f.Ref, name, path)
		if err != nil {
			return err
		}
		text.Refs = append(text.Refs, contract.FileRef{Ref: f.Ref, Name: name})
		files := []adapters.Attachment{att}
		fileID := derivedID("file", id, f.Ref)
		if took, err := run.Took(ctx, fileID); err != nil {
			return err
		} else if took {
			// It is in the stream, but the message was cut off behind it.
			in.Files = append(in.Files, files...)
			continue
		}
		if err := run.Submit(ctx, host.Input{Envelope: user(fileID, ev), Files: files}); err != nil {
			return err
		}
	}
	in.Envelope = user(id, text)
	return run.Submit(ctx, in)
}

// upload finds the file that a message names.
func (d *Daemon) upload(f wire.FileRef) (name, path string, err error) {
	u, path, err := d.files.whole(f.Ref)
	if err != nil {
		return "", "", err
	}
	if f.Name != "" {
		return cleanName(f.Name), path, nil
	}
	return u.Name, path, nil
}
