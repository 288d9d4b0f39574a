package vt

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkWrite: text that scrolls, and a screen that is drawn anew with colours.
func BenchmarkWrite(b *testing.B) {
	var frame bytes.Buffer
	for y := range 24 {
		fmt.Fprintf(&frame, "\x1b[%d;1H\x1b[38;5;%dm│ \x1b[1mline %d\x1b[22m of a frame\x1b[39m\x1b[K", y+1, 100+y, y)
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"text", bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog and runs away from it all, ok\r\n"), 1000)},
		{"frames", bytes.Repeat(frame.Bytes(), 40)},
		{"wide", bytes.Repeat([]byte("世界は広い"), 2000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			t := New(80, 24, 1000)
			b.SetBytes(int64(len(c.data)))
			for b.Loop() {
				_, _ = t.Write(c.data)
			}
		})
	}
}

func BenchmarkRepaint(b *testing.B) {
	t := New(200, 60, 0)
	_, _ = t.Write(bytes.Repeat([]byte("\x1b[31mred \x1b[32mgreen \x1b[0mplain "), 500))
	for b.Loop() {
		t.Repaint()
	}
}
