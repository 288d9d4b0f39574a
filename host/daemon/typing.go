package daemon

import (
	"crypto/rand"
	"errors"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/relay/wire"
)

// Keys are typed once, and at the screen that they are meant for. An attachment knows how
// much was typed under it, so that a call can be repeated; an epoch names what attachments
// are known and the agent before the screen, so that nobody repeats a call of which nothing
// is known any more, nor types at an agent that was started since.

// epoch is that of a screen as the wire has it: of what is remembered here, and of the
// screen.
func (a *attachments) epoch(at int64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epochLocked(at)
}

func (a *attachments) epochLocked(at int64) string {
	return a.idLocked() + "." + strconv.FormatInt(at, 10)
}

func (a *attachments) idLocked() string {
	if a.id == "" {
		a.id = rand.Text()
	}
	return a.id
}

// typist is the attachment of a caller who types, and the screen that it is meant for. An
// epoch of which nothing is remembered is refused; none is that of now.
func (a *attachments) typist(caller wire.Caller, name, epoch string, hub hubScreen) (t *attachment, at int64, err error) {
	at = hub.Epoch()
	a.mu.Lock()
	defer a.mu.Unlock()
	if epoch != "" {
		id, screen, _ := strings.Cut(epoch, ".")
		meant, err := strconv.ParseInt(screen, 10, 64)
		if id != a.idLocked() || err != nil {
			return nil, 0, otherEpoch(a.epochLocked(at))
		}
		at = meant
	}
	if t, err = a.ofLocked(caller, name); err != nil {
		return nil, 0, err
	}
	t.typist = true
	return t, at, nil
}

// otherEpoch says that keys were meant for a screen that is not there.
func otherEpoch(now string) error {
	return wire.Errorf(wire.CodeEpoch, "the agent or its host was started again: what was typed for the screen before is not typed").
		WithData(wire.TerminalInputResult{Epoch: now})
}

// renewed is an epoch that a caller knows, of what is remembered now.
func (a *attachments) renewed(epoch string) string {
	_, screen, known := strings.Cut(epoch, ".")
	if !known {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.idLocked() + "." + screen
}

// input types what a caller has not typed yet.
func (a *attachments) input(caller wire.Caller, hub hubScreen, p wire.TerminalInputParams) (wire.TerminalInputResult, error) {
	t, at, err := a.typist(caller, p.Attachment, p.Epoch, hub)
	if err != nil {
		return wire.TerminalInputResult{}, err
	}
	return t.input(a, hub, at, p)
}

// input types what of p was not typed yet at the screen that it is meant for.
func (t *attachment) input(a *attachments, hub hubScreen, at int64, p wire.TerminalInputParams) (wire.TerminalInputResult, error) {
	t.typing.Lock() // who sends it again meanwhile waits, and sees that it was typed
	defer t.typing.Unlock()
	epoch := a.epoch(hub.Epoch())
	if p.Offset < 0 || p.Offset > t.next {
		return wire.TerminalInputResult{}, wire.Errorf(wire.CodeGap, "offset: want at most %d, which is what was typed under this attachment here, got %d", t.next, p.Offset).
			WithData(wire.TerminalInputResult{Next: t.next, Epoch: epoch})
	}
	if done := t.next - p.Offset; done < int64(len(p.Data)) {
		err := hub.InputAt(at, p.Data[done:])
		if errors.Is(err, screen.ErrEpoch) {
			return wire.TerminalInputResult{}, otherEpoch(a.epoch(hub.Epoch()))
		}
		if err != nil {
			return wire.TerminalInputResult{}, inputError(err)
		}
		t.next = p.Offset + int64(len(p.Data))
	}
	return wire.TerminalInputResult{Next: t.next, Epoch: epoch}, nil
}

// inputError is why nothing was typed.
func inputError(err error) error {
	switch {
	case errors.Is(err, screen.ErrClosed):
		return wire.Errorf(wire.CodeOver, "the session has ended")
	case errors.Is(err, screen.ErrNoTerminal):
		// Not busy: who waited would type at the next agent what was meant for this one.
		return wire.Errorf(wire.CodeOver, "%v", err)
	}
	return wire.Errorf(wire.CodeBusy, "the agent takes no keys now: %v", err)
}
