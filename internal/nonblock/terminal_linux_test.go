package nonblock

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is a PTY in raw mode, both sides in non-blocking mode.
func terminal(t *testing.T) (master, line *os.File) {
	t.Helper()
	m, l, err := pty.Open()
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	again := func(f *os.File) *os.File {
		defer f.Close()
		fd, err := unix.FcntlInt(f.Fd(), syscall.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		g := os.NewFile(uintptr(fd), "terminal")
		t.Cleanup(func() { g.Close() })
		return g
	}
	if _, err := term.MakeRaw(int(l.Fd())); err != nil {
		t.Fatal(err)
	}
	return again(m), again(l)
}

// flow has a terminal stop or go on, as ^S and ^Q do.
func flow(t *testing.T, line *os.File, action int) {
	t.Helper()
	conn, err := line.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := conn.Control(func(fd uintptr) { err = unix.IoctlSetInt(int(fd), unix.TCXONC, action) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
}

// A terminal gives what was written to its line, each byte once, though its person stops
// it, nobody reads for a while and others write to it, too.
func TestTerminalWhole(t *testing.T) {
	master, line := terminal(t)
	const others = "\x00\x00\x00"
	want := make([]byte, 1<<20)
	for i := range want {
		want[i] = byte(i%251) + 1
	}
	flow(t, line, unix.TCOOFF)
	if err := line.SetWriteDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := Write(line, want); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("Write to a terminal that is stopped = %d, %v, want the deadline", n, err)
	}
	if err := line.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 2)
	put := func(p []byte, most int) {
		for len(p) > 0 {
			n, err := Write(line, p[:min(len(p), most)])
			if p = p[n:]; err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}
	go put(want, len(want))
	flow(t, line, unix.TCOON)
	go put(bytes.Repeat([]byte(others), 1000), len(others))
	var got []byte
	for p := make([]byte, 32<<10); len(got) < len(want)+1000*len(others); {
		n, err := Read(master, p)
		if err != nil {
			t.Fatalf("after %d bytes: %v", len(got), err)
		}
		got = append(got, p[:n]...)
	}
	for range 2 {
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	}
	if got = bytes.ReplaceAll(got, []byte{0}, nil); !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, want the %d that were written", len(got), len(want))
	}
}

// A terminal that hangs up ends who reads and writes it; what it had is read before.
func TestTerminalHangsUp(t *testing.T) {
	master, line := terminal(t)
	if n, err := Write(line, []byte("last")); n != 4 || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
	line.Close()
	p := make([]byte, 64)
	if n, err := Read(master, p); string(p[:n]) != "last" || err != nil {
		t.Errorf("Read = %q, %v, want what was there", p[:n], err)
	}
	if n, err := Read(master, p); n != 0 || !errors.Is(err, syscall.EIO) {
		t.Errorf("Read of a terminal without a line = %d, %v, want %v", n, err, syscall.EIO)
	}

	master, line = terminal(t)
	waits := make(chan error)
	go func() {
		_, err := Read(line, make([]byte, 64))
		waits <- err
	}()
	go func() {
		_, err := Write(line, make([]byte, 1<<20))
		waits <- err
	}()
	if _, err := Read(master, p); err != nil { // the writer is at it
		t.Fatal(err)
	}
	master.Close()
	for range 2 {
		if err := <-waits; !errors.Is(err, syscall.EIO) && !errors.Is(err, io.EOF) {
			t.Errorf("who waited got %v, want %v or %v", err, syscall.EIO, io.EOF)
		}
	}
}
