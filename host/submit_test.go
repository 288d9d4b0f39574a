package host

import (
	"encoding/json/jsontext"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/contract"
)

// newer is an envelope of a peer that knows more than this version.
func newer(id string, ev contract.Event) Input {
	return Input{Envelope: contract.Envelope{ID: id, Origin: "theirs", Role: contract.RoleUser, Event: ev, Extra: jsontext.Value(`{"of":"envelope"}`)}}
}

// sent finds the user's envelopes of a type.
func (st *stage) sent(t contract.EventType) []contract.Envelope {
	st.t.Helper()
	var found []contract.Envelope
	for e, err := range st.Journal().Envelopes() {
		if err != nil {
			st.t.Fatal(err)
		}
		if e.Role == contract.RoleUser && e.Event.EventType() == t {
			found = append(found, e)
		}
	}
	return found
}

// keptWhole checks that the one envelope in list is what newer sent.
func keptWhole(t *testing.T, list []contract.Envelope, id string, extra jsontext.Value) {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("the stream has %d of them, want 1: %+v", len(list), list)
	}
	e := list[0]
	if e.ID != id || e.Origin != "theirs" || string(e.Extra) != `{"of":"envelope"}` || string(extra) != `{"of":"event"}` {
		t.Errorf("of what was sent with id %q the stream has %+v, and %s of the event", id, e, extra)
	}
}

func TestDecisionKeepsWhatANewerPeerSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const id = "tz4a98xxat96iws9zmbrgj3a"
		st, c := opened(t, fakeAdapter{}, func(c *Config) { c.Mediator = newDesk() })
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		c.say("start a", "ask a k")
		synctest.Wait()
		ev := contract.PermissionResponse{Call: "a", Decision: contract.AllowOnce, Extra: jsontext.Value(`{"of":"event"}`)}
		for range 2 { // sent again after a lost answer it counts once, and is no error
			if err := st.Submit(t.Context(), newer(id, ev)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		c.want("answer k allow-once")
		c.silent()
		c.say("end a ok", "done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "start:a", "ask:a", "answer:a:allow-once:client", "end:a:completed", "turn-end:completed")
		got := st.sent(contract.TypePermissionResponse)
		keptWhole(t, got, id, got[0].Event.(contract.PermissionResponse).Extra)
	})
}

func TestConfigurationKeepsWhatANewerPeerSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const id, plain = "tz4a98xxat96iws9zmbrgj3a", "tz4a98xxat96iws9zmbrgj3b"
		st, c := opened(t, fakeAdapter{}, nil)
		send := func(in Input) {
			t.Helper()
			wait, err := st.Begin(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case got := <-c.wrote:
				c.say("configured " + strings.Fields(got)[1])
			default:
			}
			if err := wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		ev := contract.AgentConfigurationChanged{Model: "big", Extra: jsontext.Value(`{"of":"event"}`)}
		send(newer(id, ev))
		send(newer(id, contract.AgentConfigurationChanged{Model: "again"}))
		// What has nothing of its own is in the stream as the agent tells it.
		send(Input{Envelope: contract.Envelope{ID: plain, Role: contract.RoleUser, Event: contract.AgentConfigurationChanged{Model: "small"}}})
		send(Input{Envelope: contract.Envelope{ID: plain, Role: contract.RoleUser, Event: contract.AgentConfigurationChanged{Model: "again"}}})
		c.silent()
		st.end()
		got := st.sent(contract.TypeAgentConfigurationChanged)
		keptWhole(t, got, id, got[0].Event.(contract.AgentConfigurationChanged).Extra)
		if m := got[0].Event.(contract.AgentConfigurationChanged).Model; m != "big" {
			t.Errorf("model %q is in the stream, want big", m)
		}
	})
}
