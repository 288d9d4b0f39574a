package codex_test

import (
	"slices"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// A review is one turn, although it begins under another name than its items and
// its end have; what it found is told once, and what the reviewer is told is not.
func TestReview(t *testing.T) {
	for name, last := range map[string]string{
		"with a message": item(true, "root", `"type":"agentMessage","id":"m","text":"It is fine."`),
		"without one":    `{"method":"thread/status/changed","params":{"threadId":"thr-1","status":{"type":"idle"}}}`,
	} {
		s := start(t, adapters.Options{})
		s.submit(adapters.Op{ID: "r", Name: "review"})
		s.answer("review/start", `{"turn":{"id":"root"}}`)
		s.hear(item(false, "root", `"type":"enteredReviewMode","id":"e","review":"changes"`),
			`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"inner","rootTurnId":"root"}}}`,
			item(false, "root", `"type":"userMessage","id":"u","clientId":null,"content":[{"type":"text","text":"Review it, reviewer."}]`),
			item(false, "root", `"type":"commandExecution","id":"c","command":"git diff","status":"inProgress"`),
			item(true, "root", `"type":"commandExecution","id":"c","command":"git diff","status":"completed","exitCode":0`),
			item(true, "root", `"type":"exitedReviewMode","id":"x","review":"It is fine.\n"`), last)
		s.completed("root", "completed")
		if ends := of[contract.TurnEnd](s); len(ends) != 1 || ends[0].Status != contract.TurnCompleted {
			t.Fatalf("%s: ends = %+v", name, ends)
		}
		if got := s.texts(); !slices.Equal(got, []string{"It is fine."}) {
			t.Errorf("%s: texts = %q", name, got)
		}
		if calls := of[contract.ToolCallEnd](s); len(calls) != 1 || calls[0].Result == nil {
			t.Errorf("%s: calls = %+v", name, calls)
		}
		s.turn("p1", "t2")
		s.completed("t2", "completed")
		if ends := of[contract.TurnEnd](s); len(ends) != 2 {
			t.Errorf("%s: %d ends after the next turn", name, len(ends))
		}
	}
}
