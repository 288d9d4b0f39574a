package claude

import (
	"math"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// meter turns what results report into what each turn consumed.
type meter struct {
	// total is the cost that the newest result reported for the whole process.
	total float64
	// known says that total is a baseline to subtract. A resumed session goes on
	// with a total that nobody told us, so its first difference is unknown.
	known bool
	// context is how many tokens the newest request of the main agent held.
	context int64
}

func newMeter(o adapters.Options) meter {
	return meter{known: o.Resume == "" && o.Fork == "" && !o.Continue}
}

// reset starts from zero, as the CLI does when the conversation is cleared.
func (t *meter) reset() { *t = meter{known: true} }

// turn is what the turn of a result consumed, nil when that is nothing.
//
// Newer versions report it (model_usage_since_last_result: the main agent, its
// sub-agents and chores such as compaction). Of older ones usage is this turn's
// main agent alone and total_cost_usd the running total.
func (t *meter) turn(m message) *contract.Usage {
	var u contract.Usage
	cost, costs := 0.0, false
	if since := m.Get("model_usage_since_last_result"); since.Kind() == rawjson.Object {
		for _, model := range since.Members() {
			addModel(&u, model)
			if c, ok := model.Get("costUSD").Float(); ok {
				cost += c
			}
		}
		costs = true
	} else {
		u = mainUsage(m.Get("usage"))
	}
	if total, ok := m.Get("total_cost_usd").Float(); ok {
		if !costs && t.known {
			cost, costs = difference(t.total, total), true
		}
		t.total, t.known = total, true
	}
	if costs {
		cost = round(cost)
		u.Cost = &cost
	}
	if u.InputTokens == 0 && u.OutputTokens == 0 && cost == 0 {
		return nil
	}
	return &u
}

// difference is the cost since the last total. A total that fell was reset.
func difference(before, after float64) float64 {
	if after < before {
		return after
	}
	return after - before
}

// round takes the noise of binary sums out of a sum of money in USD.
func round(usd float64) float64 { return math.Round(usd*1e9) / 1e9 }

func addModel(u *contract.Usage, model rawjson.Value) {
	read, written := integer(model.Get("cacheReadInputTokens")), integer(model.Get("cacheCreationInputTokens"))
	u.InputTokens += integer(model.Get("inputTokens")) + read + written
	u.OutputTokens += integer(model.Get("outputTokens"))
	u.CacheReadTokens += read
	u.CacheWriteTokens += written
	u.ReasoningTokens += integer(model.Get("thinkingTokens"))
}

// mainUsage reads the usage of the API.
func mainUsage(v rawjson.Value) contract.Usage {
	read, written := integer(v.Get("cache_read_input_tokens")), integer(v.Get("cache_creation_input_tokens"))
	return contract.Usage{
		InputTokens:      integer(v.Get("input_tokens")) + read + written,
		OutputTokens:     integer(v.Get("output_tokens")),
		CacheReadTokens:  read,
		CacheWriteTokens: written,
		ReasoningTokens:  integer(v.Get("output_tokens_details", "thinking_tokens")),
	}
}
