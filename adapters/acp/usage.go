package acp

import (
	"encoding/json/jsontext"
	"math"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// tokens are counts in the contract's meaning: input includes what was read from
// and written to a cache, output includes reasoning.
type tokens struct {
	input, output, reasoning, cacheRead, cacheWrite int64
}

func (t tokens) zero() bool { return t == tokens{} }

func (t tokens) plus(u tokens, sign int64) tokens {
	return tokens{
		t.input + sign*u.input, t.output + sign*u.output, t.reasoning + sign*u.reasoning,
		t.cacheRead + sign*u.cacheRead, t.cacheWrite + sign*u.cacheWrite,
	}
}

// usage counts what a turn consumed.
type usage struct {
	fresh bool // the session is new: its cost began at 0

	answer    tokens // of the turn, from the answers to its prompts
	hasAnswer bool
	chunks    tokens // of the turn, from chunks (qwen)
	requests  int    // tool calls of the turn: more than one model request
	model     string // that answered, as far as told

	session tokens // the last total that the agent told (UsageSession)

	cost     float64 // the last total cost that the agent told
	hasCost  bool
	costThen float64 // at the end of the last turn
	hasThen  bool
}

func (u *usage) begin() {
	u.answer, u.chunks, u.hasAnswer, u.requests, u.model = tokens{}, tokens{}, false, 0, ""
	if u.fresh && !u.hasThen {
		u.costThen, u.hasThen = 0, true
	}
}

// usageAnswer takes the counts of an answer to a prompt.
func (p *Protocol) usageAnswer(result rawjson.Value) {
	quota := result.Get("_meta", "quota")
	t, ok := readTokens(result.Get("usage"))
	if !ok {
		q := quota.Get("token_count")
		in, okIn := q.Get("input_tokens").Int()
		out, okOut := q.Get("output_tokens").Int()
		t, ok = tokens{input: in, output: out}, okIn && okOut
	}
	if ok && !t.zero() { // zeros mean cancelled or handed over, not free
		p.usage.answer, p.usage.hasAnswer = t, true
	}
	if model := mainModel(quota.Get("model_usage")); model != "" {
		p.usage.model = model
	}
}

// mainModel is the model that did most of a turn. Gemini CLI counts a part of the
// requests of one model under the alias that chose it: an alias is taken only when
// there is nothing else.
func mainModel(list rawjson.Value) string {
	alias := func(model string) bool { return model == "auto" || model == "default" }
	best, most := "", int64(-1)
	for m := range list.Elements() {
		model := m.Get("model").Text()
		n := countedTokens(m.Get("token_count"))
		if model == "" || alias(model) && best != "" && !alias(best) {
			continue
		}
		if n > most || alias(best) && !alias(model) {
			best, most = model, n
		}
	}
	return best
}

// countedTokens is the total of a count, which codex-acp and claude-agent-acp tell
// and Gemini CLI does not.
func countedTokens(v rawjson.Value) int64 {
	if n, ok := v.Get("totalTokens").Int(); ok {
		return n
	}
	in, _ := v.Get("input_tokens").Int()
	out, _ := v.Get("output_tokens").Int()
	return in + out
}

// usageChunk takes the counts that qwen sends after each model request.
func (p *Protocol) usageChunk(u rawjson.Value) {
	if t, ok := readTokens(u.Get("_meta", "usage")); ok {
		p.usage.chunks = p.usage.chunks.plus(t, 1)
	}
}

// usageUpdate takes the fill of the context and the cost of the session so far.
func (p *Protocol) usageUpdate(u rawjson.Value) {
	used, _ := u.Get("used").Int()
	size, _ := u.Get("size").Int()
	if used > 0 || size > 0 {
		f := p.facts()
		f.ContextUsed, f.ContextSize = used, size
	}
	if m := u.Get("_meta", "_claude/model").Text(); m != "" {
		p.usage.model = m
	}
	amount, ok := u.Get("cost", "amount").Float()
	if c := u.Get("cost", "currency").Text(); !ok || c != "USD" && c != "" || amount < 0 {
		return
	}
	if p.opener.replaying || !p.turn.open && !p.usage.hasThen {
		p.usage.costThen, p.usage.hasThen = amount, true // what an earlier process spent
	}
	p.usage.cost, p.usage.hasCost = amount, true
}

// readTokens reads an ACP usage. The schema has input without cache and output
// without thoughts, agents do as they like; the total tells which.
func readTokens(v rawjson.Value) (tokens, bool) {
	in, ok1 := v.Get("inputTokens").Int()
	out, ok2 := v.Get("outputTokens").Int()
	if !ok1 && !ok2 {
		return tokens{}, false
	}
	thought, _ := v.Get("thoughtTokens").Int()
	read, _ := v.Get("cachedReadTokens").Int()
	write, _ := v.Get("cachedWriteTokens").Int()
	total, ok := v.Get("totalTokens").Int()
	t := tokens{in, out, thought, read, write}
	rest := total - in - out
	switch cache := read + write; {
	case ok && rest == 0: // input and output have everything in them
	case ok && rest == thought && thought != cache:
		t.output += thought
	case ok && rest == cache+thought:
		t.input += cache
		t.output += thought
	default:
		t.input += cache
	}
	return t, true
}

// take returns what the turn consumed, nil when nothing is known, and makes the
// totals the base of the next turn.
func (u *usage) take(kind UsageKind) *contract.Usage {
	t, known := u.answer, u.hasAnswer
	label := jsontext.Value(nil)
	switch {
	case !known && !u.chunks.zero():
		t, known = u.chunks, true
	case known && kind == UsageSession:
		total := t
		t = total.plus(u.session, -1)
		if t.input < 0 || t.output < 0 { // the agent began to count anew
			t = total
		}
		u.session = total
	case known && kind == UsageLastRequest && u.requests > 0:
		label = jsontext.Value(`{"scope":"last-request"}`)
	}
	out := contract.Usage{
		InputTokens: max(t.input, 0), OutputTokens: max(t.output, 0), ReasoningTokens: max(t.reasoning, 0),
		CacheReadTokens: max(t.cacheRead, 0), CacheWriteTokens: max(t.cacheWrite, 0), Extra: label,
	}
	if u.hasCost {
		if u.hasThen {
			cost := u.cost - u.costThen
			if cost < 0 { // began anew
				cost = u.cost
			}
			cost = math.Round(cost*1e9) / 1e9 // a difference of floats has noise
			out.Cost = &cost
		}
		u.costThen, u.hasThen = u.cost, true
	}
	if !known || t.zero() {
		if out.Cost == nil || *out.Cost == 0 {
			return nil
		}
		out = contract.Usage{Cost: out.Cost}
	}
	return &out
}
