package codex

import (
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// partial is a text while it is streamed. It is Live only, and kept in case the
// completed item never comes.
type partial struct {
	item, turn string
	thinking   bool
	text       strings.Builder
	joiner     rawjson.Joiner
	// part is the summary part or content block that is streamed.
	part int64
}

func (th *thread) partial(item string) *partial {
	i := slices.IndexFunc(th.partials, func(t *partial) bool { return t.item == item })
	if i < 0 {
		return nil
	}
	return th.partials[i]
}

// begin makes the partial of an item; one that starts anew begins from nothing.
func (th *thread) begin(turn, item string, thinking bool) *partial {
	th.forget(item)
	t := &partial{item: item, turn: turn, thinking: thinking}
	th.partials = append(th.partials, t)
	return t
}

func (th *thread) forget(item string) {
	th.partials = slices.DeleteFunc(th.partials, func(t *partial) bool { return t.item == item })
}

// textDelta takes a piece of a text.
func (p *protocol) textDelta(th *thread, params rawjson.Value, thinking bool, index string) {
	p.alive(th)
	item := params.Get("itemId").Text()
	if item == "" || !p.speaks(th) {
		return
	}
	t := th.partial(item)
	if t == nil {
		t = th.begin(params.Get("turnId").Text(), item, thinking)
	}
	piece := params.Get("delta").Wobbly()
	if index != "" {
		if n := integer(params.Get(index)); n != t.part {
			t.part = n
			if t.text.Len() > 0 {
				piece = "\n\n" + piece
			}
		}
	}
	if text := t.joiner.Add(piece); text != "" {
		t.text.WriteString(text)
		p.live(adapters.Delta{Subagent: th.agent, Thinking: t.thinking, Text: text})
	}
}

// speaks reports whether the stream has a place for what a thread says now: the
// root's turn, or a run of a sub-agent.
func (p *protocol) speaks(th *thread) bool {
	if th == p.root {
		return p.turn.open
	}
	return th.started
}

// say emits a text of the agent.
func (p *protocol) say(th *thread, turn string, item rawjson.Value, text string, thinking bool) {
	id := item.Get("id").Text()
	th.forget(id)
	if th == p.root && p.turn.said != nil {
		p.turn.said[id] = true
	}
	if text == "" {
		return
	}
	p.emit(adapters.Draft{Subagent: th.agent, Origin: origin(turn, id), Event: contract.Text{Text: text, Thinking: thinking}})
}

// keepPartials emits what was streamed and never came whole: people have seen it.
func (p *protocol) keepPartials(th *thread) {
	list := th.partials
	th.partials = nil
	for _, t := range list {
		if text := t.text.String() + t.joiner.Flush(); strings.TrimSpace(text) != "" {
			if th == p.root && p.turn.said != nil {
				p.turn.said[t.item] = true
			}
			p.emit(adapters.Draft{Subagent: th.agent, Origin: origin(t.turn, t.item), Event: contract.Text{Text: text, Thinking: t.thinking}})
		}
	}
}

func (p *protocol) dropPartials(th *thread) { th.partials = nil }

// reasoningText is the summary of a reasoning item, else what the model thought.
func reasoningText(item rawjson.Value) string {
	for _, name := range []string{"summary", "content"} {
		var parts []string
		for e := range item.Get(name).Elements() {
			if s := e.Text(); s != "" {
				parts = append(parts, s)
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, "\n\n")
		}
	}
	return ""
}
