package claude

import (
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// user takes a message in the user's role. None of them is a person's: they are
// tool results, or texts that the CLI echoes or makes up (replays, summaries,
// notes about interrupts, the prompts of sub-agents).
func (p *protocol) user(m message) error {
	p.opened()
	content := m.Get("message", "content")
	if content.Kind() == rawjson.String {
		p.echoed(m, content.Text())
		return nil
	}
	var err error
	for b := range content.Elements() {
		switch kind := b.Get("type").Text(); kind {
		case "tool_result":
			p.toolResult(m, b)
		case "text":
			p.echoed(m, b.Get("text").Text())
		case "image", "document":
			// A replay of what was sent.
		default:
			err = fmt.Errorf("user content of type %q: want one of the API's", kind)
		}
	}
	return err
}

// toolResult takes the result of a call, unless it is told already: a killed
// sub-agent's calls report after its end.
func (p *protocol) toolResult(m message, b rawjson.Value) {
	id := b.Get("tool_use_id").Text()
	if id == "" || p.told(id) {
		return
	}
	agent := p.agentOf(m)
	if agent == "" {
		p.enterMain(nil)
	}
	p.endCall(m, agent, b)
}

// echoed takes a text in the user's role.
func (p *protocol) echoed(m message, text string) {
	if m.parent != "" || m.agent != "" || m.Get("isSynthetic").True() {
		return
	}
	if strings.HasPrefix(text, "[Request interrupted by user") {
		p.turn.interrupted = p.turn.open
		return
	}
	for _, tag := range []string{"local-command-stdout", "local-command-stderr"} {
		if inner, ok := strings.CutPrefix(text, "<"+tag+">"); ok && p.turn.open && !p.requests.waiting("set_model") {
			p.turn.local = strings.TrimSpace(strings.TrimSuffix(inner, "</"+tag+">"))
		}
	}
}
