package adaptertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters/transcript"
)

func miniSuite(wrong string) Suite { return Suite{Adapter: mini{wrong}, Wire: ACP(nil)} }

func TestGolden(t *testing.T)   { Golden(t, miniSuite("")) }
func TestConform(t *testing.T)  { Conform(t, miniSuite("")) }
func FuzzProtocol(f *testing.F) { Fuzz(f, miniSuite("")) }

// TestCatches: each check finds what it is there for.
func TestCatches(t *testing.T) {
	tests := []struct{ wrong, check, want string }{
		{"claim without a reason", "describe", "without a reason"},
		{"file outside", "launch", "outside of the state directory"},
		{"changes a Step", "purity", "changed after it was returned"},
		{"keeps a frame", "purity", "differ"},
		{"leaves the turn open", "exit", "the turn is open"},
		{"writes to the dead", "exit", "child that is gone"},
		{"forgets the open", "exit", "has no outcome"},
		{"ends twice", "exit", "turn-end without a turn"},
		{"asks for nothing", "exit", "which is not open"},
		{"repeats an ask", "exit", "was used before"},
		{"takes any answer", "commands", "an ask that never was"},
		{"takes two answers", "asks", "a second Answer"},
		{"claims steer", "commands", "Steer is claimed"},
		{"refuses vaguely", "commands", "want ErrUnsupported"},
		{"acts and refuses", "commands", "Step that is not empty"},
		{"ignores aborts", "abort", "within ten minutes"},
		{"aborts too soon", "abort", "turn-end without a turn"},
		{"wakes for ever", "abort", "ticks"},
		{"trips over news", "grease", "change what is said"},
		{"says garbage", "garbage", "change what is said"},
		{"swallows errors", "garbage", "torn line"},
		{"capability goes away", "capabilities", "went away"},
		{"hides reasoning", "capabilities", "reasoning: claimed false"},
	}
	for _, tt := range tests {
		t.Run(tt.wrong, func(t *testing.T) {
			s := miniSuite(tt.wrong)
			recs := s.recordings(t)
			for _, c := range checks() {
				if c.name != tt.check {
					continue
				}
				faults := strings.Join(c.run(s, recs), "\n")
				if !strings.Contains(faults, tt.want) {
					t.Errorf("%s of an adapter that %s = %q, want a fault with %q", c.name, tt.wrong, faults, tt.want)
				}
			}
		})
	}
}

// TestReplayMatchesTheRecording follows one recording of another client through
// what the Wire makes of it.
func TestReplayMatchesTheRecording(t *testing.T) {
	s := miniSuite("")
	f, err := os.Open(filepath.Join(s.dir(), "client.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := transcript.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	got := Play(s, file)
	if len(got.Faults) > 0 {
		t.Errorf("faults = %q, want none", got.Faults)
	}
	want := []string{
		"the recorded answer to authenticate was not asked for", "the recorded request authenticate has no command",
	}
	if strings.Join(got.Notes, "\n") != strings.Join(want, "\n") {
		t.Errorf("notes = %q, want %q", got.Notes, want)
	}
	var kinds []string
	for _, e := range got.Envelopes {
		kinds = append(kinds, string(e.Role)+":"+string(e.Event.EventType()))
	}
	stream := strings.Join(kinds, " ")
	wantStream := "user:text agent:turn-start agent:text agent:text agent:text agent:tool-call-start agent:permission-request " +
		"user:permission-response agent:tool-call-end user:text agent:turn-end agent:turn-start agent:tool-call-start " +
		"agent:permission-request user:abort user:permission-response agent:tool-call-end agent:turn-end"
	if stream != wantStream {
		t.Errorf("stream = %s\nwant     %s", stream, wantStream)
	}
}

func TestUncovered(t *testing.T) {
	s := miniSuite("")
	doc := "| native | envelope |\n|---|---|\n" +
		"| `session/update`, `agent_message_chunk` | text |\n| `agent_thought_chunk` | `tool_call_update` |\n" +
		"| `session/request_permission` | |\n| `stopReason: end_turn` | |\nno row: `stopReason: cancelled`\n"
	got := strings.Join(uncovered(s, s.recordings(t), []string{doc}), "\n")
	want := "`option: allow_once` (client, record 11)\n`option: reject_once` (client, record 11)\n" +
		"`status: completed` (client, record 13)\n`stopReason: cancelled` (client, record 19)\n" +
		"`tool_call_update` (client, record 13)"
	if got != want {
		t.Errorf("uncovered =\n%s\nwant\n%s", got, want)
	}
}

func TestTrapFaults(t *testing.T) {
	read := func(name string) string {
		return map[string]string{"a.go": "func handle() {}", "x/b.go": "package x"}[name]
	}
	tests := func(dir string) string {
		return map[string]string{"": "func TestA(t *testing.T) { \"01 ids\" }", "x": "func TestB(t *testing.T) {}"}[dir]
	}
	for row, want := range map[string]string{
		"| ids | `a.go` `handle` | `TestA/01`, `TestA` |":    "",
		"| ids | done so | `x/b.go` `package` | `x TestB` |": "",
		"| ids | `c.go` | `TestA` |":                         "no file c.go",
		"| ids | `a.go` `other` | `TestA` |":                 "other is not in the file",
		"| ids | `a.go` | `TestAB` |":                        "no test TestAB",
		"| ids | `a.go` | `TestB` |":                         "no test TestB",
		"| ids | `a.go` | `x TestA` |":                       "no test x TestA",
		"| ids | `a.go` | `TestA/02` |":                      `begins with "02"`,
		"| ids | `a.go` | by hand |":                         "want where it is handled, and a test",
		"| ids | in the host | `TestA` |":                    "want where it is handled, and a test",
		"| ids | `TestA` |":                                  "want a trap, what is done",
	} {
		cells, ok := trapRow(row)
		got := strings.Join(trapFaults(cells, read, tests), "; ")
		if !ok || want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %v %q, want %q", row, ok, got, want)
		}
	}
	for _, line := range []string{"|---|---|", "text", "| trap | where | tests |"} {
		if _, ok := trapRow(line); ok {
			t.Errorf("%q is taken for a row", line)
		}
	}
}
