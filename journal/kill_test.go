//go:build unix

package journal_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/journal"
)

// writerDir makes the test binary a writer that is to be killed.
const writerDir = "JOURNAL_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerDir); dir != "" {
		write(dir)
		return
	}
	os.Exit(m.Run())
}

// write appends numbered envelopes for ever and prints each End it was promised.
func write(dir string) {
	j, err := journal.Open(dir, journal.Options{Sync: journal.SyncInterval, SegmentBytes: 20_000})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	for n := int(j.End()); ; {
		batch := 1 + rand.IntN(8)
		if _, err := j.Append(envs(n, n+batch)...); err != nil {
			fmt.Println("append:", err)
			return
		}
		n += batch
		fmt.Println(n)
	}
}

// A writer that is killed at random moments loses and doubles nothing it
// acknowledged, and what it leaves are whole lines.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	for round := range 12 {
		acked := killedWriter(t, dir, time.Duration(rand.IntN(40))*time.Millisecond)
		r, err := journal.OpenReader(dir, func(d journal.Damage) { t.Errorf("round %d: damage %+v", round, d) })
		if err != nil {
			t.Fatal(err)
		}
		_, end, err := r.Bounds()
		if err != nil || end < journal.Position(acked) {
			t.Fatalf("round %d: the journal ends at %d, %v; want at least %d, which was acknowledged", round, end, err, acked)
		}
		wantRange(t, r.Read(0, end), 0, int(end))
	}
	j := open(t, dir, journal.Options{})
	end := int(j.End())
	add(t, j, end, end+1)
	wantRange(t, j.Read(0, j.End()), 0, end+1)
}

// killedWriter runs a writer, kills it some time after its first word, and
// returns the last end it promised.
func killedWriter(t *testing.T, dir string, after time.Duration) (acked int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), writerDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		if err != nil { // an unfinished line acknowledges nothing
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
		if acked, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
			t.Errorf("the writer said %q", line)
		}
		if first {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the writer ended by itself, want killed")
	}
	return acked
}
