package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/wire"
)

// screened is a fake with a screen. It does not start in that face, or does not open its
// session, as wrong says.
type screened struct {
	fake
	wrong *string
}

func (s screened) DescribeTerminal() adapters.Description { return s.Describe() }

func (s screened) LaunchTerminal(r adapters.TerminalRequest) (adapters.Launch, error) {
	if *s.wrong == "launch" {
		return adapters.Launch{}, errors.New("the terminal is dumb")
	}
	return s.Launch(r.LaunchRequest)
}

func (s screened) NewTerminalProtocol(i adapters.TerminalInfo) adapters.Protocol {
	p := s.NewProtocol(i.SessionInfo).(*fakeProtocol)
	p.refuse = *s.wrong == "open"
	return p
}

var _ adapters.TerminalAdapter = screened{}

// TestControlOfStopped: control of a stopped session in another face comes with the agent
// that starts in it, or not at all: face, holder and state are as they were.
func TestControlOfStopped(t *testing.T) {
	for wrong, code := range map[string]wire.Code{"": "", "launch": wire.CodeInvalid, "process": wire.CodeAgent, "open": wire.CodeAgent, "full": wire.CodeBusy} {
		t.Run(wrong, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { controlStopped(t, wrong, code) })
		})
	}
}

func controlStopped(t *testing.T, wrong string, code wire.Code) {
	now := ""
	w := withScreen(t, &now)
	s := w.start("one")
	w.until(s.ID, idle)
	_ = must[wire.SessionResult](w, wire.SessionControl, wire.ControlParams{Session: s.ID, ClientType: contract.ClientDaemon})
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID})
	if now = wrong; wrong == "full" {
		_ = w.start("another one")
	}
	res, err := do[wire.SessionResult](w, at, wire.SessionControl, wire.ControlParams{Session: s.ID, Face: wire.FaceTerminal})
	if wrong == "" {
		if err != nil || res.Session.Face != wire.FaceTerminal || !res.Session.Control.HeldBy(at) {
			t.Errorf("control = %+v, %v; want the screen, held by the caller", res.Session, err)
		}
		return
	}
	w.code(err, code)
	for _, when := range []string{"then", "after a restart"} {
		got, err := w.Session(t.Context(), s.ID)
		if err != nil || got.Face != wire.FaceHeadless || got.State != wire.StateStopped || got.Error != nil ||
			got.Control == nil || got.Control.ClientType != contract.ClientDaemon {
			t.Errorf("%s the session is %+v, %v; want it as it was", when, got, err)
		}
		if when == "then" {
			w.close()
			w.open(nil)
		}
	}
	now = "" // and it starts as it was
	w.send(s.ID, "two")
	if got := w.until(s.ID, func(s wire.Session) bool { return s.Usage != nil && s.Usage.InputTokens == 20 }); got.Face != wire.FaceHeadless {
		t.Errorf("then it was started with the face %s", got.Face)
	}
}

// TestControlRefused: a hand-over that does not come to be leaves control with its holder,
// too, when the agent runs.
func TestControlRefused(t *testing.T) {
	now := ""
	w := withScreen(t, &now)
	s := w.start("hang")
	w.until(s.ID, func(s wire.Session) bool { return s.End >= 3 })
	_, err := do[wire.SessionResult](w, at, wire.SessionControl, wire.ControlParams{Session: s.ID, Face: wire.FaceTerminal})
	w.code(err, wire.CodeBusy)
	if got, err := w.Session(t.Context(), s.ID); err != nil || got.Control != nil || got.Face != wire.FaceHeadless {
		t.Errorf("the session is %+v, %v; want it held by nobody", got, err)
	}
}

// withScreen is a world whose agent has a screen, and fails to show it as wrong says.
func withScreen(t *testing.T, wrong *string) *world {
	w := newWorld(t, func(c *Config) { c.Limits.Sessions = 1 })
	w.alter = func(p *Prepared) {
		p.Host.Adapter = screened{wrong: wrong}
		start := p.Host.Start
		p.Host.Start = func(ctx context.Context, spec host.StartSpec) (host.Child, error) {
			if *wrong == "process" {
				return nil, errors.New("no such file")
			}
			return start(ctx, spec)
		}
	}
	return w
}
