package acp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// The cases of the public bug log whose inputs are for other protocols, told in
// this one. Those that are ACP already are played by TestBugs.

// B046: a question that nobody answers stays a question.
func TestNobodyAnswers(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.request("1", "session/request_permission", permission("t", "allow_once", "allow_always", "reject_once"))
	b.advance(48 * time.Hour)
	if m, ok := b.reply("1"); ok {
		t.Errorf("answered %s by itself", m.Result)
	}
	b.want(`turn-start p1 | start t bash {"command":"ls"} | ask t`)
}

// B047: refusing one of two calls does not stop the other, nor the turn.
func TestRefuseOneOfTwo(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.request("1", "session/request_permission", permission("t1", "allow_once", "reject_once"))
	b.request("2", "session/request_permission", permission("t2", "allow_once", "reject_once"))
	b.answer(contract.RejectOnce)
	b.answer(contract.AllowOnce)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t2","status":"completed"}`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want(`turn-start p1 | start t1 bash {"command":"ls"} | ask t1 | start t2 bash {"command":"ls"} | ask t2 | end t1 error | end t2 completed | turn-end completed`)
	if n := b.count("session/cancel"); n != 0 {
		t.Errorf("%d session/cancel, want none", n)
	}
}

// B049: an answer to what is not asked is an error, once, and harms nothing.
func TestAnswersToNothing(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.request("1", "session/request_permission", permission("t", "allow_once", "reject_once"))
	key := b.asks[0]
	if err := b.try(adapters.Answer{Ask: "never", Decision: contract.AllowOnce}); !errors.Is(err, ErrNoAsk) {
		t.Errorf("an unknown ask: %v", err)
	}
	b.answer(contract.AllowOnce)
	n := len(b.written)
	for range 2 {
		if err := b.try(adapters.Answer{Ask: key, Decision: contract.RejectOnce}); !errors.Is(err, ErrNoAsk) {
			t.Errorf("an ask that was answered: %v", err)
		}
	}
	if len(b.written) != n {
		t.Error("the agent was answered again")
	}
	b.request("2", "session/request_permission", permission("u", "allow_once", "reject_once"))
	b.answer(contract.AllowOnce)
	if _, ok := b.reply("2"); !ok {
		t.Error("the next ask was not answered")
	}
}

// B065: many numbered chunks in one write stay in their order.
func TestBurst(t *testing.T) {
	b := plain(t)
	b.prompt()
	var want strings.Builder
	for n := range 200 {
		b.chunk(fmt.Sprintf("%03d,", n))
		fmt.Fprintf(&want, "%03d,", n)
	}
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | text " + want.String() + " | turn-end completed")
}

// B084: a call that is open at the end of a stopped turn is ended, once.
func TestOpenCallsAtTheStop(t *testing.T) {
	b := plain(t)
	b.prompt()
	for _, id := range []string{"t1", "t2"} {
		b.update(`{"sessionUpdate":"tool_call","toolCallId":"` + id + `","kind":"execute","title":"x","status":"in_progress","rawInput":{"command":"x"}}`)
	}
	b.submit(adapters.Abort{})
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed"}`)
	b.result(b.last("session/prompt"), `{"stopReason":"cancelled"}`)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t2","status":"failed"}`)
	b.want(`turn-start p1 | start t1 bash {"command":"x"} | start t2 bash {"command":"x"} | end t1 completed | end t2 cancelled | turn-end cancelled`)
}

// B112: a stop when nothing runs does nothing, and poisons nothing.
func TestStopWhenIdle(t *testing.T) {
	b := plain(t)
	b.submit(adapters.Abort{})
	b.prompt()
	b.chunk("fine")
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.submit(adapters.Abort{})
	if n := b.count("session/cancel"); n != 0 {
		t.Errorf("%d session/cancel, want none", n)
	}
	b.want("turn-start p1 | text fine | turn-end completed")
}
