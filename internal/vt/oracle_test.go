package vt

import (
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	oracle "github.com/charmbracelet/x/vt"

	"github.com/agenthost/agenthost/internal/vt/vttest"
)

// peer is another emulator.
type peer struct{ *oracle.Emulator }

func newPeer(t *testing.T, cols, rows int) peer {
	e := oracle.NewEmulator(cols, rows)
	drained := make(chan struct{})
	go func() { // it blocks on its own answers
		defer close(drained)
		_, _ = io.Copy(io.Discard, e)
	}()
	t.Cleanup(func() {
		_ = e.InputPipe().(io.Closer).Close() // its own Close races with its Read
		<-drained
	})
	return peer{e}
}

func (p peer) lines() []string {
	var lines []string
	for y := range p.Height() {
		var line strings.Builder
		for x := 0; x < p.Width(); x++ {
			if c := p.CellAt(x, y); c != nil && c.Width > 0 {
				line.WriteString(c.Content)
			}
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

var titles = regexp.MustCompile("\x1b\\]0;[^\a]*\a")

// TestOracleRecordings: another emulator sees the same screens of real agents.
func TestOracleRecordings(t *testing.T) {
	for name, r := range vttest.Recordings(t, "testdata") {
		t.Run(name, func(t *testing.T) {
			ours, theirs := New(r.Cols, r.Rows, 0), newPeer(t, r.Cols, r.Rows)
			for i, chunk := range r.Chunks {
				_, _ = ours.Write([]byte(chunk))
				// It takes a byte of ✳ in a title for the title's end.
				_, _ = theirs.WriteString(titles.ReplaceAllString(chunk, ""))
				if d := difference(strings.Join(ours.Lines(), "\n"), strings.Join(theirs.lines(), "\n")); d != "" {
					t.Fatalf("after piece %d:\n%s", i, d)
				}
			}
		})
	}
}

// common are pieces that both emulators know alike.
var common = []string{
	"a", "hello world", " ", "\r\n", "\n", "\r", "\b", "\x1b[H", "\x1b[%d;%dH", "\x1b[%dA", "\x1b[%dB", "\x1b[%dC", "\x1b[%dD", "\x1b[%dG", "\x1b[%dd",
	"\x1b[J", "\x1b[2J", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[%dX", "\x1b[%d@", "\x1b[%dP", "\x1b[%dL", "\x1b[%dM",
	"\x1b[m", "\x1b[1;31m", "\x1b[?1049h\x1b[H", "\x1bM", "\x1bD",
}

// TestOracleRandom: and the same of random programs.
func TestOracleRandom(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		ours, theirs := New(20, 6, 0), newPeer(t, 20, 6)
		var program strings.Builder
		for range 60 {
			piece := common[r.IntN(len(common))]
			for strings.Contains(piece, "%d") {
				piece = strings.Replace(piece, "%d", string(rune('1'+r.IntN(8))), 1)
			}
			program.WriteString(piece)
			_, _ = ours.Write([]byte(piece))
			_, _ = theirs.WriteString(piece)
			if d := difference(strings.Join(ours.Lines(), "\n"), strings.Join(theirs.lines(), "\n")); d != "" {
				t.Fatalf("seed %d, %q:\n%s", seed, program.String(), d)
			}
		}
	}
}

// TestOracleScrollback: another emulator has the same lines above its screen.
func TestOracleScrollback(t *testing.T) {
	for name, r := range vttest.Recordings(t, "testdata") {
		ours := New(r.Cols, r.Rows, 1000)
		for _, chunk := range r.Chunks {
			_, _ = ours.Write([]byte(titles.ReplaceAllString(chunk, "")))
		}
		for i := range 2 * r.Rows {
			_, _ = ours.Write([]byte(strings.Repeat("\n", r.Rows) + "\rline " + string(rune('a'+i%26))))
		}
		theirs := newPeer(t, r.Cols, r.Rows)
		_, _ = theirs.Write(ours.RepaintAll(1 << 20))
		if d := difference(strings.Join(theirs.lines(), "\n"), strings.Join(ours.Lines(), "\n")); d != "" {
			t.Errorf("%s: the screen:\n%s", name, d)
		}
		var want []string
		for row := range ours.scrollback.all() {
			want = append(want, strings.TrimRight(string(ours.appendText(nil, row)), " "))
		}
		var got []string
		for _, line := range theirs.Scrollback().Lines() {
			got = append(got, strings.TrimRight(line.String(), " "))
		}
		if d := difference(strings.Join(got, "\n"), strings.Join(want, "\n")); d != "" {
			t.Errorf("%s: above the screen:\n%s", name, d)
		}
	}
}
