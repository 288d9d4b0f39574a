package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/journal"
)

// env makes the envelope with number n.
func env(n int) contract.Envelope {
	return contract.Envelope{
		ID: fmt.Sprintf("e%023d", n), Time: int64(1000 + n), Role: contract.RoleUser,
		Event: contract.Text{Text: fmt.Sprintf("text %d 한글 😀", n)},
	}
}

func envs(from, to int) (list []contract.Envelope) {
	for n := from; n < to; n++ {
		list = append(list, env(n))
	}
	return list
}

func open(t *testing.T, dir string, o journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func add(t *testing.T, j *journal.Journal, from, to int) {
	t.Helper()
	p, err := j.Append(envs(from, to)...)
	if err != nil {
		t.Fatal(err)
	}
	if p != journal.Position(from) {
		t.Fatalf("Append gave position %d, want %d", p, from)
	}
}

// wantRange checks that seq gives exactly the records from..to.
func wantRange(t *testing.T, seq iter.Seq2[journal.Record, error], from, to int) {
	t.Helper()
	n := from
	for r, err := range seq {
		if err != nil {
			t.Fatalf("at %d: %v", n, err)
		}
		checkRecord(t, r, n)
		n++
	}
	if n != to {
		t.Errorf("got records %d..%d, want ..%d", from, n, to)
	}
}

func checkRecord(t *testing.T, r journal.Record, n int) {
	t.Helper()
	line, err := contract.Encode(env(n))
	if err != nil {
		t.Fatal(err)
	}
	if r.Position != journal.Position(n) || !bytes.Equal(r.Line, line) || r.Envelope.ID != env(n).ID {
		t.Errorf("record %d is %d %s, want %s", n, r.Position, r.Line, line)
	}
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAppendAndReopen(t *testing.T) {
	for _, policy := range []journal.SyncPolicy{journal.SyncInterval, journal.SyncAlways, journal.SyncOff} {
		dir := filepath.Join(t.TempDir(), "new", "journal")
		o := journal.Options{Sync: policy, SegmentBytes: 1000}
		j := open(t, dir, o)
		if j.End() != 0 || j.Oldest() != 0 {
			t.Errorf("empty journal is %d..%d, want 0..0", j.Oldest(), j.End())
		}
		wantRange(t, j.Read(0, 0), 0, 0)
		add(t, j, 0, 1)
		add(t, j, 1, 1) // nothing
		add(t, j, 1, 40)
		for n := 40; n < 60; n++ {
			add(t, j, n, n+1)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if _, err := j.Append(env(60)); !errors.Is(err, journal.ErrClosed) {
			t.Errorf("Append after Close gave %v, want ErrClosed", err)
		}
		wantRange(t, j.Read(0, 100), 0, 60) // a closed journal can be read
		j = open(t, dir, o)
		if j.End() != 60 {
			t.Errorf("End after reopening is %d, want 60", j.End())
		}
		add(t, j, 60, 70)
		wantRange(t, j.Read(0, j.End()), 0, 70)
		wantRange(t, j.Read(37, 65), 37, 65)
		n := 0
		for e, err := range j.Envelopes() {
			if err != nil || e.ID != env(n).ID {
				t.Fatalf("envelope %d is %q, %v", n, e.ID, err)
			}
			n++
		}
		if n != 70 {
			t.Errorf("Envelopes gave %d, want 70", n)
		}
		if got := len(files(t, dir)); got < 5 {
			t.Errorf("journal has %d files, want segments: %q", got, files(t, dir))
		}
	}
}

func TestReplayGivesTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Options{})
	add(t, j, 0, 50)
	var want bytes.Buffer
	for _, e := range envs(0, 50) {
		line, err := contract.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		want.Write(append(line, '\n'))
	}
	got, err := os.ReadFile(filepath.Join(dir, "00000000000000000000.ndjson"))
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("the segment is %.200q, %v; want the encoded envelopes, a line each", got, err)
	}
}

func TestAppendRefusesWhatCannotBeEncoded(t *testing.T) {
	j := open(t, t.TempDir(), journal.Options{})
	add(t, j, 0, 1)
	if _, err := j.Append(env(1), contract.Envelope{}); err == nil {
		t.Error("an envelope without an event was taken")
	}
	if j.End() != 1 {
		t.Errorf("End is %d after a refused batch, want 1", j.End())
	}
	add(t, j, 1, 2)
	wantRange(t, j.Read(0, 9), 0, 2)
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Options{})
	if _, err := journal.Open(dir, journal.Options{}); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("second Open gave %v, want ErrLocked", err)
	}
	j.Close()
	open(t, dir, journal.Options{})
}

func TestReadRange(t *testing.T) {
	j := open(t, t.TempDir(), journal.Options{})
	add(t, j, 0, 3)
	for _, from := range []journal.Position{-1, 4} {
		var got error
		for _, err := range j.Follow(t.Context(), from) {
			got = err
		}
		if got == nil {
			t.Errorf("Follow(%d) gave no error", from)
		}
		if from == 4 && !errors.Is(got, journal.ErrBeyond) {
			t.Errorf("Follow(4) gave %v, want ErrBeyond", got)
		}
	}
}

func TestTornTail(t *testing.T) {
	line, err := contract.Encode(env(2))
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut <= len(line); cut += 7 { // also inside a character, and the whole line without its end
		dir := t.TempDir()
		j := open(t, dir, journal.Options{})
		add(t, j, 0, 2)
		j.Close()
		seg := filepath.Join(dir, "00000000000000000000.ndjson")
		f, err := os.OpenFile(seg, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(line[:cut])
		f.Close()

		r, err := journal.OpenReader(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantRange(t, r.Read(0, 9), 0, 2) // a reader sees whole lines only

		j = open(t, dir, journal.Options{})
		if j.End() != 2 {
			t.Fatalf("End after a torn line is %d, want 2", j.End())
		}
		torn, err := filepath.Glob(filepath.Join(dir, "*.torn"))
		if err != nil || len(torn) != 1 {
			t.Fatalf("torn files: %q, %v; want one", torn, err)
		}
		if got, _ := os.ReadFile(torn[0]); !bytes.Equal(got, line[:cut]) {
			t.Errorf("torn file has %q, want %q", got, line[:cut])
		}
		add(t, j, 2, 4)
		wantRange(t, j.Read(0, 9), 0, 4)
		wantRange(t, r.Read(0, 9), 0, 4)
	}
}

// A half line directly followed by the next record, garbage, and missing lines
// (B154): the rest is read, positions stay, each place is reported.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Options{SegmentBytes: 1})
	for n := range 5 {
		add(t, j, n, n+1)
	}
	j.Close()
	path := func(n int) string { return filepath.Join(dir, fmt.Sprintf("%020d.ndjson", n)) }
	whole, err := os.ReadFile(path(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path(1), append(whole[:20:20], whole...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path(2), []byte("garbage\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path(3), 10); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var damages []journal.Damage
	damaged := func(d journal.Damage) {
		mu.Lock()
		defer mu.Unlock()
		damages = append(damages, d)
	}
	j = open(t, dir, journal.Options{Damaged: damaged})
	r, err := journal.OpenReader(dir, damaged)
	if err != nil {
		t.Fatal(err)
	}
	for name, seq := range map[string]iter.Seq2[journal.Record, error]{"Journal": j.Read(0, 9), "Reader": r.Read(0, 9)} {
		damages = nil
		var got []journal.Position
		for rec, err := range seq {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			checkRecord(t, rec, int(rec.Position))
			got = append(got, rec.Position)
		}
		if want := []journal.Position{0, 4}; !slices.Equal(got, want) {
			t.Errorf("%s: read positions %d, want %d", name, got, want)
		}
		var at []journal.Position
		for _, d := range damages {
			at = append(at, d.Position)
			if d.Err == nil || d.Lines != 1 {
				t.Errorf("%s: damage %+v, want one line and an error", name, d)
			}
		}
		if want := []journal.Position{1, 2, 3}; !slices.Equal(at, want) {
			t.Errorf("%s: damage at %d, want %d", name, at, want)
		}
	}
	if j.End() != 5 {
		t.Errorf("End is %d, want 5", j.End())
	}
	add(t, j, 5, 6)
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j, err := journal.Open(dir, journal.Options{SegmentBytes: 2000})
		if err != nil {
			t.Fatal(err)
		}
		add(t, j, 0, 30)
		var wg sync.WaitGroup
		for from := range 31 {
			wg.Go(func() { wantRange(t, j.Follow(t.Context(), journal.Position(from)), from, 100) })
		}
		for n := 30; n < 100; n += 10 {
			synctest.Wait()
			add(t, j, n, n+10)
		}
		synctest.Wait()
		j.Close()
		wg.Wait()
		wantRange(t, j.Follow(t.Context(), 90), 90, 100) // it ends although it began after Close
	})
}

func TestFollowCancelled(t *testing.T) {
	j := open(t, t.TempDir(), journal.Options{})
	add(t, j, 0, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	defer cancel(nil)
	n, last := 0, error(nil)
	for _, err := range j.Follow(ctx, 0) {
		if last = err; err != nil {
			continue
		}
		if n++; n == 2 {
			cancel(gone)
		}
	}
	if n != 2 || !errors.Is(last, gone) {
		t.Errorf("Follow gave %d records and %v, want 2 and the cause", n, last)
	}
}

// A writer at full speed and followers that start anywhere: nothing is lost,
// nothing doubled. Run with -race.
func TestFollowConcurrently(t *testing.T) {
	j := open(t, t.TempDir(), journal.Options{SegmentBytes: 5000})
	const total = 2000
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			from := k * 100
			for j.End() < journal.Position(from) {
				for range j.Follow(t.Context(), j.End()) {
					break
				}
			}
			wantRange(t, j.Follow(t.Context(), journal.Position(from)), from, total)
		})
	}
	for n := 0; n < total; n += 5 {
		add(t, j, n, n+5)
	}
	j.Close()
	wg.Wait()
}

func TestReaderFollowsAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Options{SegmentBytes: 500})
	add(t, j, 0, 10)
	r, err := journal.OpenReader(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for rec, err := range r.Follow(ctx, 0) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		checkRecord(t, rec, n)
		n++
		if n == 10 || n == 20 {
			add(t, j, n, n+10)
		}
		if n == 30 {
			cancel()
		}
	}
	if n != 30 {
		t.Errorf("got %d records, want 30", n)
	}
	if oldest, end, err := r.Bounds(); oldest != 0 || end != 30 || err != nil {
		t.Errorf("Bounds() = %d, %d, %v, want 0, 30", oldest, end, err)
	}
}

// A follower of another process's journal goes on as long as somebody writes it, and has
// all of it at its end; of one that nobody writes it reads what is there.
func TestFollowWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j := open(t, dir, journal.Options{SegmentBytes: 500})
		add(t, j, 0, 10)
		r, err := journal.OpenReader(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { wantRange(t, r.FollowWriter(t.Context(), 5), 5, 30) })
		for n := 10; n < 30; n += 10 {
			time.Sleep(time.Minute)
			add(t, j, n, n+10)
		}
		j.Close()
		wg.Wait()
		wantRange(t, r.FollowWriter(t.Context(), 0), 0, 30)

		j = open(t, dir, journal.Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		time.AfterFunc(time.Minute, func() { cancel(gone) })
		for _, err = range r.FollowWriter(ctx, 30) {
		}
		if !errors.Is(err, gone) {
			t.Errorf("FollowWriter ended with %v, want the cause", err)
		}
		j.Close()
	})
}

// The half line that one write leaves is not read before the other half is there
// (B152), split inside a character too.
func TestReaderWaitsForTheRestOfALine(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "00000000000000000000.ndjson")
	line, err := contract.Encode(env(0))
	if err != nil {
		t.Fatal(err)
	}
	line = append(line, '\n')
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := journal.OpenReader(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.Index(line, []byte("한")) + 1
	for _, part := range [][]byte{line[:cut], line[cut : len(line)-1]} {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(part)
		f.Close()
		wantRange(t, r.Read(0, 9), 0, 0)
	}
	if err := os.WriteFile(path, line, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRange(t, r.Read(0, 9), 0, 1)
}

func TestTrim(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Options{SegmentBytes: 1})
	for n := range 10 {
		add(t, j, n, n+1)
	}
	slow, stop := iter.Pull2(j.Follow(t.Context(), 0))
	defer stop()
	if _, err, _ := slow(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ p, want journal.Position }{{0, 0}, {4, 4}, {2, 4}, {100, 9}} {
		if got, err := j.Trim(c.p); got != c.want || err != nil {
			t.Errorf("Trim(%d) = %d, %v, want %d", c.p, got, err, c.want)
		}
	}
	wantRange(t, j.Read(9, 10), 9, 10)
	r, err := journal.OpenReader(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh := func(seq iter.Seq2[journal.Record, error]) (got error) {
		for _, err := range seq {
			got = err
		}
		return got
	}
	_, overtaken, _ := slow()
	for name, err := range map[string]error{
		"Read": fresh(j.Read(3, 9)), "Follow": fresh(j.Follow(t.Context(), 3)), "a slow follower": overtaken, "Reader": fresh(r.Read(3, 9)),
	} {
		var trimmed *journal.TrimmedError
		if !errors.Is(err, journal.ErrTrimmed) || !errors.As(err, &trimmed) || trimmed.Oldest != 9 {
			t.Errorf("%s gave %v, want a TrimmedError with oldest 9", name, err)
		}
	}
	j.Close()
	j = open(t, dir, journal.Options{})
	if j.Oldest() != 9 || j.End() != 10 {
		t.Errorf("reopened journal is %d..%d, want 9..10", j.Oldest(), j.End())
	}
}

func TestOpenReaderRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := journal.OpenReader(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory gave %v, want ErrNotExist", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.OpenReader(file, nil); err == nil || !strings.Contains(err.Error(), "got a file") {
		t.Errorf("a file gave %v, want an error", err)
	}
}

func TestIntervalSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, err := journal.Open(t.TempDir(), journal.Options{Interval: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		add(t, j, 0, 1)
		if j.Synced() != 0 {
			t.Errorf("synced to %d at once, want 0", j.Synced())
		}
		time.Sleep(time.Minute) // fake time
		synctest.Wait()
		if j.Synced() != 1 {
			t.Errorf("synced to %d after the interval, want 1", j.Synced())
		}
		add(t, j, 1, 3)
		if err := j.Sync(); err != nil || j.Synced() != 3 {
			t.Errorf("Sync() = %v, synced to %d, want 3", err, j.Synced())
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A journal and its readers tell the same extent, which moves with whatever is appended,
// trimmed or cut off.
func TestExtent(t *testing.T) {
	dir := t.TempDir()
	r, err := journal.OpenReader(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[journal.Extent]string{}
	is := func(what string, want journal.Extent) {
		t.Helper()
		got, err := r.Extent()
		if err != nil || got != want {
			t.Errorf("%s: Extent = %+v, %v; the journal says %+v", what, got, err, want)
		}
		if before, known := seen[got]; known {
			t.Errorf("%s has the extent of %s", what, before)
		}
		seen[got] = what
	}
	if got, err := r.Extent(); err != nil || got != (journal.Extent{}) {
		t.Errorf("without segments Extent = %+v, %v", got, err)
	}
	j := open(t, dir, journal.Options{SegmentBytes: 200})
	is("empty", j.Extent())
	for n := range 6 {
		add(t, j, n, n+1)
		is(fmt.Sprintf("%d envelopes", n+1), j.Extent())
	}
	if _, err := j.Trim(3); err != nil {
		t.Fatal(err)
	}
	is("trimmed", j.Extent())
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	end := j.Extent()
	names := files(t, dir)
	last := ""
	for _, name := range names {
		if strings.HasSuffix(name, ".ndjson") {
			last = max(last, name)
		}
	}
	if err := os.Truncate(filepath.Join(dir, last), end.Bytes-1); err != nil {
		t.Fatal(err)
	}
	end.Bytes--
	is("cut off", end)
}
