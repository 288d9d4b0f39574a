package adaptertest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// update says that golden files are written instead of compared. It is a flag so
// that one `go test ./... -run Golden -update` serves all adapters.
var update = flag.Bool("update", false, "write golden files instead of comparing them")

// Golden replays every transcript of the suite and compares the Steps, the stream
// and what it folds to with the golden files. Each replay is done twice and must
// give equal bytes; the stream must be valid; the Protocol must say things right
// by itself, without the stamper's help.
func Golden(t *testing.T, s Suite) {
	known := map[string]bool{}
	for _, rec := range s.recordings(t) {
		for _, f := range files(rec.name) {
			known[f] = true
		}
		t.Run(rec.name, func(t *testing.T) { golden(t, s, rec) })
	}
	strays(t, s, known)
}

// files are the golden files of a transcript.
func files(name string) []string {
	return []string{name + ".steps.jsonl", name + ".envelopes.jsonl", name + ".transcript.json"}
}

func golden(t *testing.T, s Suite, rec recording) {
	got := Play(s, rec.File)
	for _, f := range got.Faults {
		t.Error(f)
	}
	calls := steps(got)
	stream, err := envelopes(got)
	if err != nil {
		t.Fatal(err)
	}

	again := Play(s, rec.File)
	if second := steps(again); !bytes.Equal(calls, second) {
		t.Errorf("two replays give different Steps: %s", firstDiff(calls, second))
	}
	if second, err := envelopes(again); err != nil || !bytes.Equal(stream, second) {
		t.Errorf("two replays give different streams: %s", firstDiff(stream, second))
	}
	folded, err := folded(got)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range files(rec.name) {
		compare(t, filepath.Join(s.goldenDir(), name), [][]byte{calls, stream, folded}[i])
	}
}

// compare compares got with a golden file, or writes it. What is empty has none.
func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update && len(got) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && len(got) == 0 {
		return
	}
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs: %s", path, firstDiff(want, got))
	}
}

// strays fails for golden files that no transcript has any more.
func strays(t *testing.T, s Suite, known map[string]bool) {
	entries, err := os.ReadDir(s.goldenDir())
	if err != nil {
		return
	}
	for _, e := range entries {
		if known[e.Name()] {
			continue
		}
		path := filepath.Join(s.goldenDir(), e.Name())
		if *update {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
			continue
		}
		t.Errorf("%s belongs to no transcript", path)
	}
}

// firstDiff shows the first line in which two texts differ.
func firstDiff(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	n := 0
	for n < len(w) && n < len(g) && w[n] == g[n] {
		n++
	}
	line := func(lines []string) string {
		if n >= len(lines) {
			return "(end)"
		}
		return lines[n]
	}
	a, b := line(w), line(g)
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return fmt.Sprintf("line %d, byte %d:\nwant %s\ngot  %s", n+1, at, around(a, at), around(b, at))
}

// around cuts a long line to what stands around byte at.
func around(s string, at int) string {
	const before, after = 120, 400
	from, to := max(0, at-before), min(len(s), at+after)
	out := strings.ToValidUTF8(s[from:to], "?")
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}

// names lists recordings by name, for messages.
func names(list []recording) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.name)
	}
	slices.Sort(out)
	return out
}
