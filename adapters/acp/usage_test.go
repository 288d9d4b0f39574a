package acp

import (
	"encoding/json"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// TestReadTokens: what the totals of real agents say about what is in what.
func TestReadTokens(t *testing.T) {
	for usage, want := range map[string]tokens{
		// copilot and qwen: input with cache, output with thoughts.
		`{"inputTokens":100,"outputTokens":7,"totalTokens":107,"thoughtTokens":3,"cachedReadTokens":5,"cachedWriteTokens":0}`: {100, 7, 3, 5, 0},
		// opencode: neither.
		`{"inputTokens":95,"outputTokens":4,"totalTokens":107,"thoughtTokens":3,"cachedReadTokens":5}`: {100, 7, 3, 5, 0},
		// codex-acp: input without cache.
		`{"totalTokens":110,"inputTokens":80,"cachedReadTokens":20,"cachedWriteTokens":0,"outputTokens":10,"thoughtTokens":0}`: {100, 10, 0, 20, 0},
		// claude-agent-acp: nothing cached.
		`{"inputTokens":2576,"outputTokens":37,"cachedReadTokens":0,"cachedWriteTokens":0,"totalTokens":2613}`: {2576, 37, 0, 0, 0},
		`{"inputTokens":10,"outputTokens":2,"totalTokens":15,"thoughtTokens":3}`:                               {10, 5, 3, 0, 0},
		// No total: as the schema says.
		`{"inputTokens":10,"outputTokens":2,"cachedReadTokens":4,"cachedWriteTokens":1}`: {15, 2, 0, 4, 1},
	} {
		if got, ok := readTokens(rawjson.Value(usage)); !ok || got != want {
			t.Errorf("readTokens(%s) = %+v, want %+v", usage, got, want)
		}
	}
	for _, usage := range []string{`null`, `{}`, `{"inputTokens":"many"}`, `[1]`} {
		if got, ok := readTokens(rawjson.Value(usage)); ok {
			t.Errorf("readTokens(%s) = %+v, want nothing", usage, got)
		}
	}
}

func endUsage(b *bench) string {
	end := b.drafts[len(b.drafts)-1].Event.(contract.TurnEnd)
	s, _ := json.Marshal(usageJSON(end.Usage))
	if end.Usage != nil && end.Usage.Extra != nil {
		return string(s) + string(end.Usage.Extra)
	}
	return string(s)
}

func TestUsageOfSession(t *testing.T) {
	spec := fake
	spec.Quirks.Usage = UsageSession
	b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	for _, c := range []struct{ told, want string }{
		{`{"inputTokens":100,"outputTokens":7,"totalTokens":107}`, `{"inputTokens":100,"outputTokens":7}`},
		{`{"inputTokens":300,"outputTokens":20,"totalTokens":320}`, `{"inputTokens":200,"outputTokens":13}`},
		{`{"inputTokens":300,"outputTokens":20,"totalTokens":320}`, `null`},
		{`{"inputTokens":50,"outputTokens":5,"totalTokens":55}`, `{"inputTokens":50,"outputTokens":5}`}, // began anew
	} {
		b.prompt()
		b.result(b.last("session/prompt"), `{"stopReason":"end_turn","usage":`+c.told+`}`)
		if got := endUsage(b); got != c.want {
			t.Errorf("total %s: usage %s, want %s", c.told, got, c.want)
		}
	}
}

func TestUsageOfLastRequest(t *testing.T) {
	spec := fake
	spec.Quirks.Usage = UsageLastRequest
	b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	answer := `{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":2,"totalTokens":12}}`
	b.prompt()
	b.result(b.last("session/prompt"), answer)
	if got := endUsage(b); got != `{"inputTokens":10,"outputTokens":2}` {
		t.Errorf("one request: %s", got)
	}
	b.prompt()
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","status":"completed","title":"x"}`)
	b.result(b.last("session/prompt"), answer)
	if got := endUsage(b); got != `{"inputTokens":10,"outputTokens":2}{"scope":"last-request"}` {
		t.Errorf("several requests: %s, want it labelled", got)
	}
}

func TestUsageInChunks(t *testing.T) {
	b := plain(t)
	b.prompt()
	for range 2 {
		b.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":100,"outputTokens":7,"totalTokens":107,"thoughtTokens":3,"cachedReadTokens":5},"durationMs":45}}`)
	}
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	if got := endUsage(b); got != `{"inputTokens":200,"outputTokens":14,"reasoningTokens":6,"cacheReadTokens":10}` {
		t.Errorf("usage %s", got)
	}
	b.want("turn-start p1 | turn-end completed") // the empty chunk is no text
}

func cost(amount string) string {
	return `{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":` + amount + `,"currency":"USD"}}`
}

// TestCost: agents tell what the session cost so far.
func TestCost(t *testing.T) {
	b := plain(t)
	for _, c := range []struct{ told, want string }{
		{"0.000109", `{"inputTokens":0,"outputTokens":0,"cost":0.000109}`},
		{"0.000218", `{"inputTokens":0,"outputTokens":0,"cost":0.000109}`},
		{"0.000218", `null`},
		{"0.0001", `{"inputTokens":0,"outputTokens":0,"cost":0.0001}`}, // began anew
	} {
		b.prompt()
		b.update(cost(c.told))
		b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
		if got := endUsage(b); got != c.want {
			t.Errorf("total %s: usage %s, want %s", c.told, got, c.want)
		}
	}
	if b.facts.ContextUsed != 10 || b.facts.ContextSize != 100 {
		t.Errorf("context %d of %d", b.facts.ContextUsed, b.facts.ContextSize)
	}
}

// TestCostOfEarlierSession: what an earlier process spent is not this turn's.
func TestCostOfEarlierSession(t *testing.T) {
	b := openBench(t, fake, adapters.Options{Resume: "s"}, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`, `{}`)
	b.prompt()
	b.update(cost("5.01"))
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	if got := endUsage(b); got != `null` {
		t.Errorf("first turn: %s, want no cost: nobody told what it was before", got)
	}
	b.prompt()
	b.update(cost("5.03"))
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	if got := endUsage(b); got != `{"inputTokens":0,"outputTokens":0,"cost":0.02}` {
		t.Errorf("second turn: %s", got)
	}
	b = newBench(t, fake, adapters.Options{Resume: "s"})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
	b.update(cost("5"))
	b.result(b.last("session/load"), `{}`)
	b.prompt()
	b.update(cost("5.01"))
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	if got := endUsage(b); got != `{"inputTokens":0,"outputTokens":0,"cost":0.01}` {
		t.Errorf("first turn after a replayed cost: %s", got)
	}
}

// TestUsageHandedOver: zeros mean that another prompt's answer has the counts.
func TestUsageHandedOver(t *testing.T) {
	b := openBench(t, opencode(), adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	first := b.last("session/prompt")
	b.submit(adapters.Steer{ID: "st", Text: "left"})
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":7,"totalTokens":107}}`)
	b.result(first, `{"stopReason":"end_turn","usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}`)
	if got := endUsage(b); got != `{"inputTokens":100,"outputTokens":7}` {
		t.Errorf("usage %s, want that of the answer which has it", got)
	}
}

// TestModelThatAnswered: the model that did most of the turn, however its tokens are
// counted, and by its own name.
func TestModelThatAnswered(t *testing.T) {
	for usage, want := range map[string]string{
		`{"model":"small","token_count":{"totalTokens":1}},{"model":"large","token_count":{"totalTokens":9}}`:                                              "large",
		`{"model":"large","token_count":{"totalTokens":9}},{"model":"small","token_count":{"totalTokens":1}}`:                                              "large",
		`{"model":"small","token_count":{"input_tokens":10,"output_tokens":1}},{"model":"large","token_count":{"input_tokens":10,"output_tokens":9}}`:      "large",
		`{"model":"gemini-3.8-flash","token_count":{"input_tokens":10,"output_tokens":1}},{"model":"auto","token_count":{"input_tokens":90}}`:              "gemini-3.8-flash",
		`{"model":"auto","token_count":{"input_tokens":90}},{"model":"gemini-3.8-flash","token_count":{"input_tokens":10}},{"model":"b","token_count":{}}`: "gemini-3.8-flash",
		`{"model":"auto","token_count":{"input_tokens":9}}`:                                                                                                "auto",
		`{"model":"only"}`:                  "only",
		`{"token_count":{"totalTokens":9}}`: "",
	} {
		b := plain(t)
		b.prompt()
		b.result(b.last("session/prompt"), `{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":3,"output_tokens":1},"model_usage":[`+usage+`]}}}`)
		if m := b.drafts[len(b.drafts)-1].Event.(contract.TurnEnd).Model; m != want {
			t.Errorf("%s: model %q, want %q", usage, m, want)
		}
	}
}
