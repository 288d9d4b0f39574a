package codex

import (
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// settleWait is how long it takes at most until a refusal at the screen shows: the
// call ends or the turn does, within milliseconds. What has not ended by then goes
// on, so it was allowed.
const settleWait = 500 * time.Millisecond

// settling is an ask that was answered at the screen: the server tells that, but
// not how.
type settling struct {
	ask *ask
	by  time.Time
}

// leave leaves a request to the screen: the first answer of any client counts, and
// a refusal of ours would be one.
func (p *protocol) leave(m jsonrpc.Message) error {
	switch m.Method {
	case "attestation/generate", "item/tool/call", "account/chatgptAuthTokens/refresh":
		return nil
	}
	return unknownRequest(m)
}

// notHere reports whether an ask is not the session's to decide: it is about another
// conversation, or repeated after the connection broke.
func (p *protocol) notHere(th *thread, m jsonrpc.Message) bool {
	if th == nil {
		if o := p.tui.others[m.Params.Get("threadId").Text()]; o != nil && o.holding {
			o.hold(m)
		}
		return true
	}
	i := slices.IndexFunc(p.asks, func(a *ask) bool { return string(a.request) == string(m.ID) })
	if i >= 0 && p.asks[i].stale {
		p.asks[i].stale = false
		return true
	}
	return th == p.root && (!p.turn.open || p.turn.aborted)
}

// answeredThere takes an ask that another client answered.
func (p *protocol) answeredThere(a *ask) {
	p.settling = append(p.settling, settling{a, p.now.Add(settleWait)})
}

// askedAgain takes the next ask about a call: the one before was allowed.
func (p *protocol) askedAgain(a *ask) {
	for _, s := range p.takeSettling(func(s settling) bool { return s.ask.th == a.th && s.ask.call == a.call }) {
		p.decide(s.ask, contract.AllowOnce, nil)
	}
}

// takeSettling takes out the settling asks that match.
func (p *protocol) takeSettling(match func(settling) bool) []settling {
	var taken []settling
	p.settling = slices.DeleteFunc(p.settling, func(s settling) bool {
		if match(s) {
			taken = append(taken, s)
			return true
		}
		return false
	})
	return taken
}

// decide tells how an ask was answered at the screen.
func (p *protocol) decide(a *ask, d contract.Decision, answers []byte) {
	p.emit(adapters.Draft{Role: contract.RoleUser, Subagent: a.th.agent, Event: contract.PermissionResponse{
		Call: a.call, Decision: d, Answers: answers,
	}})
	p.endOwn(a)
}

// settledByItem takes the end of a call, which tells how its asks were answered.
func (p *protocol) settledByItem(th *thread, it rawjson.Value) {
	id := it.Get("id").Text()
	for _, s := range p.takeSettling(func(s settling) bool { return s.ask.th == th && s.ask.call == id }) {
		d := contract.AllowOnce
		if it.Get("status").Text() == "declined" || refusedThere(it.Get("error", "message").Text()) {
			d = contract.RejectOnce
		}
		p.decide(s.ask, d, nil)
	}
}

// settledByOutput takes what the model is told of a call, which has the answers to
// questions and what was granted.
func (p *protocol) settledByOutput(th *thread, it rawjson.Value) {
	id := it.Get("call_id").Text()
	if id == "" || !it.Get("output").Given() {
		return
	}
	taken := p.takeSettling(func(s settling) bool { return s.ask.th == th && s.ask.call == id })
	if len(taken) == 0 {
		return
	}
	text := rawText(it.Get("output"))
	v, _ := rawjson.Parse([]byte(text)) // the zero Value of what is no JSON has nothing
	for _, s := range taken {
		d := contract.AllowOnce
		var answers []byte
		switch {
		case refusedThere(text):
			d = contract.RejectOnce
		case s.ask.method == askUser:
			answers = answersThere(v.Get("answers"))
			if answers == nil {
				d = contract.RejectOnce
			}
		case s.ask.method == askPermissions && v.Get("permissions").Empty():
			d = contract.RejectOnce
		}
		p.decide(s.ask, d, answers)
	}
}

// refusedThere reports whether a call's end says that a person refused it.
func refusedThere(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc([]string{"rejected by user", "aborted by user", "user rejected", "user cancelled", "user declined"},
		func(phrase string) bool { return strings.Contains(lower, phrase) })
}

// answersThere are the answers to questions by their ids, nil for none.
func answersThere(v rawjson.Value) []byte {
	out := new(object)
	for id, a := range v.Members() {
		switch list := answerList(a.Get("answers")); len(list) {
		case 0:
		case 1:
			out.str(id, list[0])
		default:
			out.raw(id, quoted(list))
		}
	}
	if len(out.b) == 0 {
		return nil
	}
	return out.value()
}

// settleAll ends the settling asks of a thread whose turn ends without a word about
// them, those of sub-agents for nil. A question was answered: without an answer its
// turn would not have gone on.
func (p *protocol) settleAll(th *thread) {
	for _, s := range p.takeSettling(func(s settling) bool { return s.ask.th == th || th == nil && s.ask.th != p.root }) {
		if s.ask.method == askUser && th != nil {
			p.decide(s.ask, contract.AllowOnce, nil)
			continue
		}
		p.withdraw(s.ask.key)
		p.endOwn(s.ask)
	}
}

// forgetSettling ends the settling asks that the host has settled.
func (p *protocol) forgetSettling() {
	for _, s := range p.takeSettling(func(settling) bool { return true }) {
		p.endOwn(s.ask)
	}
}

// expireSettling takes asks whose call goes on: it was allowed. What was granted of
// permissions shows in nothing but the output, so that is not known.
func (p *protocol) expireSettling() {
	for _, s := range p.takeSettling(func(s settling) bool { return !s.by.After(p.now) }) {
		if s.ask.method == askPermissions {
			p.withdraw(s.ask.key)
			p.endOwn(s.ask)
			continue
		}
		p.decide(s.ask, contract.AllowOnce, nil)
	}
}
