// Package nonblock reads and writes terminals that are in non-blocking mode without
// telling the scheduler of each system call.
//
// The scheduler gives the processor of a system call away when it takes longer than some
// twenty microseconds, as nearly each on a terminal does in a flood of output. To look for
// that, and to get a processor back, wakes threads, which took as long as the copying
// itself. What does not block has no need of it: agenthost passes a fifth more with this
// package (BenchmarkScreenFlood in e2e).
//
// It is for terminals alone. A call on another kind of file may block in spite of its
// mode, as on a pipe whose writer waits for the page that it writes from, and all of the
// process would stand still. Where a system has no such calls (anything but Linux) these
// are the methods of the file.
//
// Tests: go test ./internal/nonblock.
package nonblock

import "os"

// Read reads what there is, as much as p holds, and waits until there is something. A
// terminal gives some 4 KiB at once; it is asked again while it gives as much. Read
// returns 1 byte or more, or an error: io.EOF, os.ErrDeadlineExceeded, one of a closed
// file, or the system's. p must not be empty.
func Read(f *os.File, p []byte) (int, error) { return read(f, p) }

// Write writes all of p, and waits while the terminal takes nothing. The error is as with
// Read; n bytes were written before it.
func Write(f *os.File, p []byte) (n int, err error) { return write(f, p) }
