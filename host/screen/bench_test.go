//go:build unix

package screen

import (
	"context"
	"io"
	"slices"
	"strconv"
	"testing"
	"time"
)

// flood is a program that writes n bytes of text as fast as it can.
func flood(n int) []string {
	return []string{"/bin/sh", "-c", "stty -echo; yes 'the quick brown fox jumps over the lazy dog and runs away from it all, ok' | head -c " + strconv.Itoa(n)}
}

// follow reads all of a hub from an offset on until its agent is gone, as the local
// console does, and reports how many bytes came.
func follow(tb testing.TB, h *Hub, at int64) (total int64) {
	release, progress := h.Hold()
	defer release()
	for {
		c, err := h.Read(context.Background(), at, 0)
		if err != nil {
			tb.Error(err)
			return total
		}
		if !c.Reset {
			total += int64(len(c.Data))
		}
		at = c.At
		progress(at)
		if !c.Running {
			return total
		}
	}
}

// BenchmarkPassThrough is what passes from a program on a PTY through the hub, with
// its emulator, to a console; beside what passes through a plain copy of the PTY.
func BenchmarkPassThrough(b *testing.B) {
	const size = 100 << 20
	b.Run("hub", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			h := New(Options{})
			c := onTerminal(b, flood(size)...)
			h.Show(c.Terminal())
			// What is written before the reader holds is kept.
			if n := follow(b, h, -1); n < size*9/10 {
				b.Fatalf("%d bytes came, want nearly %d", n, size)
			}
			c.Close()
			h.Close()
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			c := onTerminal(b, flood(size)...)
			if n, err := io.Copy(struct{ io.Writer }{io.Discard}, c.Terminal()); n < size || err != nil {
				b.Fatal(n, err)
			}
			c.Close()
		}
	})
}

// BenchmarkKey is the time from a key to its echo: on a bare PTY, and through the hub.
func BenchmarkKey(b *testing.B) {
	report := func(b *testing.B, took []time.Duration) {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	}
	b.Run("pty", func(b *testing.B) {
		c := onTerminal(b, "/bin/sh", "-c", "stty raw -echo; exec cat")
		buf := make([]byte, 64)
		t := c.Terminal()
		_, _ = t.Write([]byte("x"))
		_, _ = t.Read(buf)
		var took []time.Duration
		for b.Loop() {
			began := time.Now()
			_, _ = t.Write([]byte("x"))
			if _, err := t.Read(buf); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		report(b, took)
	})
	b.Run("hub", func(b *testing.B) {
		c := onTerminal(b, "/bin/sh", "-c", "stty raw -echo; exec cat")
		h := New(Options{})
		defer h.Close()
		h.Show(c.Terminal())
		first, err := h.Read(b.Context(), -1, 0)
		if err != nil {
			b.Fatal(err)
		}
		at := first.At
		var took []time.Duration
		for b.Loop() {
			began := time.Now()
			if err := h.Input([]byte("x")); err != nil {
				b.Fatal(err)
			}
			c, err := h.Read(b.Context(), at, 0)
			if err != nil {
				b.Fatal(err)
			}
			at = c.At
			took = append(took, time.Since(began))
		}
		report(b, took)
	})
}
