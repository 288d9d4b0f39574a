package screen

import "math"

// maxAsks bounds how many questions wait for a console.
const maxAsks = 1024

// asks are the questions of the agent to its terminal, like where the cursor is. A
// person's terminal that shows the output answers them; so that each has one answer, this
// one does for what none showed. It is guarded by Hub.mu.
type asks struct {
	// showed is up to where consoles showed the output, an offset.
	showed int64
	// answered is up to where questions were answered, here or by a console, an offset; 0
	// for none.
	answered int64
	// open are questions that no console has shown yet, in order.
	open []ask
}

// ask is what was asked before an offset, as it is answered.
type ask struct {
	at     int64
	answer []byte
}

// asked takes the answers to what was drawn last, from an offset on. It is called under mu.
func (h *Hub) asked(from int64) {
	a := &h.asks
	if !h.console {
		if answers := h.term.Answers(); len(answers) > 0 {
			h.answer(ask{h.drawn, answers})
		}
		return
	}
	for behind, answer := range h.term.AnswersAt() {
		at := from + int64(behind)
		if at <= a.showed {
			a.answered = max(a.answered, at)
			continue
		}
		if len(a.open) >= maxAsks {
			a.open = a.open[1:] // its agent has given up waiting
		}
		a.open = append(a.open, ask{at, answer})
	}
}

// answer types an answer. It is called under mu.
func (h *Hub) answer(a ask) {
	if h.source == nil {
		return
	}
	h.asks.answered = max(h.asks.answered, a.at)
	if _, err := h.source.Write(a.answer); err != nil {
		h.o.Logger.Warn("the agent did not take its terminal's answers", "err", err)
	}
}

// closeAsks is done with the questions before an offset: they are answered here, or were on
// a console. It is called under mu.
func (h *Hub) closeAsks(at int64, here bool) {
	var done ask
	open := h.asks.open
	for ; len(open) > 0 && open[0].at <= at; open = open[1:] {
		done = ask{open[0].at, append(done.answer, open[0].answer...)}
	}
	h.asks.open = open
	switch {
	case done.at == 0:
	case here:
		h.answer(done)
	default:
		h.asks.answered = max(h.asks.answered, done.at)
	}
}

// Console says whether a person's terminal shows the output and answers the agent's
// questions to its terminal by Input. While none does they are answered here: also those
// of before the call, which a console that begins with a Reset never gets, and those that
// the one which left has not shown, as far as it said.
func (h *Hub) Console(attached bool) {
	h.drawing.Lock()
	defer h.drawing.Unlock()
	h.catchUp()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.console = attached
	if !attached {
		h.closeAsks(math.MaxInt64, true)
	}
}

// OnConsole says that a console has shown all up to an offset, as Read takes it, and
// returns where it is to read on: there, or with a Reset when a question behind was
// answered here or by a console before, which one that shows those bytes would answer once
// more.
func (h *Hub) OnConsole(after int64) (from int64) {
	shown, known := h.show(after)
	if !known {
		h.draw()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if 0 <= shown && shown < h.asks.answered {
		return Anew(after)
	}
	return after
}

// show notes what a console has shown, and returns up to where that is, negative for
// nothing. Known is false when another one has shown more that was not drawn yet: what was
// asked there is not known.
func (h *Hub) show(after int64) (shown int64, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &h.asks
	if shown = after; after == Beginning {
		shown = h.epoch
	}
	if shown < 0 {
		return shown, true
	}
	shown = min(shown, h.ring.head) // what a far one says is not known to be true
	a.showed = max(a.showed, shown)
	h.closeAsks(shown, false)
	return shown, shown == a.showed || h.drawn >= a.showed
}

// Missed says that a console got a Reset, which is up to an offset: what was asked before
// and shown by none is answered here.
func (h *Hub) Missed(at int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closeAsks(at, true)
}
