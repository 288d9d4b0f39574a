package claude

import (
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// synthetic is the model of messages that the CLI makes up itself.
const synthetic = "<synthetic>"

// assistant takes a consolidated message: one content block, or several of
// older versions.
func (p *protocol) assistant(m message) error {
	p.opened()
	agent := p.agentOf(m)
	if agent == "" {
		p.enterMain(m.userUUIDs())
		p.sawRequest(m.Get("message"))
		p.lastAnswer = m.uuid
	}
	if m.Get("is_api_error_message").True() || m.Get("error").Kind() == rawjson.String {
		p.apiError(m, agent)
		return nil
	}
	if len(texts(m.Get("supersedes"))) > 0 {
		p.noticeOf(agent, contract.ServiceNotice, "", "The agent took its last answer back and gives another one.")
	}
	var err error
	content := m.Get("message", "content")
	if content.Kind() == rawjson.String {
		p.say(m, agent, content.Text(), false)
	}
	for b := range content.Elements() {
		if e := p.assistantBlock(m, agent, b); e != nil {
			err = e
		}
	}
	return err
}

func (p *protocol) assistantBlock(m message, agent string, b rawjson.Value) error {
	switch kind := b.Get("type").Text(); {
	case kind == "text":
		p.say(m, agent, b.Get("text").Text(), false)
	case kind == "thinking":
		p.say(m, agent, b.Get("thinking").Text(), true)
	case kind == "redacted_thinking":
		// Encrypted: there is nothing to read.
	case strings.HasSuffix(kind, "tool_use"):
		p.startCall(m, agent, b)
	case strings.HasSuffix(kind, "_tool_result"):
		// The API's own tools (web search …) report in the answer itself.
		if id := b.Get("tool_use_id").Text(); id != "" && !p.told(id) {
			p.endCall(m, agent, b)
		}
	default:
		return fmt.Errorf("content block of type %q: want one of the API's", kind)
	}
	return nil
}

// say emits a text of the agent.
func (p *protocol) say(m message, agent, text string, thinking bool) {
	p.consolidated(m.parent, m.text("message", "id"), thinking)
	if text == "" {
		return
	}
	p.emit(adapters.Draft{Subagent: agent, Origin: m.uuid, Event: contract.Text{Text: text, Thinking: thinking}})
	if agent == "" && !thinking {
		p.turn.said = true
	}
}

// apiError takes the CLI's text about a failed request. Of the main agent it
// becomes the error of the turn, should the turn fail; it is no answer.
func (p *protocol) apiError(m message, agent string) {
	f := &failure{kind: m.text("error"), status: int(integer(m.Get("api_error_status")))}
	content := m.Get("message", "content")
	f.text = content.Text()
	for b := range content.Elements() {
		f.text += b.Get("text").Text()
	}
	if agent == "" {
		p.turn.failure = f
		return
	}
	p.noticeOf(agent, contract.ServiceError, f.code(), f.text)
}

// sawRequest notes the model and the size of the context from a message of the
// main agent.
func (p *protocol) sawRequest(message rawjson.Value) {
	if model := message.Get("model").Text(); model != "" && model != synthetic {
		p.turn.model = model
		u := mainUsage(message.Get("usage"))
		if u.InputTokens > 0 {
			p.meter.context = u.InputTokens + u.OutputTokens
		}
	}
}
