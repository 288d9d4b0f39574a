package daemon

import (
	"context"
	"encoding/json/jsontext"
	"runtime/debug"

	"github.com/agenthost/agenthost/relay/wire"
)

// command runs one method.
type command func(d *Daemon, ctx context.Context, caller wire.Caller, params jsontext.Value) (any, error)

// on makes a command of a function of its params.
func on[P, R any](f func(*Daemon, context.Context, wire.Caller, P) (R, error)) command {
	return func(d *Daemon, ctx context.Context, caller wire.Caller, params jsontext.Value) (any, error) {
		var p P
		if err := wire.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return f(d, ctx, caller, p)
	}
}

// commandOf is the function of a method, nil when there is none.
func commandOf(method string) command {
	switch method {
	case wire.SessionSpawn:
		return on((*Daemon).spawn)
	case wire.SessionSend:
		return on((*Daemon).send)
	case wire.SessionAbort:
		return on((*Daemon).abort)
	case wire.SessionDecide:
		return on((*Daemon).decide)
	case wire.SessionAsks:
		return on((*Daemon).asks)
	case wire.SessionConfigure:
		return on((*Daemon).configure)
	case wire.SessionControl:
		return on((*Daemon).control)
	case wire.SessionOp:
		return on((*Daemon).op)
	case wire.SessionUpdate:
		return on((*Daemon).update)
	case wire.SessionResume:
		return on((*Daemon).resume)
	case wire.SessionStop:
		return on((*Daemon).stop)
	case wire.SessionRemove:
		return on((*Daemon).remove)
	case wire.TerminalRead:
		return on((*Daemon).terminalRead)
	case wire.TerminalSnapshot:
		return on((*Daemon).terminalScreen)
	case wire.TerminalInput:
		return on((*Daemon).terminalInput)
	case wire.TerminalResize:
		return on((*Daemon).terminalResize)
	}
	return nil
}

// Do runs a command (wire.Method.Command) for a caller and returns its result. Its
// errors are *wire.Error. A command goes on when ctx ends, as far as it began:
// whoever sends it again under the same id learns what came of it.
func (d *Daemon) Do(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (result jsontext.Value, err error) {
	defer func() {
		// A fault of ours in one command must not end the sessions of all.
		if v := recover(); v != nil {
			d.log.Error("a command panicked", "method", method, "panic", v, "stack", string(debug.Stack()))
			result, err = nil, wire.Errorf(wire.CodeInternal, "internal error; the host's log has more")
		}
	}()
	m, known := wire.MethodOf(method)
	f := commandOf(method)
	if !known || !m.Command || f == nil {
		return nil, wire.Errorf(wire.CodeUnknownMethod, "no command %q", method)
	}
	if !caller.Scope.Includes(m.Scope) {
		return nil, wire.Errorf(wire.CodeForbidden, "%s needs the scope %s, the token has %s", method, m.Scope, caller.Scope)
	}
	r, err := f(d, ctx, caller, params)
	if err != nil {
		w := wireError(err)
		if w.Code == wire.CodeInternal {
			d.log.Error("running a command", "method", method, "err", err)
		}
		if w.Code == wire.CodeOver && d.Closing() {
			// It is the host that ends and not the session: the same call may be made again,
			// and a relay keeps what people left for the host.
			w = wire.Errorf(wire.CodeHostOffline, "the host is being stopped")
		}
		return nil, w
	}
	raw, err := wire.Marshal(r)
	if err != nil {
		d.log.Error("encoding a result", "method", method, "err", err)
		return nil, wire.Errorf(wire.CodeInternal, "internal error; the host's log has more")
	}
	return raw, nil
}
