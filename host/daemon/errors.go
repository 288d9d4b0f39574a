package daemon

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"io/fs"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/relay/wire"
)

// wireError is err as callers get it: an *wire.Error, of CodeInternal only when the
// fault is ours.
func wireError(err error) *wire.Error {
	var w *wire.Error
	var open *host.OpenError
	var resolved *permission.ErrResolved
	var denied *permission.ErrDenied
	var not *host.NotStartedError
	var native *host.NativeOpenError
	switch {
	case errors.As(err, &w):
		return w
	case errors.As(err, &native):
		return wire.Errorf(wire.CodeBusy, "%s", native.Error())
	case errors.As(err, &resolved):
		return resolvedError(resolved.Decision, resolved.By)
	case errors.As(err, &denied):
		return wire.Errorf(wire.CodeForbidden, "%s", denied.Error())
	case errors.As(err, &open):
		return agentError(open.Cause)
	case errors.As(err, &not):
		return agentError(causeOf(err))
	}
	return wire.Errorf(codeOf(err), "%s", err.Error())
}

// codeOf is the code of an error that carries no data.
func codeOf(err error) wire.Code {
	for _, c := range []struct {
		is   error
		code wire.Code
	}{
		{permission.ErrStale, wire.CodeStale},
		{permission.ErrBypass, wire.CodeForbidden},
		{permission.ErrNotTaken, wire.CodeInvalid},
		{permission.ErrUnknown, wire.CodeNotFound},
		{permission.ErrClosed, wire.CodeOver},
		{host.ErrNoAsk, wire.CodeNotFound},
		{host.ErrOver, wire.CodeOver},
		{host.ErrStopping, wire.CodeOver},
		{host.ErrBusy, wire.CodeBusy},
		{host.ErrEmptyPrompt, wire.CodeInvalid},
		{journal.ErrLocked, wire.CodeBusy},
		{adapters.ErrUnsupported, wire.CodeUnsupported},
		{context.DeadlineExceeded, wire.CodeTimeout},
		{context.Canceled, wire.CodeUnknown},
		{fs.ErrNotExist, wire.CodeNotFound},
	} {
		if errors.Is(err, c.is) {
			return c.code
		}
	}
	var disk *journal.WriteError
	if errors.As(err, &disk) {
		return wire.CodeInternal
	}
	return wire.CodeAgent
}

func agentError(c contract.Error) *wire.Error {
	return wire.Errorf(wire.CodeAgent, "%s", c.Message).WithData(c)
}

func resolvedError(d contract.Decision, by contract.DecisionBy) *wire.Error {
	r := wire.Resolved{Decision: string(d)}
	if raw, err := wire.Marshal(by); err == nil {
		r.By = jsontext.Value(raw)
	}
	return wire.Errorf(wire.CodeResolved, "it was answered already: %s", d).WithData(r)
}

// startError is why a session did not start.
func startError(err error) error {
	var w *wire.Error
	var not *host.NotStartedError
	switch {
	case errors.As(err, &w), errors.As(err, &not):
		return err
	case errors.Is(err, journal.ErrLocked):
		return wire.Errorf(wire.CodeBusy, "another process runs the session: stop it there first")
	case errors.Is(err, permission.ErrBypass), errors.Is(err, adapters.ErrUnsupported):
		return err
	}
	return wire.Errorf(wire.CodeInvalid, "%s", err.Error())
}
