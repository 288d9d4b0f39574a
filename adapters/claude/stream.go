package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// partial is a message of the API while it is streamed. Its text is Live only;
// it is kept here in case the consolidated message never comes.
type partial struct {
	message string // the API's message id
	origin  string
	blocks  []*block // by index of the API
}

// block is a text or thinking block of a partial; others stay nil.
type block struct {
	thinking bool
	text     strings.Builder
	joiner   rawjson.Joiner
	// whole says that the consolidated message came.
	whole bool
}

// maxBlocks bounds the index of a block, which comes from the child. A block
// beyond it is streamed to nobody; its consolidated text comes all the same.
const maxBlocks = 4096

// streamEvent takes a piece of a message: it is shown live.
func (p *protocol) streamEvent(m message) error {
	ev := m.Get("event")
	kind := ev.Get("type").Text()
	if m.parent == "" && m.agent == "" {
		if kind == "message_start" || kind == "content_block_delta" {
			p.opened()
			p.enterMain(m.userUUIDs())
		}
	}
	key := m.parent
	switch kind {
	case "message_start":
		p.partial[key] = &partial{message: ev.Get("message", "id").Text(), origin: m.uuid}
		if key == "" {
			p.sawRequest(ev.Get("message"))
		}
	case "content_block_start":
		p.startBlock(key, ev)
	case "content_block_delta":
		return p.delta(m, ev)
	case "content_block_stop", "message_delta", "message_stop", "ping", "error":
		// The consolidated message and the result say it all.
	default:
		return fmt.Errorf("stream event of type %q: want one of the API's", kind)
	}
	return nil
}

func (p *protocol) startBlock(key string, ev rawjson.Value) {
	b := p.blockAt(key, ev.Get("index"))
	if b == nil {
		return
	}
	start := ev.Get("content_block")
	switch start.Get("type").Text() {
	case "text":
		*b = &block{}
		(*b).text.WriteString(start.Get("text").Text())
	case "thinking":
		*b = &block{thinking: true}
		(*b).text.WriteString(start.Get("thinking").Text())
	}
}

// blockAt is the place of a block, nil when there is none.
func (p *protocol) blockAt(key string, index rawjson.Value) **block {
	part := p.partial[key]
	if part == nil {
		part = &partial{}
		p.partial[key] = part
	}
	i, ok := index.Int()
	if !ok || i < 0 || i >= maxBlocks {
		return nil
	}
	for int64(len(part.blocks)) <= i {
		part.blocks = append(part.blocks, nil)
	}
	return &part.blocks[i]
}

func (p *protocol) delta(m message, ev rawjson.Value) error {
	d := ev.Get("delta")
	var piece string
	var thinking bool
	switch kind := d.Get("type").Text(); kind {
	case "text_delta":
		piece = d.Get("text").Wobbly()
	case "thinking_delta":
		piece, thinking = d.Get("thinking").Wobbly(), true
	case "input_json_delta", "signature_delta", "citations_delta", "compaction_delta":
		return nil // half a tool call is nothing to show
	default:
		return fmt.Errorf("delta of type %q: want one of the API's", kind)
	}
	at := p.blockAt(m.parent, ev.Get("index"))
	if at == nil {
		return nil
	}
	if *at == nil {
		*at = &block{thinking: thinking}
	}
	b := *at
	if text := b.joiner.Add(piece); text != "" {
		b.text.WriteString(text)
		if a := p.agents.find(m.agent, m.parent); a != nil && a.over {
			return nil // nobody shows it any more
		}
		p.live(adapters.Delta{Subagent: p.agentOf(m), Thinking: thinking, Text: text})
	}
	return nil
}

// consolidated notes that a text of a message has come whole, so that the
// streamed one is not emitted too.
func (p *protocol) consolidated(key, message string, thinking bool) {
	part := p.partial[key]
	if part == nil {
		return
	}
	if message != part.message {
		// The request was repeated: what was streamed before is void.
		delete(p.partial, key)
		return
	}
	i := slices.IndexFunc(part.blocks, func(b *block) bool { return b != nil && !b.whole && b.thinking == thinking })
	if i >= 0 {
		part.blocks[i].whole = true
	}
}

func (p *protocol) dropPartial(key string) { delete(p.partial, key) }

// keepPartial emits what was streamed and never came whole: the turn was cut off,
// and people have seen it.
func (p *protocol) keepPartial(key string) {
	part := p.partial[key]
	delete(p.partial, key)
	if part == nil {
		return
	}
	for _, b := range part.blocks {
		if b == nil || b.whole {
			continue
		}
		if text := b.text.String() + b.joiner.Flush(); text != "" {
			p.emit(adapters.Draft{Origin: part.origin, Event: contract.Text{Text: text, Thinking: b.thinking}})
			p.turn.said = p.turn.said || !b.thinking
		}
	}
}
