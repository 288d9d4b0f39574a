package screen

import (
	"io"
	"testing"
)

// heard is a Source that gives one text, and then waits to be closed.
type heard struct {
	text   string
	closed chan struct{}
}

func (s *heard) Read(p []byte) (int, error) {
	if s.text == "" {
		<-s.closed
		return 0, io.EOF
	}
	n := copy(p, s.text)
	s.text = s.text[n:]
	return n, nil
}

func (s *heard) Write(p []byte) (int, error) { return len(p), nil }
func (s *heard) Resize(int, int) error       { return nil }

// From the beginning all is as the agent wrote it, also when the reader came first; what
// is no longer kept is a repaint.
func TestBeginning(t *testing.T) {
	h := New(Options{Ring: 4096})
	defer h.Close()
	first := make(chan Chunk, 1)
	go func() {
		c, _ := h.Read(t.Context(), Beginning, 0)
		first <- c
	}()
	for _, text := range []string{"the first", "the second"} {
		src := &heard{text, make(chan struct{})}
		wait := h.Show(src)
		c := Chunk{}
		if text == "the first" {
			c = <-first
		}
		if len(c.Data) == 0 {
			var err error
			if c, err = h.Read(t.Context(), Beginning, 0); err != nil {
				t.Fatal(err)
			}
		}
		if string(c.Data) != text || c.Reset {
			t.Errorf("from the beginning = %q, reset %t; want %q", c.Data, c.Reset, text)
		}
		close(src.closed)
		wait()
	}
	src := &heard{string(make([]byte, 10_000)), make(chan struct{})}
	wait := h.Show(src)
	close(src.closed)
	wait()
	if c, err := h.Read(t.Context(), Beginning, 0); err != nil || !c.Reset {
		t.Errorf("from a beginning that is gone = %+v, %v", c, err)
	}
}
