package nonblock

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// pipe is one in non-blocking mode, as os.Pipe makes them, for what a terminal does, too.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestReadWaits(t *testing.T) {
	r, w := pipe(t)
	read := make(chan string)
	go func() {
		p := make([]byte, 64)
		for {
			n, err := Read(r, p)
			if err != nil {
				read <- err.Error()
				return
			}
			read <- string(p[:n])
		}
	}()
	for _, text := range []string{"a", "bc"} {
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if got := <-read; got != text {
			t.Errorf("read %q, want %q", got, text)
		}
	}
	w.Close()
	if got := <-read; got != io.EOF.Error() {
		t.Errorf("read %q at the end, want %v", got, io.EOF)
	}
}

// What ends a wait is told, and what was there before it is not lost.
func TestReadErrors(t *testing.T) {
	r, w := pipe(t)
	p := make([]byte, 64)
	if err := r.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := Read(r, p); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read = %d, %v, want the deadline", n, err)
	}
	if err := r.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("left"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if n, err := Read(r, p); string(p[:n]) != "left" || err != nil {
		t.Errorf("Read = %q, %v, want what was left", p[:n], err)
	}
	r.Close()
	if n, err := Read(r, p); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("Read of a closed file = %d, %v, want an error", n, err)
	}
}

// All is written to a reader who takes it slowly, each byte once.
func TestWriteWhole(t *testing.T) {
	r, w := pipe(t)
	want := make([]byte, 1<<20)
	for i := range want {
		want[i] = byte(i / 7)
	}
	wrote := make(chan error)
	go func() {
		n, err := Write(w, want)
		if err == nil && n != len(want) {
			err = io.ErrShortWrite
		}
		w.Close()
		wrote <- err
	}()
	var got []byte
	for p := make([]byte, 3000); ; {
		n, err := Read(r, p)
		got = append(got, p[:n]...)
		if err != nil {
			break
		}
	}
	if err := <-wrote; err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, %v, want the %d that were written", len(got), err, len(want))
	}
}

// Who writes on after an error knows from where.
func TestWriteErrors(t *testing.T) {
	r, w := pipe(t)
	var n int
	var err error
	// Some is to be written before the deadline, which a busy machine may come too late for.
	for wait := 50 * time.Millisecond; n == 0 && wait < time.Minute; wait *= 2 {
		if err = w.SetWriteDeadline(time.Now().Add(wait)); err != nil {
			t.Fatal(err)
		}
		n, err = Write(w, make([]byte, 1<<20))
	}
	if n == 0 || n == 1<<20 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("Write = %d, %v, want a part and the deadline", n, err)
	}
	if got, err := r.Read(make([]byte, 2<<20)); got != n || err != nil {
		t.Errorf("%d bytes came, %v, want %d", got, err, n)
	}
	if err := w.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if n, err := Write(w, []byte("x")); n != 0 || err == nil {
		t.Errorf("Write that nobody reads = %d, %v, want an error", n, err)
	}
	w.Close()
	if n, err := Write(w, []byte("x")); n != 0 || err == nil {
		t.Errorf("Write to a closed file = %d, %v, want an error", n, err)
	}
}
