//go:build unix

package proc

import (
	"fmt"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// openTerminal opens a PTY: our side, non-blocking, and the child's, blocking.
func openTerminal(size TerminalSize) (master, line *os.File, err error) {
	blocking, line, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	defer blocking.Close()
	// Not every program can do with a standard input that does not block.
	if err := syscall.SetNonblock(int(line.Fd()), false); err != nil {
		line.Close()
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	// The library's is a blocking one too: Close would wait for a Read, for ever when
	// the child says nothing (B137).
	fd, err := unix.FcntlInt(blocking.Fd(), syscall.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		line.Close()
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		line.Close()
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	master = os.NewFile(uintptr(fd), "terminal")
	if err := setSize(master, size); err != nil {
		master.Close()
		line.Close()
		return nil, nil, fmt.Errorf("setting the size of a terminal: %w", err)
	}
	eraseCharacters(line)
	return master, line, nil
}

// setSize must not take the descriptor out of f: that would make it block. The error is
// os.ErrClosed when f is closed.
func setSize(f *os.File, size TerminalSize) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return os.ErrClosed
	}
	var set error
	err = conn.Control(func(fd uintptr) {
		set = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(size.Rows), Col: uint16(size.Cols)})
	})
	if err != nil {
		return os.ErrClosed
	}
	return set
}

// eraseCharacters has the line editor of the terminal erase whole characters, not
// bytes, as a terminal emulator sets it up. Without it only that is worse.
func eraseCharacters(line *os.File) {
	modes, err := unix.IoctlGetTermios(int(line.Fd()), getTermios)
	if err != nil {
		return
	}
	modes.Iflag |= unix.IUTF8
	_ = unix.IoctlSetTermios(int(line.Fd()), setTermios, modes)
}
