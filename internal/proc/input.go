package proc

import (
	"bytes"
	"io"
	"sync"
)

// input is the queue before a child's stdin. One goroutine, run, empties it.
type input struct {
	mu     sync.Mutex
	wake   *sync.Cond // queue or state changed
	queue  [][]byte
	queued int64 // bytes in queue and in the write under way
	limit  int64
	closed bool // no more writes are taken; stdin closes when the queue is empty
	gone   bool // the child can't read any more; writes are thrown away
}

func newInput(limit int64) *input {
	in := &input{limit: limit}
	in.wake = sync.NewCond(&in.mu)
	return in
}

func (in *input) write(p []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.gone:
		return nil
	case in.closed:
		return ErrInputClosed
	case len(p) == 0:
		return nil
	case in.queued > 0 && in.queued+int64(len(p)) > in.limit:
		// One write always fits, however large: else it could never be made.
		return ErrInputFull
	}
	in.queue = append(in.queue, bytes.Clone(p))
	in.queued += int64(len(p))
	in.wake.Signal()
	return nil
}

func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.wake.Signal()
}

// abandon throws the queue away: the child is gone or doesn't read.
func (in *input) abandon() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.gone = true
	in.queue = nil
	in.wake.Signal()
}

// run writes the queue to w until it is closed and empty or abandoned, and then
// closes w. A write error is not reported: it means that the child reads no
// more, and what that means its exit tells better.
func (in *input) run(w io.WriteCloser) {
	defer w.Close()
	for {
		p, ok := in.take()
		if !ok {
			return
		}
		_, err := w.Write(p)
		in.mu.Lock()
		in.queued -= int64(len(p))
		in.mu.Unlock()
		if err != nil {
			in.abandon()
			return
		}
	}
}

func (in *input) take() ([]byte, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.queue) == 0 && !in.closed && !in.gone {
		in.wake.Wait()
	}
	if in.gone || len(in.queue) == 0 {
		return nil, false
	}
	p := in.queue[0]
	in.queue[0] = nil
	in.queue = in.queue[1:]
	return p, true
}
