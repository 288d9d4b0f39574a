package codex

import (
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// meter turns the running total of one thread into what was consumed.
type meter struct {
	total contract.Usage
	known bool
}

// add takes a total and the newest request's part of it, and returns what was
// consumed since the last total. Of the first one only the newest request is:
// the rest was consumed before this process, or copied with the history.
func (m *meter) add(total, last contract.Usage) contract.Usage {
	before := m.total
	m.total = total
	if !m.known || total.InputTokens < before.InputTokens || total.OutputTokens < before.OutputTokens {
		m.known = true
		return last
	}
	return contract.Usage{
		InputTokens:      total.InputTokens - before.InputTokens,
		OutputTokens:     total.OutputTokens - before.OutputTokens,
		ReasoningTokens:  max(total.ReasoningTokens-before.ReasoningTokens, 0),
		CacheReadTokens:  max(total.CacheReadTokens-before.CacheReadTokens, 0),
		CacheWriteTokens: max(total.CacheWriteTokens-before.CacheWriteTokens, 0),
	}
}

// tokenUsage takes the usage of a thread. One that comes between turns, when the
// thread is resumed, tells only what was before.
func (p *protocol) tokenUsage(th *thread, params rawjson.Value) {
	u := params.Get("tokenUsage")
	used := th.meter.add(breakdown(u.Get("total")), breakdown(u.Get("last")))
	if th == p.root && !p.turn.open {
		return
	}
	p.alive(th)
	p.usage.InputTokens += used.InputTokens
	p.usage.OutputTokens += used.OutputTokens
	p.usage.ReasoningTokens += used.ReasoningTokens
	p.usage.CacheReadTokens += used.CacheReadTokens
	p.usage.CacheWriteTokens += used.CacheWriteTokens
	if th != p.root {
		return
	}
	if n := integer(u.Get("last", "totalTokens")); n > 0 && n != p.facts.contextUsed {
		p.facts.contextUsed = n
		p.learn().ContextUsed = n
	}
	if n := integer(u.Get("modelContextWindow")); n > 0 && n != p.facts.contextSize {
		p.facts.contextSize = n
		p.learn().ContextSize = n
	}
}

// takeUsage is what was consumed since the last turn-end, nil when that is
// nothing. Codex tells no cost.
func (p *protocol) takeUsage() *contract.Usage {
	u := p.usage
	p.usage = contract.Usage{}
	if u.InputTokens == 0 && u.OutputTokens == 0 {
		return nil
	}
	return &u
}

// breakdown reads a TokenUsageBreakdown: input includes what came from the cache,
// output includes reasoning.
func breakdown(v rawjson.Value) contract.Usage {
	n := func(name string) int64 { return max(integer(v.Get(name)), 0) }
	return contract.Usage{
		InputTokens: n("inputTokens"), OutputTokens: n("outputTokens"), ReasoningTokens: n("reasoningOutputTokens"),
		CacheReadTokens: n("cachedInputTokens"), CacheWriteTokens: n("cacheWriteInputTokens"),
	}
}
