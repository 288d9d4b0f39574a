//go:build unix

package screen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/internal/vt"
	"github.com/agenthost/agenthost/internal/vt/vttest"
)

// patience is how long a test waits for what must happen, on a busy machine.
const patience = 60 * time.Second

// script is a file of testdata as command.
func script(tb testing.TB, name string) string {
	tb.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// watch tells the screens at rest of a hub.
func watch(h *Hub) <-chan adapters.Screen {
	rested := make(chan adapters.Screen, 100)
	h.Rested(func(s adapters.Screen) { rested <- s })
	return rested
}

// awaits waits for a screen at rest with a text on it.
func awaits(t *testing.T, rested <-chan adapters.Screen, text string) adapters.Screen {
	t.Helper()
	timeout := time.After(patience)
	var last adapters.Screen
	for {
		select {
		case s := <-rested:
			if last = s; strings.Contains(strings.Join(s.Lines, "\n"), text) {
				return s
			}
		case <-timeout:
			t.Fatalf("no screen with %q; the last one was %q", text, last.Lines)
		}
	}
}

// TestB139CursorPosition: an agent that ends when nobody tells it where the cursor is.
func TestB139CursorPosition(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	c := onTerminal(t, script(t, "B139-dsr.sh"))
	wait := h.Show(c.Terminal())
	if exit := c.Exit(); !exit.Success() {
		t.Errorf("exit = %v", exit)
	}
	wait()
	if got := h.Snapshot().Lines[0]; !strings.HasPrefix(got, "cursor ok") {
		t.Errorf("the screen has %q", got)
	}
}

// TestB147Gates: dialogs at the start are seen, one after the other, and nothing is
// confirmed that nobody confirmed.
func TestB147Gates(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	rested := watch(h)
	c := onTerminal(t, script(t, "B147-gates.sh"))
	wait := h.Show(c.Terminal())
	s := awaits(t, rested, "Enter to confirm")
	if !strings.Contains(s.Lines[0], "Do you trust") || s.Lines[2] != " 1. Yes, proceed" {
		t.Errorf("the first gate is %q", s.Lines)
	}
	select {
	case s := <-rested:
		t.Errorf("the gate went by itself: %q", s.Lines)
	case <-time.After(2 * DefaultRest):
	}
	for _, want := range []string{"WARNING", ">"} {
		if err := h.Input([]byte("\r")); err != nil {
			t.Fatal(err)
		}
		if s := awaits(t, rested, want); !strings.HasPrefix(s.Lines[0], want) {
			t.Errorf("want %q, the screen is %q", want, s.Lines)
		}
	}
	c.Close()
	wait()
}

// TestB143SizeOfAgent: an agent gets the hub's size, not its terminal's, and each change.
func TestB143SizeOfAgent(t *testing.T) {
	h := New(Options{Cols: 33, Rows: 11})
	defer h.Close()
	rested := watch(h)
	c := onTerminal(t, "/bin/bash", "-c", `stty -echo; while read line; do clear; stty size; done`)
	wait := h.Show(c.Terminal())
	for _, size := range [][2]int{{33, 11}, {100, 40}, {20, 5}} {
		h.Resize(size[0], size[1])
		h.Resize(0, 0)
		if err := h.Input([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		awaits(t, rested, fmt.Sprintf("%d %d", size[1], size[0]))
	}
	c.Close()
	wait()
	h.Resize(10, 10) // after the end
}

// TestB141Paste: a long text with line ends, in one paste, and the key that sends it
// behind it, come whole and in this order, as the agent's screen shows.
func TestB141Paste(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	rested := watch(h)
	c := onTerminalEnv(t, []string{composerEnv + "=1"}, os.Args[0])
	wait := h.Show(c.Terminal())
	if s := awaits(t, rested, ">"); !s.Paste {
		t.Errorf("bracketed paste is off: %+v", s)
	}
	text := strings.Repeat("a line of a long prompt\n", 700)
	if err := h.Input([]byte("\x1b[200~" + text + "\x1b[201~")); err != nil {
		t.Fatal(err)
	}
	if err := h.Input([]byte("\r")); err != nil {
		t.Fatal(err)
	}
	awaits(t, rested, fmt.Sprintf("SUBMIT %d", len(text)))
	c.Close()
	wait()
}

// composerEnv makes the test binary an agent that takes prompts as agents do.
const composerEnv = "SCREEN_TEST_COMPOSER"

// beComposer is a prompt with bracketed paste: in a paste line ends are text, outside
// the key Enter sends what is there and tells how long it was.
func beComposer() int {
	if err := raw(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print("\x1b[?2004h> ")
	var in strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return 0
		}
		in.Write(buf[:n])
		text := in.String()
		if end := strings.LastIndex(text, "\x1b[201~"); strings.HasSuffix(text, "\r") && end >= 0 {
			pasted := strings.TrimPrefix(text[:end], "\x1b[200~")
			fmt.Printf("\r\nSUBMIT %d\r\n> ", len(pasted))
			in.Reset()
		}
	}
}

// TestBytesAreEqual: what passes is what a bare PTY gives, for what a real agent wrote
// to its terminal.
func TestBytesAreEqual(t *testing.T) {
	for name, recording := range vttest.Recordings(t, "../../internal/vt/testdata") {
		want := strings.Join(recording.Chunks, "")
		written := filepath.Join(t.TempDir(), "written")
		if err := os.WriteFile(written, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		// It waits for the key that says that the reader is there.
		play := []string{"/bin/bash", "-c", `stty raw -echo; printf x; read -N1; cat "$0"`, written}
		h := New(Options{Cols: recording.Cols, Rows: recording.Rows})
		c := onTerminal(t, play...)
		wait := h.Show(c.Terminal())
		first := next(t, h, -1, 0)
		for strings.TrimSpace(h.Snapshot().Lines[0]) != "x" {
			first = next(t, h, first.At, 0)
		}
		at := h.head()
		if err := h.Input([]byte("k")); err != nil {
			t.Fatal(err)
		}
		if got := all(t, h, at); got != want {
			t.Errorf("%s: %d bytes passed, want the same %d as were written", name, len(got), len(want))
		}
		wait()
		bare := vt.New(recording.Cols, recording.Rows, 0)
		_, _ = bare.Write([]byte("x" + want))
		if got, want := string(h.Repaint()), string(bare.Repaint()); got != want {
			t.Errorf("%s: the screen is another one", name)
		}
		c.Close()
		h.Close()
	}
}

// TestFloodWithConsole: megabytes to a reader that holds come whole.
func TestFloodWithConsole(t *testing.T) {
	const size = 8 << 20
	h := New(Options{Ring: 128 << 10})
	defer h.Close()
	c := onTerminal(t, "/bin/bash", "-c", fmt.Sprintf(`stty raw -echo; printf x; read -N1; head -c %d /dev/zero | tr '\0' y`, size))
	wait := h.Show(c.Terminal())
	for c := next(t, h, -1, 0); h.Snapshot().Lines[0] != "x"; {
		c = next(t, h, c.At, 0)
	}
	at := h.head()
	release, progress := h.Hold()
	defer release()
	if err := h.Input([]byte("k")); err != nil {
		t.Fatal(err)
	}
	total := 0
	for running := true; running; {
		c, err := h.Read(context.Background(), at, 0)
		if err != nil || c.Reset {
			t.Fatalf("Read = reset %v, %v after %d bytes", c.Reset, err, total)
		}
		total += len(c.Data)
		at, running = c.At, c.Running
		progress(at)
	}
	if total != size {
		t.Errorf("%d bytes came, want %d", total, size)
	}
	wait()
}

// onTerminalEnv starts a program on a PTY, with variables.
func onTerminalEnv(tb testing.TB, env []string, argv ...string) *proc.Child {
	tb.Helper()
	env = append([]string{"PATH=/usr/bin:/bin", "TERM=xterm-256color"}, env...)
	c, err := proc.Start(tb.Context(), proc.Spec{Argv: argv, Env: env, Terminal: &proc.TerminalSize{}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

func onTerminal(tb testing.TB, argv ...string) *proc.Child { return onTerminalEnv(tb, nil, argv...) }
