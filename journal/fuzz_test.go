package journal_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/journal"
)

// Whatever two segments hold, a journal opens, every whole line keeps its
// position, what is an envelope is read, the rest is told, and writing goes on.
func FuzzOpen(f *testing.F) {
	line, err := contract.Encode(env(7))
	if err != nil {
		f.Fatal(err)
	}
	whole := append(line, '\n')
	f.Add(whole, whole)
	f.Add([]byte("garbage\n\n{}\n"), append(whole, line[:20]...))
	f.Add([]byte{}, append(line[:9:9], whole...))
	f.Add([]byte("half"), []byte("\x00\x00\n\xff"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		dir := t.TempDir()
		lines := bytes.Count(first, []byte("\n"))
		for n, content := range map[int][]byte{0: first, lines: second} {
			if lines == 0 && n == 0 {
				content = second // one segment only
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.ndjson", n)), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		damaged := map[journal.Position]bool{}
		j, err := journal.Open(dir, journal.Options{Sync: journal.SyncOff, Damaged: func(d journal.Damage) { damaged[d.Position] = true }})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		end := journal.Position(lines + bytes.Count(second, []byte("\n")))
		if j.End() != end {
			t.Fatalf("End is %d, want %d", j.End(), end)
		}
		add(t, j, int(end), int(end)+1)
		next := journal.Position(0)
		for r, err := range j.Read(0, j.End()) {
			if err != nil {
				t.Fatal(err)
			}
			for ; next < r.Position; next++ {
				if !damaged[next] {
					t.Errorf("position %d is missing and was not told", next)
				}
			}
			if _, err := contract.Decode(r.Line); err != nil {
				t.Errorf("record %d is no envelope: %v", r.Position, err)
			}
			next++
		}
		if next != end+1 {
			t.Errorf("read up to %d, want %d", next, end+1)
		}
	})
}
