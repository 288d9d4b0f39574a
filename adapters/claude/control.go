package claude

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// reply is the CLI's answer to a request of ours.
type reply struct {
	response rawjson.Value
	err      *wireError
	now      time.Time
}

// pending is a request that has no answer yet.
type pending struct {
	id, kind string
	deadline time.Time
	// owner is the id of the command that waits for it, empty when none does.
	owner string
	got   func(reply)
}

// requests are the requests under way, in the order they were sent.
type requests struct {
	n    int
	list []*pending
}

// waitAbort is the kind of the wait for the end of an interrupted turn.
const waitAbort = "abort"

// requestTimeout is how long the CLI may take for an answer. set_model and the
// context report ask the model's service before they answer. When it is hit the
// command fails with a time-out; a late answer is ignored.
const requestTimeout = time.Minute

// request sends a control request; body is its "request" object.
func (p *protocol) request(kind string, body []byte, got func(reply)) {
	p.requestFor("", kind, body, got)
}

func (p *protocol) requestFor(owner, kind string, body []byte, got func(reply)) {
	p.requests.n++
	id := "r" + strconv.Itoa(p.requests.n)
	p.requests.list = append(p.requests.list, &pending{
		id: id, kind: kind, deadline: p.now.Add(requestTimeout), owner: owner, got: got,
	})
	p.write(controlRequest(id, body))
}

// waitFor waits for something that no control_response tells.
func (p *protocol) waitFor(owner, kind string, timeout time.Duration, got func(reply)) {
	p.requests.list = append(p.requests.list, &pending{kind: kind, deadline: p.now.Add(timeout), owner: owner, got: got})
}

// waiting reports whether a request of that kind is under way.
func (r *requests) waiting(kind string) bool {
	return slices.ContainsFunc(r.list, func(q *pending) bool { return q.kind == kind })
}

// take takes the request that matches.
func (r *requests) take(match func(*pending) bool) *pending {
	i := slices.IndexFunc(r.list, match)
	if i < 0 {
		return nil
	}
	q := r.list[i]
	r.list = slices.Delete(r.list, i, i+1)
	return q
}

// drop forgets what waits for a command.
func (r *requests) drop(owner string) {
	r.list = slices.DeleteFunc(r.list, func(q *pending) bool { return q.owner == owner })
}

// deadline is the earliest one, zero when nothing waits.
func (r *requests) deadline() time.Time {
	var first time.Time
	for _, q := range r.list {
		if !q.deadline.IsZero() && (first.IsZero() || q.deadline.Before(first)) {
			first = q.deadline
		}
	}
	return first
}

// expire fails what has waited too long.
func (p *protocol) expire() {
	for {
		q := p.requests.take(func(q *pending) bool { return !q.deadline.IsZero() && !q.deadline.After(p.now) })
		if q == nil {
			return
		}
		q.got(reply{now: p.now, err: &wireError{contract.CodeTimeout, "the agent did not answer " + q.kind + " in time"}})
	}
}

// controlResponse takes an answer of the CLI.
func (p *protocol) controlResponse(m message) error {
	r := m.Get("response")
	id := r.Get("request_id").Text()
	q := p.requests.take(func(q *pending) bool { return id != "" && q.id == id })
	if q == nil {
		return fmt.Errorf("control_response for %q: want the id of a request under way", id)
	}
	got := reply{now: p.now, response: r.Get("response")}
	if r.Get("subtype").Text() == "error" {
		e := controlFailure(r)
		got.err = &e
	}
	q.got(got)
	return nil
}

// controlFailure is why the CLI refused a request.
func controlFailure(r rawjson.Value) wireError {
	text := r.Get("error").Text()
	if text == "" {
		text = "the agent refused"
	}
	switch r.Get("error_code").Text() {
	case "unsupported_request", "bypass_not_launched":
		return wireError{contract.CodeUnsupported, text}
	case "invalid_mode":
		return wireError{contract.CodeInvalidRequest, text}
	}
	return wireError{contract.CodeAgentError, text}
}

// controlRequest takes a request of the CLI. What is not understood is refused:
// a request that is left unanswered hangs the turn.
func (p *protocol) controlRequest(m message) error {
	id, req := m.text("request_id"), m.Get("request")
	switch kind := req.Get("subtype").Text(); kind {
	case "can_use_tool":
		p.canUseTool(m, id, req)
	case "elicitation":
		p.elicit(id, req)
	case "request_user_dialog":
		p.dialog(id, req)
	case "mcp_message":
		p.mcpMessage(id, req)
	case "hook_callback":
		// The CLI reports a hook that fails and goes on.
		p.refuse(id, kind)
	default:
		p.refuse(id, kind)
		return fmt.Errorf("control_request of subtype %q: want one of the documented ones", kind)
	}
	return nil
}

// refuse answers a request that nobody here can serve, where people see it.
func (p *protocol) refuse(id, kind string) {
	p.write(controlError(id, "agenthost does not serve "+kind))
	p.refused(kind)
}

// refused tells people of a request that was refused.
func (p *protocol) refused(kind string) {
	p.notice(contract.ServiceError, contract.CodeUnsupported, fmt.Sprintf("The agent asked its host for %q, which was refused.", kind))
}

// cancelRequest takes the withdrawal of a request of the CLI.
func (p *protocol) cancelRequest(m message) {
	id := m.text("request_id")
	p.asks = slices.DeleteFunc(p.asks, func(a *ask) bool {
		if a.request != id {
			return false
		}
		p.withdraw(a.key)
		p.endOwn(a)
		return true
	})
}
