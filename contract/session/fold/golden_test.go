package fold_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden folds the streams of testdata. A file has comments (#), envelopes
// and deltas (~), one a line; its golden file shows each with the events it gave,
// and the transcript at the end.
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
			got, transcript := tell(t, script)
			golden := strings.TrimSuffix(file, ".txt") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs (run with -update and read the diff); got:\n%s", golden, got)
			}
			if replayed := replay(t, script); !bytes.Equal(replayed, transcript) {
				t.Errorf("without the deltas the transcript is %s\nwant %s", replayed, transcript)
			}
		})
	}
}

func tell(t *testing.T, script []byte) (story, transcript []byte) {
	t.Helper()
	f := fold.New(meta())
	var b bytes.Buffer
	for line := range bytes.Lines(script) {
		b.Write(line)
		var events []session.Event
		switch line[0] {
		case '#':
			continue
		case '~':
			var d fold.Delta
			if err := json.Unmarshal(line[1:], &d, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			events = f.Delta(d)
		default:
			events = f.Apply(decode(t, line))
		}
		for _, ev := range events {
			b.WriteString("\t" + string(encode(t, ev)) + "\n")
		}
	}
	transcript = encode(t, f.Transcript())
	indented := jsontext.Value(bytes.Clone(transcript))
	if err := indented.Indent(); err != nil {
		t.Fatal(err)
	}
	b.Write(append(indented, '\n'))
	return b.Bytes(), transcript
}

// replay folds the envelopes alone.
func replay(t *testing.T, script []byte) []byte {
	t.Helper()
	f := fold.New(meta())
	for line := range bytes.Lines(script) {
		if line[0] == '{' {
			f.Apply(decode(t, line))
		}
	}
	return encode(t, f.Transcript())
}

func decode(t *testing.T, line []byte) contract.Envelope {
	t.Helper()
	e, err := contract.Decode(line)
	if err != nil {
		t.Fatalf("Decode(%s) = %v", line, err)
	}
	return e
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := fold.Encode(v)
	if err != nil {
		t.Fatalf("Encode = %v", err)
	}
	return b
}
