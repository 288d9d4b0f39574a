package screen

import (
	"cmp"
	"context"
	"slices"
)

// Chunk is a piece of what a viewer is to be shown.
type Chunk struct {
	// At is where to read on: the offset behind Data.
	At int64
	// Data is what the agent wrote, unchanged; with Reset it is a repaint. It may be
	// empty.
	Data []byte
	// Reset says that Data takes the place of all that was shown.
	Reset bool
	// Cols and Rows are the size of the screen that Data is for, to be set before it
	// is shown. Running says that the agent is there.
	Cols, Rows int
	Running    bool
	// Epoch is where the screen of Data began, an offset: another agent's has another one.
	Epoch int64
}

// Beginning is the offset before all that the present agent wrote: who shows a screen
// from its start needs no Reset, as long as that much is kept.
const Beginning int64 = 0

// Whole is an offset for who begins to look: the Reset goes behind the newest lines that
// left the main screen of the present agent at its top, which end up where those of the
// viewer's terminal do.
const Whole int64 = -2

// Anew is where a viewer who wanted to read on after an offset begins with a Reset.
func Anew(after int64) int64 {
	if after == Beginning || after == Whole {
		return Whole
	}
	return -1
}

// Read returns what came after an offset, of at most max bytes (0 or less: as much as
// there is; a Reset may be longer). It blocks until something did, or ctx ends. A
// negative offset, one that is too old, and one of another agent's screen give a Reset.
// The error is the cause of ctx, or ErrClosed when all was read.
func (h *Hub) Read(ctx context.Context, after int64, max int) (Chunk, error) {
	for {
		c, changed, err := h.read(after, max)
		switch {
		case c.Reset:
			return h.repaint(after == Whole), nil
		case changed == nil:
			return c, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Chunk{}, context.Cause(ctx)
		}
	}
}

// read is Read that does not wait: changed is what to wait for, nil if there is
// nothing to. It leaves it to repaint to make a Reset.
func (h *Hub) read(after int64, limit int) (c Chunk, changed <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if after == Beginning {
		after = h.epoch
		if h.blank {
			after = -1 // no agent wrote what is there
		}
	}
	switch {
	case after < max(h.epoch, h.ring.tail) || after > h.ring.head:
		return Chunk{Reset: true}, nil, nil
	case after < h.ring.head:
		return h.piece(nil, after, limit), nil, nil
	case h.closed:
		return Chunk{}, nil, ErrClosed
	}
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return Chunk{}, h.changed, nil
}

// piece is what lies after an offset in the ring: changes, and bytes up to the next
// change, which are appended to buf.
func (h *Hub) piece(buf []byte, after int64, limit int) Chunk {
	i, now := h.status(after)
	for ; i < len(h.marks) && h.marks[i].at == after; i++ {
		now = h.marks[i].status
		after++
	}
	end := h.ring.head
	if i < len(h.marks) {
		end = h.marks[i].at
	}
	if limit > 0 {
		end = min(end, after+int64(limit))
	}
	return Chunk{At: end, Data: h.ring.copy(buf, after, end), Cols: now.cols, Rows: now.rows, Running: now.running, Epoch: h.epoch}
}

// status is what holds at an offset, and the number of the first mark from there on.
func (h *Hub) status(at int64) (next int, now status) {
	next, _ = slices.BinarySearchFunc(h.marks, at, func(m mark, at int64) int { return cmp.Compare(m.at, at) })
	if next == 0 {
		return 0, h.base
	}
	return next, h.marks[next-1].status
}
