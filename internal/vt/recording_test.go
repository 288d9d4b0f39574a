package vt

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/internal/vt/vttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestRecordings: the repaint of real agents' screens after each piece that they wrote,
// also what the next piece makes of it; and the fullest screen of each as golden file.
func TestRecordings(t *testing.T) {
	for name, r := range vttest.Recordings(t, "testdata") {
		t.Run(name, func(t *testing.T) {
			term := New(r.Cols, r.Rows, 100)
			var before *Terminal // a repaint of what was before the piece
			fullest := ""
			for i, chunk := range r.Chunks {
				_, _ = term.Write([]byte(chunk))
				term.checkInvariants(t)
				if before != nil {
					_, _ = before.Write([]byte(chunk))
					if !alike(before, term, i%8 == 0) {
						t.Fatalf("repainted before piece %d:\n%s", i, difference(before.state(), term.state()))
					}
				}
				before = New(r.Cols, r.Rows, 0)
				_, _ = before.Write(term.Repaint())
				before.titles = term.titles
				if !alike(before, term, i%8 == 4) {
					t.Fatalf("repainted after piece %d:\n%s", i, difference(before.state(), term.state()))
				}
				if text := strings.Join(term.Lines(), "\n") + "\n"; len(text) >= len(fullest) {
					fullest = text
				}
			}
			golden := "testdata/" + name + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(fullest), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := difference(fullest, string(want)); d != "" {
				t.Error(d)
			}
		})
	}
}

// alike compares two terminals: thoroughly, which takes long, or by their repaints.
func alike(a, b *Terminal, thoroughly bool) bool {
	if thoroughly {
		return a.state() == b.state()
	}
	return string(a.Repaint()) == string(b.Repaint())
}

// TestRecordingsInBytes: how what is written is cut makes no difference.
func TestRecordingsInBytes(t *testing.T) {
	for name, r := range vttest.Recordings(t, "testdata") {
		whole, bytewise := New(r.Cols, r.Rows, 100), New(r.Cols, r.Rows, 100)
		all := strings.Join(r.Chunks, "")
		_, _ = whole.Write([]byte(all))
		for i := range len(all) {
			_, _ = bytewise.Write([]byte{all[i]})
		}
		if d := difference(bytewise.state(), whole.state()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if string(bytewise.Answers()) != string(whole.Answers()) {
			t.Errorf("%s: other answers", name)
		}
		if string(bytewise.Scrollback()) != string(whole.Scrollback()) {
			t.Errorf("%s: another scrollback", name)
		}
	}
}
