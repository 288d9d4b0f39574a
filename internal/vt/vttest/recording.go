// Package vttest has what real agents wrote to their terminals, for tests.
package vttest

import (
	"encoding/json/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Recording is what a real agent wrote to its terminal, in the pieces it came.
type Recording struct {
	Cols, Rows int
	Chunks     []string
}

// Recordings are those of a directory, at least one, by the names of their files. They lie
// in internal/vt/testdata.
func Recordings(tb testing.TB, dir string) map[string]Recording {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no recordings in %s: %v", dir, err)
	}
	all := map[string]Recording{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		var r Recording
		if err := json.Unmarshal(data, &r, json.MatchCaseInsensitiveNames(true)); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = r
	}
	return all
}
