package store

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agenthost/agenthost/relay/wire"
)

// Headers of the messages in env_T.
const (
	headPosition = "Agenthost-Position" // of the first envelope
	headCount    = "Agenthost-Count"    // of envelopes that end in this message
	headPart     = "Agenthost-Part"     // number of the part, from 0; only for parts
	headSize     = "Agenthost-Size"     // bytes of all parts; only for parts
)

// mark is what the headers of a message say.
type mark struct {
	pos   wire.Position
	count int64
	part  int // -1 for a whole batch
	size  int // of all parts, 0 for unknown
}

// next is the position of the first envelope behind the message.
func (m mark) next() wire.Position { return m.pos + m.count }

func (m mark) header() nats.Header {
	h := nats.Header{}
	h.Set(headPosition, strconv.FormatInt(m.pos, 10))
	h.Set(headCount, strconv.FormatInt(m.count, 10))
	if m.part >= 0 {
		h.Set(headPart, strconv.Itoa(m.part))
		h.Set(headSize, strconv.Itoa(m.size))
	}
	return h
}

func markOf(h nats.Header) (mark, error) {
	m := mark{part: -1}
	var err1, err2, err3, err4 error
	m.pos, err1 = strconv.ParseInt(h.Get(headPosition), 10, 64)
	m.count, err2 = strconv.ParseInt(h.Get(headCount), 10, 64)
	if p := h.Get(headPart); p != "" {
		m.part, err3 = strconv.Atoi(p)
	}
	if n := h.Get(headSize); n != "" {
		m.size, err4 = strconv.Atoi(n)
	}
	if err := errors.Join(err1, err2, err3, err4); err != nil || m.pos < 0 || m.count < 0 || m.part < -1 || m.size < 0 {
		return mark{}, fmt.Errorf("a stored message has bad headers: %v", h)
	}
	return m, nil
}

// log is the end of one session as this process knows it.
type log struct {
	mu sync.Mutex
	// known is unset before the first look, and when it is not sure what is stored.
	known bool          // guarded by mu
	next  wire.Position // guarded by mu
	// seq is the stream sequence of the session's last message, 0 for none.
	seq uint64 // guarded by mu
	// noted is the next position that was written down last.
	noted wire.Position // guarded by mu
}

// notePositions is after how many envelopes the next position is written down beside
// the stream. It is needed when retention has taken all of a session: without it the
// host would be asked for everything again, and with it for this many at most.
const notePositions = 1024

type logs struct {
	mu sync.Mutex
	of map[string]*log // guarded by mu
}

func (l *logs) get(session string) *log {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[session] == nil {
		l.of[session] = &log{}
	}
	return l.of[session]
}

func (l *logs) forget(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, session)
}

func (t *Tenant) subject(session string) string { return "env." + t.name + "." + session }

// refresh looks up what is stored. l.mu is held.
func (t *Tenant) refresh(ctx context.Context, session string, l *log) error {
	l.known = false
	msg, err := t.env.GetLastMsgForSubject(ctx, t.subject(session))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		floor, err := t.floor(ctx, session)
		if err != nil {
			return err
		}
		l.next, l.seq, l.noted, l.known = floor, 0, floor, true
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking up the end of session %s: %w", session, err)
	}
	m, err := markOf(msg.Header)
	if err != nil {
		return err
	}
	l.next, l.seq, l.known = m.next(), msg.Sequence, true
	return nil
}

// Next is the position of the first envelope of the session that is not stored.
func (t *Tenant) Next(ctx context.Context, session string) (wire.Position, error) {
	l := t.logs.get(session)
	l.mu.Lock()
	defer l.mu.Unlock()
	// What another process wrote is not in l: a host asks this when it comes anew.
	if err := t.refresh(ctx, session, l); err != nil {
		return 0, err
	}
	if l.next != l.noted {
		t.note(ctx, session, l)
	}
	return l.next, nil
}

// Append stores envelopes at a position and returns the next one. What is stored
// already is taken as sent again; a position beyond the next is CodeGap with
// wire.AppendResult as data, unless reset says that what lies between is kept nowhere.
// After another error the outcome is unknown, and sending
// the same again is safe.
func (t *Tenant) Append(ctx context.Context, session string, pos wire.Position, lines []jsontext.Value, reset bool) (wire.Position, error) {
	if !ValidName(session) {
		return 0, wire.Errorf(wire.CodeInvalid, "session: want 1 to 64 letters, digits, - and _, got %q", session)
	}
	if pos < 0 {
		return 0, wire.Errorf(wire.CodeInvalid, "position: want 0 or more, got %d", pos)
	}
	for i, line := range lines {
		// What has no place in the strict profile is null.
		if len(line) == 0 || line[0] != '{' && line[0] != 'n' || bytes.IndexByte(line, '\n') >= 0 {
			return 0, wire.Errorf(wire.CodeInvalid, "envelopes[%d]: want an object or null in one line", i)
		}
	}
	l := t.logs.get(session)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known {
		if err := t.refresh(ctx, session, l); err != nil {
			return 0, err
		}
	}
	for tries := 0; ; tries++ {
		if pos > l.next && !reset {
			return 0, wire.Errorf(wire.CodeGap, "position: want %d, got %d", l.next, pos).WithData(wire.AppendResult{Next: l.next})
		}
		if pos+int64(len(lines)) <= l.next {
			return l.next, nil
		}
		l.next = max(l.next, pos)
		err := t.publish(ctx, session, l, lines[l.next-pos:])
		if err == nil {
			return l.next, nil
		}
		l.known = false
		if !isWrongSequence(err) || tries == 3 {
			return 0, fmt.Errorf("storing envelopes of session %s: %w", session, err)
		}
		// Another process has written: look what.
		if err := t.refresh(ctx, session, l); err != nil {
			return 0, err
		}
	}
}

// isWrongSequence reports whether err says that the session's last message is not
// the expected one.
func isWrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == codeWrongSequenceUnknown)
}

// codeWrongSequenceUnknown is the server's JSStreamWrongLastSequenceConstantErr: what a
// cluster says when something else is under way, so that it cannot say which sequence
// is the last.
const codeWrongSequenceUnknown jetstream.ErrorCode = 10164

// publish stores lines at l.next, in as many messages as they need. l.mu is held.
func (t *Tenant) publish(ctx context.Context, session string, l *log, lines []jsontext.Value) error {
	for len(lines) > 0 {
		if len(lines[0]) > t.payload {
			if err := t.publishParts(ctx, session, l, lines[0]); err != nil {
				return err
			}
			lines = lines[1:]
			continue
		}
		n, size := 0, 0
		for n < len(lines) && size+len(lines[n])+1 <= t.payload+1 {
			size += len(lines[n]) + 1
			n++
		}
		body := make([]byte, 0, size)
		for _, line := range lines[:n] {
			body = append(append(body, line...), '\n')
		}
		if err := t.put(ctx, session, l, mark{pos: l.next, count: int64(n), part: -1}, body); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

// publishParts stores one long envelope.
func (t *Tenant) publishParts(ctx context.Context, session string, l *log, line []byte) error {
	for part, size := 0, len(line); ; part++ {
		n := min(len(line), t.payload)
		m := mark{pos: l.next, part: part, size: size}
		if n == len(line) {
			m.count = 1
		}
		if err := t.put(ctx, session, l, m, line[:n]); err != nil {
			return err
		}
		if line = line[n:]; len(line) == 0 {
			return nil
		}
	}
}

// put stores one message behind the session's last.
func (t *Tenant) put(ctx context.Context, session string, l *log, m mark, body []byte) error {
	ack, err := t.store.js.PublishMsg(ctx, &nats.Msg{Subject: t.subject(session), Header: m.header(), Data: body},
		jetstream.WithExpectLastSequencePerSubject(l.seq))
	t.store.wrote("env_"+t.name, err)
	if err != nil {
		return err
	}
	l.next, l.seq = m.next(), ack.Sequence
	if l.next-l.noted >= notePositions {
		t.note(ctx, session, l)
	}
	return nil
}

// note writes the next position down. Failing is harmless but for asking again.
func (t *Tenant) note(ctx context.Context, session string, l *log) {
	if _, err := t.kv.Put(ctx, "n."+session, strconv.AppendInt(nil, l.next, 10)); err != nil {
		t.store.opt.Logger.Warn("writing down a position", "tenant", t.name, "session", session, "err", err)
		return
	}
	l.noted = l.next
}

// floor is the next position that was written down, 0 for none.
func (t *Tenant) floor(ctx context.Context, session string) (wire.Position, error) {
	e, err := t.kv.Get(ctx, "n."+session)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("looking up the position of session %s: %w", session, err)
	}
	pos, err := strconv.ParseInt(string(e.Value()), 10, 64)
	if err != nil || pos < 0 {
		return 0, fmt.Errorf("the position written down for session %s is %q", session, e.Value())
	}
	return pos, nil
}

// Purge removes what is stored of a session's stream.
func (t *Tenant) Purge(ctx context.Context, session string) error {
	if !ValidName(session) {
		return wire.Errorf(wire.CodeInvalid, "session: bad id %q", session)
	}
	t.logs.forget(session)
	if err := t.kv.Purge(ctx, "n."+session); err != nil {
		return fmt.Errorf("removing session %s: %w", session, err)
	}
	if err := t.env.Purge(ctx, jetstream.WithPurgeSubject(t.subject(session))); err != nil {
		return fmt.Errorf("removing session %s: %w", session, err)
	}
	return nil
}

// codeStoreFailed is the server's JSStreamStoreFailedF: it stored nothing, and the
// description says why.
const codeStoreFailed jetstream.ErrorCode = 10077

// isFull reports whether err says that a stream that discards new messages has as many
// as it may have: the server's ErrMaxBytes and ErrMaxMsgs.
func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeStoreFailed &&
		strings.HasPrefix(api.Description, "maximum ")
}
