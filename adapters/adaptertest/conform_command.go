package adaptertest

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/replay"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// commandFaults submits every command in every state. What was refused has changed
// nothing, so that the next command finds the same state.
func commandFaults(s Suite, rec recording, seen visits) []string {
	var out []string
	for _, n := range seen.states(s, rec) {
		var p *replay.Player
		for _, c := range commands() {
			if p == nil {
				p = upTo(s, rec, n)
			}
			at := situation{p.State(), p.Capabilities()}
			step, err := p.Submit(c)
			if fault := at.refusal(c, err); fault != "" {
				out = append(out, fmt.Sprintf("before record %d: %s", n, fault))
			}
			if err != nil {
				continue
			}
			if step.Stop != "" {
				out = append(out, fmt.Sprintf("before record %d: Submit(%T) gives up on the child: %s", n, c, step.Stop))
			}
			out = append(out, p.Close().Faults...)
			p = nil
		}
		if p != nil {
			out = append(out, p.Close().Faults...)
		}
	}
	return out
}

// commands is one of each, and the shapes that go wrong.
func commands() []adapters.Command {
	yes := true
	return []adapters.Command{
		adapters.Open{ID: "second-open"},
		adapters.Prompt{ID: "x1", Text: "hello"},
		adapters.Prompt{ID: "x2"},
		adapters.Prompt{ID: "x3", Text: "look", Files: []adapters.Attachment{
			{Name: "a.png", MIME: "image/png", Data: []byte{1, 2}}, {Name: "b.txt", MIME: "text/plain", Path: "/w/b.txt"},
		}},
		adapters.Steer{ID: "x4", Text: "left"},
		adapters.Abort{},
		adapters.Answer{Ask: "never-asked", Decision: contract.AllowOnce},
		adapters.Configure{ID: "x5", Mode: contract.ModePlan},
		adapters.Configure{ID: "x6", Mode: contract.ModeBypassPermissions},
		adapters.Configure{ID: "x7", Mode: "no-such-mode"},
		adapters.Configure{ID: "x8", Model: "some-model"},
		adapters.Configure{ID: "x9", ThinkingLevel: "high"},
		adapters.Configure{ID: "x10", Sandbox: &yes},
		adapters.Configure{ID: "x11"},
		adapters.Op{ID: "x12", Name: "rewind", Params: jsontext.Value(`{"to":"x"}`)},
		adapters.Op{ID: "x13", Name: "fork"},
		adapters.Op{ID: "x14", Name: "stash", Params: jsontext.Value(`{"a":1}`)},
		adapters.Op{ID: "x15", Name: "no-such-op", Params: jsontext.Value(`null`)},
		adapters.Op{ID: "x16", Name: ""},
		adapters.Op{ID: "x17", Name: "odd-params", Params: jsontext.Value(`[]`)},
		adapters.AskFirst{ID: "x19", Uses: []adapters.Use{{Tool: "bash", Pattern: "rm *"}}},
		adapters.AskFirst{ID: "x20"},
		adapters.EffectDone{ID: "never-asked", Content: "x"},
		adapters.Close{ID: "x18"},
		nil,
	}
}

// situation is the state in which a command was submitted.
type situation struct {
	replay.State
	claimed []session.Capability
}

func (s situation) claims(name session.Capability) bool { return slices.Contains(s.claimed, name) }

// refusal says what is wrong with how Submit took a command, empty for nothing.
func (s situation) refusal(c adapters.Command, err error) string {
	idle := s.Opened && !s.Busy
	switch c := c.(type) {
	case nil:
		if err == nil {
			return "Submit(nil) = nil error"
		}
	case adapters.Open:
		if s.Asked && err == nil {
			return "a second Open = nil error"
		}
	case adapters.Prompt:
		if c.Text == "" && len(c.Files) == 0 && err == nil {
			return "an empty Prompt = nil error: it wedges agents"
		}
		if c.Text != "" && len(c.Files) == 0 && idle && err != nil {
			return fmt.Sprintf("a Prompt while the agent is idle = error %v", err)
		}
	case adapters.Steer:
		if !s.claims(session.CapSteer) && !s.unsupported(err) {
			return fmt.Sprintf("Steer without the capability = %v, want ErrUnsupported", err)
		}
		if s.claims(session.CapSteer) && s.Turn && err != nil {
			return fmt.Sprintf("Steer is claimed and in a turn = error %v", err)
		}
	case adapters.Answer:
		if err == nil {
			return "an Answer to an ask that never was = nil error"
		}
	case adapters.Op:
		return s.opRefusal(c, err)
	}
	return ""
}

// opRefusal is refusal for the operations that are passed through.
func (s situation) opRefusal(c adapters.Op, err error) string {
	name := session.Capability(c.Name)
	passThrough := slices.Contains([]session.Capability{session.CapRewind, session.CapFork, session.CapStash}, name)
	switch {
	case passThrough && s.claims(name) && s.Opened && !s.Busy && errors.Is(err, adapters.ErrUnsupported):
		return fmt.Sprintf("Op %q is claimed, Submit = %v", name, err)
	case passThrough && !s.claims(name) && !s.unsupported(err):
		return fmt.Sprintf("Op %q is not claimed, Submit = %v, want ErrUnsupported", name, err)
	case c.Name == "no-such-op" && !s.unsupported(err):
		return fmt.Sprintf("Op %q = %v, want ErrUnsupported", name, err)
	}
	return ""
}

// unsupported reports a refusal for good; before the session is open any will do.
func (s situation) unsupported(err error) bool {
	return errors.Is(err, adapters.ErrUnsupported) || !s.Opened && err != nil
}

// askFaults answers every ask in every way, and once too often.
func askFaults(s Suite, rec recording) []string {
	var out []string
	answers := []adapters.Answer{
		{Decision: contract.AllowOnce},
		{Decision: contract.AllowAlways},
		{Decision: contract.RejectOnce},
		{Decision: contract.RejectAlways},
		{Decision: contract.RejectOnce, Cancelled: true},
		{Decision: contract.RejectOnce, Message: "rather not"},
		{Decision: "no-such-decision"},
	}
	for n := range len(rec.Records) + 1 {
		p := upTo(s, rec, n)
		if st := p.State(); st.Asks == 0 || st.Exited || n > 0 && !heard(rec.Records[n-1]) {
			continue
		}
		for _, ans := range answers {
			p := upTo(s, rec, n)
			for _, key := range p.Asks() {
				ans.Ask = key
				_, err := p.Submit(ans)
				if err != nil && ans.Decision != "no-such-decision" && ans.Message == "" {
					out = append(out, fmt.Sprintf("before record %d: Answer %s = error %v", n, ans.Decision, err))
				}
				if step, again := p.Submit(ans); err == nil && again == nil && !(ans.Cancelled && len(step.Write) == 0) {
					out = append(out, fmt.Sprintf("before record %d: a second Answer to one ask = nil error", n))
				}
			}
			out = append(out, p.Close().Faults...)
		}
	}
	return out
}

// heard reports whether a record is a frame that may have brought an ask.
func heard(r transcript.Record) bool {
	return r.Dir == transcript.Out || r.Dir == transcript.Hook || r.Dir == transcript.Log
}
