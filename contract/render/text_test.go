package render_test

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/contracttest"
	"github.com/agenthost/agenthost/contract/render"
	"github.com/agenthost/agenthost/contract/session/fold"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden renders the streams of testdata, envelopes and deltas (~) one a
// line, in three ways: into two files, the same without deltas, and on a
// coloured terminal that shows all there is (with escapes written as ␛).
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out, notes, quiet, quietNotes, both bytes.Buffer
			play(t, script, true, render.NewText(&out, &notes, render.Options{}))
			play(t, script, false, render.NewText(&quiet, &quietNotes, render.Options{}))
			play(t, script, true, render.NewText(&both, &both, render.Options{Color: true, Terminal: true, Thinking: true, Prompts: true}))
			if quietNotes.String() != notes.String() {
				t.Errorf("the notes without deltas are %s\nwant %s", quietNotes.String(), notes.String())
			}
			got := "--- text\n" + out.String() + "--- text without deltas\n" + quiet.String() + "--- notes\n" + notes.String() +
				"--- terminal\n" + strings.ReplaceAll(both.String(), "\x1b", "␛")
			golden := strings.TrimSuffix(file, ".txt") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs (run with -update and read the diff); got:\n%s", golden, got)
			}
		})
	}
}

func play(t *testing.T, script []byte, deltas bool, r *render.Text) {
	t.Helper()
	for line := range bytes.Lines(script) {
		if line[0] == '~' {
			var d fold.Delta
			if err := json.Unmarshal(line[1:], &d, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			if deltas {
				check(t, r.Delta(d))
			}
			continue
		}
		e, err := contract.Decode(line)
		if err != nil {
			t.Fatalf("Decode(%s) = %v", line, err)
		}
		check(t, r.Envelope(e))
	}
	check(t, r.Close())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("error %v, want none", err)
	}
}

// TestErrorsStay: the first error of a writer comes back from then on, and
// nothing more is written.
func TestErrorsStay(t *testing.T) {
	w := &failing{err: errors.New("broken pipe")}
	r := render.NewText(w, w, render.Options{})
	text := contract.Envelope{Role: contract.RoleAgent, Event: contract.Text{Text: "hi"}}
	for i, err := range []error{r.Envelope(text), r.Envelope(text), r.Delta(fold.Delta{Text: "x"}), r.Close()} {
		if !errors.Is(err, w.err) {
			t.Errorf("call %d = %v, want %v", i, err, w.err)
		}
	}
	if w.calls != 1 {
		t.Errorf("%d writes, want 1", w.calls)
	}
}

type failing struct {
	err   error
	calls int
}

func (f *failing) Write([]byte) (int, error) {
	f.calls++
	return 0, f.err
}

// TestDeltasChangeNothing: whatever pieces the agent's texts come in, and
// whichever of them come at all from the start of a text on, the text is the
// same as without deltas.
func TestDeltasChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out, notes, quiet, quietNotes bytes.Buffer
		live, plain := render.NewText(&out, &notes, render.Options{}), render.NewText(&quiet, &quietNotes, render.Options{})
		for _, e := range contracttest.Stream().Draw(t, "stream") {
			text, ok := e.Event.(contract.Text)
			if ok && e.Role == contract.RoleAgent && e.Subagent == "" && !text.Thinking {
				rest := []rune(text.Text)
				for len(rest) > 0 && rapid.Bool().Draw(t, "delta") {
					n := rapid.IntRange(1, len(rest)).Draw(t, "length")
					if err := live.Delta(fold.Delta{Text: string(rest[:n])}); err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
			}
			if err := errors.Join(live.Envelope(e), plain.Envelope(e)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(live.Close(), plain.Close()); err != nil {
			t.Fatal(err)
		}
		if out.String() != quiet.String() {
			t.Errorf("with deltas %q\nwithout     %q", out.String(), quiet.String())
		}
		if notes.String() != quietNotes.String() {
			t.Errorf("notes with deltas %q\nwithout           %q", notes.String(), quietNotes.String())
		}
	})
}
