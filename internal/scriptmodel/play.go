package scriptmodel

import (
	"encoding/json/jsontext"
	"net/http"
	"time"
)

// A protocol is one of the model APIs.
type protocol struct {
	name string
	// callPrefix begins the ids of calls; "" leaves ids out, as Gemini does.
	callPrefix string
	// peopleUseSchemas is set where a schema may stand in a turn of the user's.
	peopleUseSchemas bool
	decode           func(body []byte) (*request, error)
	encoder          func(r *request, a *answer) encoder
	// failure is the body of an HTTP error.
	failure func(status int, reason string) any
}

// An encoder writes one answer in the words of an API. The methods are called in
// the order begin, (open, piece…, close)…, end; failed replaces the rest.
type encoder interface {
	begin() []event
	open(b beat) []event
	piece(b beat, text string) []event
	close(b beat) []event
	end() []event
	failed(word, note string) []event
	// whole is the body of an answer that is not streamed, valid after end.
	whole() any
}

// An event is one server-sent event; name "" leaves the event line out.
type event struct {
	name string
	data any // jsontext.Value and rawData are sent as they are
}

// rawData is event data that need not be JSON.
type rawData string

func (e event) appendTo(buf []byte) []byte {
	if e.name != "" {
		buf = append(buf, "event: "+e.name+"\n"...)
	}
	buf = append(buf, "data: "...)
	switch d := e.data.(type) {
	case rawData:
		buf = append(buf, d...)
	case jsontext.Value:
		buf = append(buf, d...)
	default:
		buf = append(buf, encode(d)...)
	}
	return append(buf, "\n\n"...)
}

// A player sends one answer.
type player struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	enc    encoder
	stream bool
	buf    []byte
}

// play sends the answer and says how it ended. It blocks for as long as the
// answer takes, at most until the client goes away or the server is closed.
func (p *player) play(a *answer) Ending {
	if p.stream {
		h := p.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
	}
	if !p.send(p.enc.begin()) {
		return EndClient
	}
	for _, b := range a.beats {
		if end := p.beat(b); end != "" {
			return end
		}
	}
	if !p.send(p.enc.end()) {
		return EndClient
	}
	if p.stream {
		return EndDone
	}
	p.w.Header().Set("Content-Type", "application/json")
	if _, err := p.w.Write(encode(p.enc.whole())); err != nil {
		return EndClient
	}
	return EndDone
}

// beat plays one beat; "" means that the answer goes on.
func (p *player) beat(b beat) Ending {
	switch b.op {
	case beatWait:
		return p.pause(b.pause)
	case beatHold:
		return p.until(p.server.held(b.text))
	case beatHang:
		return p.until(nil)
	case beatDrop:
		return EndDropped
	case beatBadSSE:
		return p.broken()
	case beatFail:
		return p.fail(b)
	case beatRaw:
		if !p.send([]event{{data: rawData(b.text)}}) {
			return EndClient
		}
		return ""
	}
	if !p.send(p.enc.open(b)) {
		return EndClient
	}
	for _, text := range b.pieces {
		if end := p.pause(b.pause); end != "" {
			return end
		}
		if !p.send(p.enc.piece(b, text)) {
			return EndClient
		}
	}
	if !b.cut && !p.send(p.enc.close(b)) {
		return EndClient
	}
	return ""
}

// send writes events and flushes them; false means that the client is gone.
func (p *player) send(events []event) bool {
	if !p.stream || len(events) == 0 {
		return p.r.Context().Err() == nil
	}
	p.buf = p.buf[:0]
	for _, e := range events {
		p.buf = e.appendTo(p.buf)
	}
	if _, err := p.w.Write(p.buf); err != nil {
		return false
	}
	return http.NewResponseController(p.w).Flush() == nil
}

// pause waits for d.
func (p *player) pause(d time.Duration) Ending {
	if d <= 0 {
		return ""
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ""
	case <-p.r.Context().Done():
		return EndClient
	case <-p.server.closing:
		return EndDropped
	}
}

// until waits for c, for ever when c is nil.
func (p *player) until(c <-chan struct{}) Ending {
	select {
	case <-c:
		return ""
	case <-p.r.Context().Done():
		return EndClient
	case <-p.server.closing:
		return EndDropped
	}
}

// brokenData is half a JSON document.
const brokenData = `{"broken": [1, 2`

// broken ends the answer in the middle of a document.
func (p *player) broken() Ending {
	if p.stream {
		p.send([]event{{data: rawData(brokenData)}})
	} else {
		p.w.Header().Set("Content-Type", "application/json")
		p.w.Write([]byte(brokenData)) // the answer is broken either way
	}
	return EndFailed
}

// fail ends the answer with an error event, or error status when not streamed.
func (p *player) fail(b beat) Ending {
	if p.stream {
		p.send(p.enc.failed(b.text, b.note))
		return EndFailed
	}
	writeJSON(p.w, http.StatusInternalServerError, map[string]any{"error": map[string]any{"type": b.text, "message": b.note}})
	return EndFailed
}

// writeJSON sends a body with a status. The client's absence is its own matter.
func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encode(body))
}
