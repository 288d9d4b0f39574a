package peer

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"runtime/debug"
	"unicode/utf8"

	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
	"github.com/agenthost/agenthost/relay/wire"
)

const (
	parseError     = jsonrpc.ParseError
	invalidRequest = jsonrpc.InvalidRequest
)

// request is a call or notification that came.
type request struct {
	id     rawjson.Value // nil for a notification
	method string
	params jsontext.Value
	size   int
	// release lets go of what is counted for it.
	release func()
}

// Then is a result that is to be followed: after runs once the answer stands in the
// queue, so that what it has sent with Notify arrives later. It does not run when the
// answer could not be sent. It must not block.
func Then(result any, after func()) any {
	return Settled(result, func(sent bool) {
		if sent {
			after()
		}
	})
}

// Settled is Then for those who must know either way: after runs in any case.
func Settled(result any, after func(sent bool)) any { return then{result, after} }

type then struct {
	result any
	after  func(sent bool)
}

// frame takes one frame.
func (s *server) frame(frame []byte) {
	if !utf8.Valid(frame) {
		s.bad("frame is not valid UTF-8", parseError)
		return
	}
	if !isChunk(frame) {
		s.message(frame, func() {})
		return
	}
	c, err := parseChunk(frame)
	if err == nil {
		var whole []byte
		var release func()
		if whole, release, err = s.assembler.add(c, s.waitedFor(), s.opts.HoldMessage); err == nil {
			s.noteUnfinished()
			if whole != nil {
				s.message(whole, release)
			}
			return
		}
	}
	status := StatusProtocol
	var large *tooLargeError
	var refused *wire.Error
	switch {
	case errors.As(err, &large):
		status = StatusTooLarge
	case errors.As(err, &refused):
		status = StatusTryAgain
	}
	s.end(&CloseError{Status: status, Reason: err.Error()}, status, err.Error())
}

// message takes one message. It calls release when the message was handled.
func (s *server) message(text []byte, release func()) {
	m, err := jsonrpc.Parse(text)
	if err == nil && m.Kind != jsonrpc.Response && s.work.Err() == nil {
		s.dispatch(request{id: m.ID, method: m.Method, params: jsontext.Value(m.Params), size: len(text), release: release})
		return
	}
	release()
	switch {
	case errors.Is(err, jsonrpc.ErrNotJSON):
		s.bad("frame is not JSON", parseError)
	case err != nil:
		s.bad("frame is no JSON-RPC message, of which it must hold one", invalidRequest)
	case m.Kind == jsonrpc.Response:
		s.answered(m)
	}
}

// bad answers a frame that is no message, and ends a connection that has too many.
func (s *server) bad(what string, code int64) {
	s.garbage++
	if s.garbage > s.opts.Garbage {
		reason := fmt.Sprintf("%d frames were no message; the last: %s", s.garbage, what)
		s.end(&CloseError{Status: StatusPolicy, Reason: reason}, StatusPolicy, reason)
		return
	}
	s.opts.Log.Debug("frame refused", "why", what)
	line := jsonrpc.AppendError(nil, nil, code, what, nil)
	_ = s.push(s.work, &outgoing{data: trim(line), lane: free}) // nobody waits for it
}

// answered hands an answer to the call that waits for it.
func (s *server) answered(m jsonrpc.Message) {
	id, ok := m.ID.Int()
	s.mu.Lock()
	w := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	if !ok || w == nil {
		s.opts.Log.Debug("answer that nobody waits for")
		return
	}
	a := answer{result: m.Result}
	if m.Err != nil {
		a = answer{err: wire.ErrorOf(m.Err.Code, m.Err.Message, m.Err.Data)}
	}
	w.answer <- a // has room: the call is no longer pending
}

// dispatch gives a request to its handler. It blocks, and so stops the reading, while
// too much waits to be handled in order.
func (s *server) dispatch(r request) {
	if r.id == nil || s.opts.Ordered(r.method) {
		if s.room.take(s.work, r.size) != nil {
			r.release()
			return
		}
		select {
		case s.inbox <- r:
		case <-s.work.Done():
			r.release()
		}
		return
	}
	if !s.admit(r) {
		r.release()
		s.answer(r, free, nil, wire.Errorf(wire.CodeBusy, "too many or too large calls of this connection at once; want at most %d", s.opts.Calls))
		return
	}
	s.spawn(&s.handlers, func() {
		defer r.release()
		s.run(r, free)
		s.active.Lock()
		defer s.active.Unlock()
		s.running--
		s.held -= r.size
	})
}

// admit counts an unordered request in. It refuses rather than to wait, so that the
// answers behind it are read.
func (s *server) admit(r request) bool {
	s.active.Lock()
	defer s.active.Unlock()
	if s.running >= s.opts.Calls || s.running > 0 && s.held+r.size > s.opts.MessageBytes {
		return false
	}
	s.running++
	s.held += r.size
	return true
}

// workOrdered handles what comes in order.
func (s *server) workOrdered() {
	for {
		select {
		case r := <-s.inbox:
			s.run(r, ordered)
			s.room.put(r.size)
			r.release()
		case <-s.work.Done():
			return
		}
	}
}

// run calls the handler and answers.
func (s *server) run(r request, lane int) {
	result, err := s.guarded(r)
	if r.id == nil {
		if err != nil {
			s.opts.Log.Warn("notification failed", "method", r.method, "err", err)
		}
		return
	}
	s.answer(r, lane, result, err)
}

// guarded is the handler, whose panics are errors: one bad call must not end the
// process, which holds the agents of many.
func (s *server) guarded(r request) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Error("handler panicked", "method", r.method, "panic", p, "stack", string(debug.Stack()))
			result, err = nil, wire.Errorf(wire.CodeInternal, "internal error; the log has more")
		}
	}()
	return s.handle(s.work, r.method, r.params)
}

// answer sends the answer to a request.
func (s *server) answer(r request, lane int, result any, err error) {
	t, follows := result.(then)
	if follows {
		result, lane = t.result, ordered
	}
	m := &outgoing{data: s.encode(r, result, err), lane: lane}
	whole := len(m.data) <= s.opts.SendBytes
	if !whole {
		m.data = s.encode(r, nil, wire.Errorf(wire.CodeTooLarge, "the answer has %d bytes; want at most %d", len(m.data), s.opts.SendBytes))
	}
	if whole && err == nil && s.opts.HoldAnswer != nil {
		var release func()
		if release, err = s.opts.HoldAnswer(r.method, len(m.data)); err != nil {
			m.data = s.encode(r, nil, err)
		} else {
			defer release()
		}
	}
	sent := s.push(s.work, m) == nil
	if follows {
		t.after(sent && whole && err == nil)
	}
}

func (s *server) encode(r request, result any, err error) []byte {
	var raw []byte
	if err == nil {
		raw, err = marshal(result)
	}
	if err == nil {
		return trim(jsonrpc.AppendResult(nil, r.id, raw))
	}
	var known *wire.Error
	if !errors.As(err, &known) && !errors.Is(err, context.Canceled) {
		s.opts.Log.Warn("call failed", "method", r.method, "err", err)
	}
	e := wire.AsError(err)
	return trim(jsonrpc.AppendError(nil, r.id, e.Code.RPCCode(), e.Message, e.RPCData()))
}
