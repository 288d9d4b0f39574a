//go:build unix

package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/journal"
)

// A full disk: the failure is typed and final, and what was acknowledged stays.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this system has no /dev/full to stand for a full disk: %v", err)
	}
	dir := t.TempDir()
	j := open(t, dir, journal.Options{})
	add(t, j, 0, 3)
	defer j.Active(full).Close()
	for range 2 {
		_, err = j.Append(env(3))
		var failure *journal.WriteError
		if !errors.As(err, &failure) || failure.Op != "write" || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Append gave %v, want a WriteError of ENOSPC", err)
		}
	}
	if err := j.Sync(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Sync gave %v, want the same failure", err)
	}
	if j.End() != 3 {
		t.Errorf("End is %d, want 3", j.End())
	}
	if err := j.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close gave %v, want the same failure", err)
	}
	wantRange(t, j.Follow(t.Context(), 0), 0, 3) // ends: the journal is closed
	add(t, open(t, dir, journal.Options{}), 3, 4)
}

// A disk that fills up in the middle of a batch: the file is cut back to whole
// lines, so that no part of the batch is taken for acknowledged.
func TestDiskFillsUpInABatch(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Options{})
	add(t, j, 0, 3)
	seg := filepath.Join(dir, "00000000000000000000.ndjson")
	before, err := os.Stat(seg)
	if err != nil {
		t.Fatal(err)
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit := old
	limit.Cur = uint64(before.Size()) + 200
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	_, err = j.Append(envs(3, 20)...)
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("Append gave %v, want EFBIG", err)
	}
	if after, err := os.Stat(seg); err != nil || after.Size() != before.Size() {
		t.Errorf("the segment has %d bytes, %v; want %d as before", after.Size(), err, before.Size())
	}
	j.Close()
	j = open(t, dir, journal.Options{})
	if j.End() != 3 {
		t.Errorf("End is %d after reopening, want 3", j.End())
	}
}

// A sync that fails is final even though a second one would "succeed".
func TestFailedSync(t *testing.T) {
	j := open(t, t.TempDir(), journal.Options{Sync: journal.SyncAlways})
	add(t, j, 0, 1)
	closed, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	old := j.Active(closed)
	defer old.Close()
	if _, err := j.Append(env(1)); err == nil {
		t.Fatal("Append to a broken file gave no error")
	}
	j.Active(old)
	var failure *journal.WriteError
	if _, err := j.Append(env(1)); !errors.As(err, &failure) {
		t.Errorf("a later Append gave %v, want the WriteError again", err)
	}
}

// The first sync puts the segment's name on the disk too, and fails when it cannot;
// the next ones have no need to. So it is for a journal that is opened again: the
// host may have died before its first sync.
func TestSyncOfTheName(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("again=%v", again), func(t *testing.T) {
			for _, test := range []struct {
				synced int // syncs before the directory cannot be opened any more
				fails  bool
			}{{0, true}, {1, false}} {
				dir := filepath.Join(t.TempDir(), "journal")
				j := open(t, dir, journal.Options{Interval: time.Hour})
				add(t, j, 0, 1)
				if again {
					j.Close()
					j = open(t, dir, journal.Options{Interval: time.Hour})
				}
				for range test.synced {
					if err := j.Sync(); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Rename(dir, dir+"-gone"); err != nil {
					t.Fatal(err)
				}
				if _, err := j.Append(env(1)); err != nil {
					t.Fatal(err)
				}
				if err := j.Sync(); (err != nil) != test.fails {
					t.Errorf("after %d syncs: Sync without the directory gave %v, want an error: %v", test.synced, err, test.fails)
				}
				_ = j.Close()
			}
		})
	}
}
