//go:build linux

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/internal/vt"
	"github.com/agenthost/agenthost/internal/vt/vttest"
)

// What each real agent once wrote reaches a person's terminal under `agenthost run`, in
// its own process and by a daemon, byte for byte as on the terminal itself, and makes the
// same screen.
func TestTerminalBytes(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	background(t, lab, "agenthost", "serve")
	recordings := vttest.Recordings(t, "../internal/vt/testdata")
	if len(recordings) < 3 {
		t.Fatalf("%d recordings, want one of each agent", len(recordings))
	}
	for name, recording := range recordings {
		want := []byte(strings.Join(recording.Chunks, ""))
		written := filepath.Join(lab.Dir, name)
		if err := os.WriteFile(written, want, 0o600); err != nil {
			t.Fatal(err)
		}
		// It waits for the key that says that somebody looks, and leaves nothing of the
		// line that agenthost says before.
		agent := []string{"bash", "-c", `stty raw -echo; printf ready; read -N1; printf '\033[H\033[2JBEGIN'; cat "$0"; exec sleep 600`, written}
		size := proc.TerminalSize{Cols: recording.Cols, Rows: recording.Rows}
		screen := func(argv ...string) string {
			got, all := behindBegin(t, lab, size, len(want), argv)
			if !bytes.Equal(got, want) {
				t.Errorf("%s under %s: %q…, want the bytes that were written", name, argv[0], got[:200])
			}
			if bytes.Contains(all, []byte("warning")) { // as agenthost runs below agenthost, here
				t.Errorf("%s under %.4q begins with %.200q", name, argv, all)
			}
			s := vt.New(size.Cols, size.Rows, 0)
			_, _ = s.Write(all)
			return string(s.Repaint())
		}
		bare := screen(agent...)
		for _, under := range [][]string{underHost(t, agent...), append([]string{binary(t), "run", "pty", "--"}, agent...)} {
			if got := screen(under...); got != bare {
				t.Errorf("%s under %.4q: the screen is\n%q\nand on the bare terminal\n%q", name, under, got, bare)
			}
		}
	}
}

// behindBegin runs a command on a terminal of its own, presses a key when it is ready, and
// returns the n bytes behind BEGIN, and all up to there.
func behindBegin(t *testing.T, lab *agentlab.Lab, size proc.TerminalSize, n int, argv []string) (got, all []byte) {
	t.Helper()
	c := personsTerminal(t, lab, size, argv...)
	defer c.Close()
	late := time.AfterFunc(patience, c.Close)
	defer late.Stop()
	buf := make([]byte, 64<<10)
	for pressed := false; ; {
		m, err := c.Terminal().Read(buf)
		if err != nil {
			t.Fatalf("%.4q ended after %q: %v", argv, all, err)
		}
		all = append(all, buf[:m]...)
		if !pressed && bytes.Contains(all, []byte("ready")) {
			pressed = true
			if _, err := c.Terminal().Write([]byte("k")); err != nil {
				t.Fatal(err)
			}
		}
		if _, got, ok := bytes.Cut(all, []byte("BEGIN")); ok && len(got) >= n {
			return got[:n], all[:len(all)-len(got)+n]
		}
	}
}
