package scriptmodel

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"slices"
)

// Ending says how the answer to a request ended.
type Ending string

const (
	EndRunning Ending = ""        // not yet
	EndDone    Ending = "done"    // sent whole
	EndError   Ending = "error"   // an HTTP error
	EndFailed  Ending = "failed"  // a stream ended by fail or badsse
	EndDropped Ending = "dropped" // cut by drop or by Close
	EndClient  Ending = "client"  // the client went away first
)

// A Request is the record of one request. Its slices and maps are shared: read only.
type Request struct {
	Seq    int // counts the requests of the server from 0
	Method string
	Path   string // with the query
	Header http.Header
	Body   jsontext.Value // as received, nil without a body
	API    string         // gemini, responses, chat, messages; "" for other requests
	Model  string
	Stream bool
	Kind   Kind
	Script string // script it was answered from, "" for none
	Step   int    // step of that script, from 0
	Tools  []string
	Texts  []string // user texts of the conversation, oldest first
	Status int      // HTTP status of the answer
	Ending Ending
}

// Requests are the records of all requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Played are the records of the requests that were answered from a script.
func (s *Server) Played() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Kind != KindScript })
}

// Await returns the first record for which ok is true, waiting for it until ctx
// ends. ok is called again whenever a request comes or ends, with s locked: it
// must not call methods of s.
func (s *Server) Await(ctx context.Context, ok func(Request) bool) (Request, error) {
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.log, ok)
		if i >= 0 {
			defer s.mu.Unlock()
			return s.log[i], nil
		}
		n, changed := len(s.log), s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("waiting for a model request (%d so far): %w", n, context.Cause(ctx))
		}
	}
}

// note appends a record and returns its Seq.
func (s *Server) note(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Seq = len(s.log)
	s.log = append(s.log, r)
	s.wake()
	return r.Seq
}

// amend changes the record seq.
func (s *Server) amend(seq int, change func(*Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.log[seq])
	s.wake()
}

// wake tells those who wait that the log has changed. s.mu is held.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}
