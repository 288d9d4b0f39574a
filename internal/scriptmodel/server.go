package scriptmodel

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// A Server is a scripted model. It is an http.Handler and safe for concurrent use.
type Server struct {
	serial  atomic.Uint64
	closing chan struct{} // closed by Close
	close   func()        // closes closing once

	mu       sync.Mutex
	log      []Request                // guarded by mu
	changed  chan struct{}            // guarded by mu; closed and replaced when log changes
	attempts map[string]int           // guarded by mu; failures so far by place in a script
	holds    map[string]chan struct{} // guarded by mu; closed when released
}

var _ http.Handler = (*Server)(nil)

// New returns a server without any record.
func New() *Server {
	closing := make(chan struct{})
	return &Server{
		closing:  closing,
		close:    sync.OnceFunc(func() { close(closing) }),
		changed:  make(chan struct{}),
		attempts: map[string]int{},
		holds:    map[string]chan struct{}{},
	}
}

// Close cuts the answers that wait, hold or hang, now and later. It does not wait
// for their handlers. It may be called more than once.
func (s *Server) Close() { s.close() }

// Release lets every answer at "hold name" go on, those that come later as well.
func (s *Server) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.hold(name)
	select {
	case <-c:
	default:
		close(c)
	}
}

// held is closed when name is released.
func (s *Server) held(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold(name)
}

// hold returns the channel of a hold, made at first sight. s.mu is held.
func (s *Server) hold(name string) chan struct{} {
	c, ok := s.holds[name]
	if !ok {
		c = make(chan struct{})
		s.holds[name] = c
	}
	return c
}

// maxBody bounds a request; what is longer gets status 413. Agents send whole
// conversations with images, real APIs stop at about 20 to 50 MB.
const maxBody = 64 << 20

// ServeHTTP implements http.Handler. An answer that is cut panics with
// http.ErrAbortHandler, which net/http takes as "close the connection".
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	rec := Request{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header, Body: body}
	if err != nil {
		rec.Kind, rec.Status, rec.Ending = KindUnknown, http.StatusRequestEntityTooLarge, EndError
		s.note(rec)
		writeJSON(w, rec.Status, map[string]any{"error": map[string]any{"message": "reading the request: " + err.Error()}})
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch {
	case strings.HasPrefix(path, "/script/"):
		s.control(w, r, rec, strings.TrimPrefix(path, "/script/"))
	case r.Method == http.MethodGet:
		s.models(w, rec, path)
	default:
		s.post(w, r, rec, path)
	}
}

// post serves a POST by the end of its path: agents disagree on what comes before
// (/v1, /openai/v1, nothing).
func (s *Server) post(w http.ResponseWriter, r *http.Request, rec Request, path string) {
	model, method, isGemini := geminiPath(path)
	switch {
	case isGemini && method == "countTokens":
		s.count(w, rec, "totalTokens")
	case isGemini && (method == "generateContent" || method == "streamGenerateContent"):
		s.model(w, r, rec, gemini(model, method == "streamGenerateContent"))
	case strings.HasSuffix(path, "/messages/count_tokens"):
		s.count(w, rec, "input_tokens")
	case strings.HasSuffix(path, "/messages"):
		s.model(w, r, rec, messages())
	case strings.HasSuffix(path, "/responses"):
		s.model(w, r, rec, responses())
	case strings.HasSuffix(path, "/chat/completions"):
		s.model(w, r, rec, chat())
	default:
		s.unknown(w, rec)
	}
}

// model answers a model request.
func (s *Server) model(w http.ResponseWriter, r *http.Request, rec Request, p protocol) {
	rec.API = p.name
	req, err := p.decode(rec.Body)
	if err != nil {
		rec.Kind, rec.Status, rec.Ending = KindUnknown, http.StatusBadRequest, EndError
		s.note(rec)
		writeJSON(w, rec.Status, p.failure(rec.Status, "decoding the request: "+err.Error()))
		return
	}
	a := s.choose(p, req, rec.Body)
	rec.Model, rec.Stream, rec.Kind, rec.Script, rec.Step = req.model, req.stream, a.kind, a.script, a.step
	rec.Tools = sortedNames(req.tools)
	for _, it := range req.items {
		if it.kind == userText {
			rec.Texts = append(rec.Texts, it.text)
		}
	}
	if a.status != 0 {
		rec.Status, rec.Ending = a.status, EndError
		s.note(rec)
		writeJSON(w, a.status, p.failure(a.status, a.reason))
		return
	}
	rec.Status = http.StatusOK
	seq := s.note(rec)
	end := EndClient // what stays when writing panics
	defer func() { s.amend(seq, func(r *Request) { r.Ending = end }) }()
	pl := player{server: s, w: w, r: r, enc: p.encoder(req, a), stream: req.stream}
	if end = pl.play(a); end == EndDropped || end == EndClient {
		panic(http.ErrAbortHandler)
	}
}

// bytesPerToken is the usual rule of thumb.
const bytesPerToken = 4

// count answers a token count with an estimate.
func (s *Server) count(w http.ResponseWriter, rec Request, member string) {
	rec.Kind, rec.Status, rec.Ending = KindCount, http.StatusOK, EndDone
	s.note(rec)
	writeJSON(w, rec.Status, map[string]any{member: len(rec.Body)/bytesPerToken + 1})
}

// unknown answers what nobody serves.
func (s *Server) unknown(w http.ResponseWriter, rec Request) {
	rec.Kind, rec.Status, rec.Ending = KindUnknown, http.StatusNotFound, EndError
	s.note(rec)
	writeJSON(w, rec.Status, map[string]any{"error": map[string]any{
		"code": http.StatusNotFound, "type": "not_found_error",
		"message": fmt.Sprintf("the scripted model does not serve %s %s", rec.Method, rec.Path),
	}})
}
