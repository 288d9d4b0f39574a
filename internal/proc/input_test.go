package proc

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
)

// sink is a stdin whose reader takes nothing until it is let.
type sink struct {
	bytes.Buffer
	let    chan struct{}
	closed bool
}

func (s *sink) Write(p []byte) (int, error) {
	<-s.let
	return s.Buffer.Write(p)
}

func (s *sink) Close() error {
	s.closed = true
	return nil
}

func TestInputOrderAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := newInput(100), &sink{let: make(chan struct{})}
		go in.run(out)
		for _, s := range []string{"one ", "", "two ", "three"} {
			if err := in.write([]byte(s)); err != nil {
				t.Fatalf("write(%q): %v", s, err)
			}
		}
		in.close()
		if err := in.write([]byte("late")); !errors.Is(err, ErrInputClosed) {
			t.Errorf("write after close = %v, want ErrInputClosed", err)
		}
		synctest.Wait()
		if out.closed {
			t.Error("stdin was closed before the queue was empty")
		}
		close(out.let)
		synctest.Wait()
		if got := out.String(); got != "one two three" || !out.closed {
			t.Errorf("stdin got %q, closed %v", got, out.closed)
		}
	})
}

func TestInputFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := newInput(10), &sink{let: make(chan struct{})}
		go in.run(out)
		if err := in.write(make([]byte, 20)); err != nil {
			t.Errorf("a single write above the limit = %v, want it taken", err)
		}
		synctest.Wait() // it is under way, and counts still
		if err := in.write([]byte("x")); !errors.Is(err, ErrInputFull) {
			t.Errorf("write to a full queue = %v, want ErrInputFull", err)
		}
		out.let <- struct{}{}
		synctest.Wait()
		if err := in.write([]byte("0123456789")); err != nil {
			t.Errorf("write after the child has read = %v", err)
		}
		close(out.let)
		in.close()
		synctest.Wait()
		if got := out.Len(); got != 30 {
			t.Errorf("stdin got %d bytes, want 30: a refused write must write nothing", got)
		}
	})
}

func TestInputGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInput(10)
		r, w := io.Pipe()
		go in.run(w)
		_ = in.write([]byte("x"))
		r.CloseWithError(errors.New("broken pipe"))
		synctest.Wait() // run has ended: the bubble would complain else
		for range 100 {
			if err := in.write([]byte("more than the limit")); err != nil {
				t.Fatalf("write to a child that is gone = %v, want nil", err)
			}
		}
		if len(in.queue) != 0 {
			t.Errorf("%d writes are kept for a child that is gone", len(in.queue))
		}
	})
}
