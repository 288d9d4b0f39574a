package codex

import (
	"fmt"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// requestTimeout is how long the server may take for an answer. Nothing that is
// asked of it waits for the model. When it is hit the command fails with a
// time-out; a late answer is ignored.
const requestTimeout = time.Minute

// request is a request of ours that has no answer yet.
type request struct{ got func(reply) }

// reply is the server's answer to a request of ours.
type reply struct {
	result rawjson.Value
	err    *wireError
	// broken says that the connection broke before an answer came.
	broken bool
}

// request sends a request; got is called once, also when no answer comes.
func (p *protocol) request(method string, params []byte, got func(reply)) {
	p.requestBy(p.now.Add(requestTimeout), method, params, got)
}

func (p *protocol) requestBy(deadline time.Time, method string, params []byte, got func(reply)) {
	if p.tui != nil && p.tui.down {
		got(brokenReply())
		return
	}
	id := p.requests.Add(method, deadline, &request{got})
	p.write(requestLine(id, method, params))
}

// response takes an answer of the server. One that nobody waits for any more is
// no fault.
func (p *protocol) response(m jsonrpc.Message) error {
	w, ok := p.requests.Take(m.ID)
	if !ok {
		return fmt.Errorf("answer to %q: want the id of a request under way", m.ID.Clean())
	}
	r := reply{result: m.Result}
	if m.Err != nil {
		r.err = refusal(m.Err)
	}
	w.Value.got(r)
	return nil
}

// refusal is why the server refused a request. Nearly every error has the same
// code, so the wording tells.
func refusal(e *jsonrpc.Error) *wireError {
	text := e.Message
	if text == "" {
		text = "the agent refused"
	}
	code := contract.CodeAgentError
	switch {
	case e.Code == jsonrpc.InvalidParams:
		code = contract.CodeInvalidRequest
	case e.Code == jsonrpc.MethodNotFound:
		code = contract.CodeUnsupported
	default:
		if c, ok := wordingCode(text); ok {
			code = c
		}
	}
	return &wireError{code, cut(text)}
}

// cut shortens an error: an unknown method is answered with the names of all.
func cut(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + "…"
}
