package proc

import (
	"io"
	"os"
)

// pipe is one stream: the child's end and our own.
type pipe struct {
	child, own *os.File
}

// pipes are the streams of a child. stdin is empty for a child without input.
type pipes struct {
	stdin, stdout, stderr pipe
}

// open opens the pipes, all or none.
func (p *pipes) open(input bool) (err error) {
	defer func() {
		if err != nil {
			p.closeChildEnds()
			p.closeOwnEnds()
		}
	}()
	if input {
		if p.stdin.child, p.stdin.own, err = os.Pipe(); err != nil {
			return err
		}
	}
	if p.stdout.own, p.stdout.child, err = os.Pipe(); err != nil {
		return err
	}
	p.stderr.own, p.stderr.child, err = os.Pipe()
	return err
}

func (p *pipes) closeChildEnds() { closeAll(p.stdin.child, p.stdout.child, p.stderr.child) }
func (p *pipes) closeOwnEnds()   { closeAll(p.stdin.own, p.stdout.own, p.stderr.own) }

// closeAll closes the files that are not nil; closing one again is harmless.
func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// drainLimit bounds what is read of a stream after the exit. More than the
// largest pipe holds (/proc/sys/fs/pipe-max-size is 1 MiB) can't be the child's:
// then something that escaped us goes on writing.
const drainLimit = 2 << 20

// stream reads a pipe until its end, or, after the exit of the child, until
// nothing is left in it: then a process that escaped and holds the other end
// can't keep the stream open.
type stream struct {
	file     *os.File
	read     func(*os.File, []byte) (int, error)
	tee      io.Writer     // gets a copy of what is read, unless nil
	draining chan struct{} // closed when the child is gone
	left     int           // bytes still read after that; only Read uses it
}

func newStream(file *os.File, tee io.Writer) *stream {
	return &stream{file: file, read: (*os.File).Read, tee: tee, draining: make(chan struct{}), left: drainLimit}
}

// drain tells the reader that the child is gone. It is called once.
func (s *stream) drain() {
	// Wakes a Read that waits. The reader takes the deadline away again.
	wake(s.file)
	close(s.draining)
}

// Read implements io.Reader. Every end is io.EOF: what else a pipe's reader can
// be told (EIO, a closed file) means the same here.
func (s *stream) Read(p []byte) (int, error) {
	n, woken := s.wait(p)
	if woken {
		<-s.draining
		n = s.rest(p)
	}
	if n <= 0 {
		return 0, io.EOF
	}
	if s.tee != nil {
		_, _ = s.tee.Write(p[:n])
	}
	return n, nil
}

// wait reads as long as the child lives; woken reports that it doesn't.
func (s *stream) wait(p []byte) (n int, woken bool) {
	select {
	case <-s.draining:
		return 0, true
	default:
	}
	n, err := s.read(s.file, p)
	return n, n == 0 && wokenBy(err)
}

// rest reads what is in the pipe already, without waiting for more.
func (s *stream) rest(p []byte) int {
	n := readNow(s.file, p[:min(len(p), s.left)])
	s.left -= max(n, 0)
	return n
}

// Copy copies a pipe that a process writes into, until the pipe ends, or until
// the process is gone and what it left in the pipe is read. It blocks until then
// and closes the pipe's reading end. Errors of w are ignored: the process must not
// block on a pipe that nobody reads.
func Copy(w io.Writer, from *os.File, p *Process) {
	defer from.Close()
	s := newStream(from, w)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		buffer := make([]byte, readSize)
		for {
			if _, err := s.Read(buffer); err != nil {
				return
			}
		}
	}()
	select {
	case <-copied:
	case <-p.Done():
		s.drain()
		<-copied
	}
}
