package host

import (
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/journal"
)

// records makes a stream of words:
//
//	user ID, steer ID, start [ID…], end, say ORIGIN, sub ORIGIN, call ORIGIN, stopped
//
// The id of an envelope of the agent is "e" and its position.
func records(words string) []journal.Record {
	var list []journal.Record
	for line := range strings.SplitSeq(words, ",") {
		word, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		e := contract.Envelope{Role: contract.RoleAgent, ID: "e" + string(rune('0'+len(list)))}
		switch word {
		case "user", "steer":
			e = contract.Envelope{Role: contract.RoleUser, ID: arg, Event: contract.Text{Text: arg, Steer: word == "steer"}}
		case "start":
			e.Event = contract.TurnStart{Prompts: strings.Fields(arg)}
		case "end":
			e.Event = contract.TurnEnd{Status: contract.TurnCompleted}
		case "say":
			e.Origin, e.Event = arg, contract.Text{Text: arg}
		case "sub":
			e.Origin, e.Subagent, e.Event = arg, "s", contract.Text{Text: arg}
		case "call":
			e.Origin, e.Event = arg, contract.ToolCallStart{Call: arg}
		case "stopped":
			e.Event = contract.Service{Kind: contract.ServiceNotice, Code: contract.CodeHostStopped}
		}
		list = append(list, journal.Record{Position: journal.Position(len(list)), Envelope: e})
	}
	return list
}

// TestPoint: where in the agent's conversation a message or an answer stands.
func TestPoint(t *testing.T) {
	const two = "user a, start a, say o1, end, user b, start b, call o2, sub x, say o3, end"
	for name, c := range map[string]struct {
		stream  string
		rewinds []Rewind
		base    string
		p       opParams
		to, at  string
		failure string
	}{
		"before a message":          {two, nil, "", opParams{To: "b"}, "b", "o1", ""},
		"before the first":          {two, nil, "", opParams{To: "a"}, "a", "", ""},
		"before a branch's first":   {two, nil, "o0", opParams{To: "a"}, "a", "o0", ""},
		"a message as at":           {two, nil, "", opParams{At: "b"}, "b", "o1", ""},
		"behind an answer":          {two, nil, "", opParams{At: "e2"}, "", "o1", ""},
		"behind a call":             {two, nil, "", opParams{At: "e6"}, "", "o2", ""},
		"what a sub-agent said":     {two, nil, "", opParams{At: "e7"}, "", "o2", ""},
		"behind a turn":             {two, nil, "", opParams{At: "e9"}, "", "o3", ""},
		"before all answers":        {two, nil, "", opParams{At: "e1"}, "", "e1", "no answer"},
		"an origin":                 {two, nil, "", opParams{At: "o2"}, "", "o2", ""},
		"the agent's own":           {two, nil, "", opParams{To: "native", At: "native"}, "native", "native", ""},
		"both":                      {two, nil, "", opParams{To: "b", At: "e8"}, "b", "o3", ""},
		"neither":                   {two, nil, "", opParams{}, "", "", ""},
		"queued in a turn":          {"user a, start a, say o1, user b, say o2, end, start b, say o3, end", nil, "", opParams{To: "b"}, "b", "o2", ""},
		"after the agent's own":     {"user a, start a, say o1, end, user b, start, say o2, end, start b, say o3, end", nil, "", opParams{To: "b"}, "b", "o2", ""},
		"merged":                    {"user a, start a, say o1, end, user b, user c, start b c, say o2, end", nil, "", opParams{To: "c"}, "c", "o1", ""},
		"a steer":                   {"user a, start a, say o1, steer b, say o2, end", nil, "", opParams{To: "b"}, "b", "o1", ""},
		"not taken up":              {"user a, start a, say o1, end, user b", nil, "", opParams{To: "b"}, "b", "o1", ""},
		"not sent":                  {"user a, start a, say o1, end, user b, stopped, user c, start c, say o2, end", nil, "", opParams{To: "c"}, "c", "o1", ""},
		"rewound away":              {two, []Rewind{{Position: 10, Origin: "o1"}}, "", opParams{To: "b"}, "b", "", "was rewound"},
		"behind a rewind":           {two + ", user c, start c, say o4, end", []Rewind{{Position: 10, Origin: "o1"}}, "", opParams{To: "c"}, "c", "o1", ""},
		"kept by a rewind":          {two, []Rewind{{Position: 10, Origin: "o1"}}, "", opParams{To: "a"}, "a", "", ""},
		"rewound twice":             {two + ", user c, start c, say o4, end, user d, start d, say o5, end", []Rewind{{Position: 10, Origin: "o1"}, {Position: 14, Origin: "o1"}}, "", opParams{To: "d"}, "d", "o1", ""},
		"rewound before the stream": {two + ", user c, start c, say o4, end", []Rewind{{Position: 10, Origin: "older"}}, "", opParams{To: "c"}, "c", "older", ""},
	} {
		conv, err := readConversation(func(yield func(journal.Record, error) bool) {
			for _, r := range records(c.stream) {
				if !yield(r, nil) {
					return
				}
			}
		}, c.rewinds, c.base)
		if err != nil {
			t.Fatal(err)
		}
		p, err := conv.point(c.p)
		if c.failure != "" {
			if err == nil || !strings.Contains(err.Error(), c.failure) {
				t.Errorf("%s: %v, want %q", name, err, c.failure)
			}
			continue
		}
		if err != nil || p.To != c.to || p.At != c.at {
			t.Errorf("%s: to %q at %q, %v; want %q and %q", name, p.To, p.At, err, c.to, c.at)
		}
	}
}
