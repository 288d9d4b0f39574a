package vt

import (
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	oracle "github.com/charmbracelet/x/vt"
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
	for name, r := range recordings(t) {
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
