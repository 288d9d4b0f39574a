package adaptertest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
)

// Suite says what to test and with which recordings.
type Suite struct {
	Adapter adapters.Adapter
	// Wire understands recordings of other clients. Nil when all transcripts hold
	// commands.
	Wire Wire
	// Dir holds the transcripts, "testdata/transcripts" when empty; GoldenDir the
	// golden files, "testdata/golden" when empty.
	Dir, GoldenDir string
	// Options are set for every replay, beneath those of a transcript's header.
	Options adapters.Options
	// Skip leaves out transcripts by their name without ".jsonl"; the value says why.
	Skip map[string]string
}

func (s Suite) dir() string {
	if s.Dir != "" {
		return s.Dir
	}
	return filepath.Join("testdata", "transcripts")
}

func (s Suite) goldenDir() string {
	if s.GoldenDir != "" {
		return s.GoldenDir
	}
	return filepath.Join("testdata", "golden")
}

// recording is a transcript with its name.
type recording struct {
	name string
	transcript.File
}

// recordings reads the suite's transcripts in the order of their names. A line
// that cannot be read fails the test.
func (s Suite) recordings(t testing.TB) []recording {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.dir(), "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	var out []recording
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		if s.Skip[name] != "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := transcript.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, bad := range f.Bad {
			t.Errorf("%s: %v", path, bad)
		}
		out = append(out, recording{name, f})
	}
	if len(out) == 0 {
		t.Fatalf("no transcripts in %s", s.dir())
	}
	return out
}
