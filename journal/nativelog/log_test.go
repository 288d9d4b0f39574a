package nativelog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/internal/redact"
	"github.com/agenthost/agenthost/journal/nativelog"
)

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func open(t *testing.T, dir string, o nativelog.Options) *nativelog.Log {
	t.Helper()
	l := nativelog.Open(dir, o)
	t.Cleanup(func() { l.Close() })
	return l
}

func write(t *testing.T, l *nativelog.Log, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if n, err := l.Write([]byte(line + "\n")); n != len(line)+1 || err != nil {
			t.Fatalf("Write(%q) = %d, %v", line, n, err)
		}
	}
}

func export(t *testing.T, dir string, run int) string {
	t.Helper()
	var out strings.Builder
	if err := nativelog.Export(&out, dir, run); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What a transcript.Writer puts in comes out as a transcript, without secrets.
func TestTranscript(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "native")
	l := open(t, dir, nativelog.Options{FileBytes: 100})
	w, err := transcript.NewWriter(l, transcript.Header{Agent: "fake"}, redact.New("geheim-0001").Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		frame := adapters.Frame{Data: fmt.Appendf(nil, `{"n":%d,"key":"geheim-0001","auth":"Bearer abcdefgh"}`, n)}
		if err := w.Write(transcript.FrameRecord(int64(n), frame)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := transcript.Read(strings.NewReader(export(t, dir, l.Run())))
	if err != nil || got.Header.Agent != "fake" || len(got.Bad) > 0 {
		t.Fatalf("Read gave %+v, %v, want the transcript", got, err)
	}
	var notes int
	for _, r := range got.Records {
		if r.Dir == transcript.Note {
			notes++
			continue
		}
		if want := fmt.Sprintf(`{"n":%d,"key":"***","auth":"Bearer ***"}`, r.T); string(r.Data) != want {
			t.Errorf("record is %s, want %s", r.Data, want)
		}
	}
	first, last := got.Records[0], got.Records[len(got.Records)-1]
	if notes != 1 || first.T != 0 || last.T != 19 {
		t.Errorf("got records %d to %d with %d notes, want the first, a gap that is told, the last", first.T, last.T, notes)
	}
	if files := names(t, dir); len(files) != 8 || files[0] != "0001-000001.ndjson" {
		t.Errorf("files are %q, want 8 with the first of the run", files)
	}
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	o := nativelog.Options{FileBytes: 1, Files: 3}
	l := open(t, dir, o)
	write(t, l, `{"transcript":1}`, "a", "b", "c", "d", "e")
	if got, want := names(t, dir), []string{"0001-000001.ndjson", "0001-000004.ndjson", "0001-000005.ndjson"}; !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
	l.Close()
	if _, err := l.Write([]byte("x\n")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Write after Close gave %v, want ErrClosed", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}

	l = open(t, dir, o)
	write(t, l, `{"transcript":1,"agent":"x"}`, "f", "g")
	if got, want := names(t, dir), []string{"0001-000005.ndjson", "0002-000001.ndjson", "0002-000002.ndjson"}; !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q: an earlier run goes first", got, want)
	}
	if runs, err := nativelog.Runs(dir); !slices.Equal(runs, []int{1, 2}) || err != nil {
		t.Errorf("Runs() = %v, %v, want 1, 2", runs, err)
	}
	if got, want := export(t, dir, 2), "{\"transcript\":1,\"agent\":\"x\"}\nf\ng\n"; got != want {
		t.Errorf("export is %q, want %q", got, want)
	}
	if got, want := export(t, dir, 1), "{\"transcript\":1}\n"+`{"t":0,"d":"note","raw":"4 files are missing here: the log was rotated"}`+"\ne\n"; got != want {
		t.Errorf("export is %q, want %q", got, want)
	}
	if err := nativelog.Export(&bytes.Buffer{}, dir, 7); !errors.Is(err, nativelog.ErrNoRun) {
		t.Errorf("Export of run 7 gave %v, want ErrNoRun", err)
	}
}

func TestExportLeavesATornLineOut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"notes.txt", "x-y.ndjson", "1.ndjson"} { // not files of the log
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "0001-000001.ndjson"), []byte("h\na\nhalf"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := export(t, dir, 1), "h\na\n"; got != want {
		t.Errorf("export is %q, want %q", got, want)
	}
	l := open(t, dir, nativelog.Options{})
	write(t, l, "h", "b")
	if l.Run() != 2 {
		t.Errorf("the next run is %d, want 2", l.Run())
	}
}

// A directory that went away costs records, no session; the log goes on when it
// is there again.
func TestFailure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "native")
	l := open(t, dir, nativelog.Options{FileBytes: 1})
	write(t, l, `{"transcript":1}`, "old")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("lost\n")); err == nil {
		t.Error("Write into a missing directory gave no error")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, l, "kept")
	if got, want := export(t, dir, 1), "{\"transcript\":1}\n{\"t\":0,\"d\":\"note\",\"raw\":\"1 files are missing here: the log was rotated\"}\nkept\n"; got != want {
		t.Errorf("export is %q, want %q", got, want)
	}
}

// A run without records leaves what is there alone: it may be another host's,
// which has the session.
func TestNothingBeforeTheFirstRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "native")
	o := nativelog.Options{FileBytes: 1, Files: 2}
	loser := open(t, dir, o)
	write(t, loser, `{"transcript":1}`)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of the directory gave %v, want none before the first record", err)
	}
	winner := open(t, dir, o)
	write(t, winner, `{"transcript":1}`, "a", "b")
	before := names(t, dir)
	late := open(t, dir, o)
	write(t, late, `{"transcript":1}`)
	late.Close()
	if got := names(t, dir); !slices.Equal(got, before) {
		t.Errorf("files are %q, want %q as before", got, before)
	}
	write(t, loser, "c")
	if winner.Run() != 1 || loser.Run() != 2 {
		t.Errorf("runs are %d and %d, want 1 and 2: two runs must not share files", winner.Run(), loser.Run())
	}
}
