package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// bodyTime is how long the body of a request may take to arrive, unless it is a file.
const bodyTime = 30 * time.Second

// answerTime is how long a request may take until its answer is taken, unless it is
// written by a patient, as all are that may take longer.
const answerTime = 10 * time.Minute

// paceBytes is how much of a body that may be long must come within its patience.
const paceBytes = 64 << 10

// timed bounds every request before anybody looks at it. Of a body that nobody reads,
// because the request is refused, net/http reads the rest before it answers, however long
// that takes. Once a body was read or discarded net/http itself takes its deadline away.
func timed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.SetWriteDeadline(time.Now().Add(answerTime)) // not every server has deadlines
		if r.Body != nil && r.Body != http.NoBody {
			_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
		}
		h.ServeHTTP(w, r)
	})
}

// ReadBody reads a whole body, which must come within half a minute. After an error the
// rest of it is not waited for: the connection ends once it is answered.
func ReadBody(w http.ResponseWriter, body io.Reader) ([]byte, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // not every server has deadlines
	raw, err := io.ReadAll(body)
	if err != nil {
		_ = rc.SetReadDeadline(time.Now())
		return nil, err
	}
	_ = rc.SetReadDeadline(time.Time{})
	return raw, nil
}

// Paced is a body that may be long and slow but must move: 64 KiB of it in patience.
func Paced(w http.ResponseWriter, body io.Reader, patience time.Duration) io.Reader {
	return &paced{r: body, rc: http.NewResponseController(w), patience: patience}
}

type paced struct {
	r        io.Reader
	rc       *http.ResponseController
	patience time.Duration
	left     int // bytes until it may take as long again
}

func (p *paced) Read(b []byte) (int, error) {
	if p.left <= 0 {
		p.left = paceBytes
		_ = p.rc.SetReadDeadline(time.Now().Add(p.patience)) // not every server has deadlines
	}
	n, err := p.r.Read(b)
	p.left -= n
	if errors.Is(err, io.EOF) {
		_ = p.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Patient is an answer whose reader may be slow but must take what is written within
// patience.
func Patient(w http.ResponseWriter, patience time.Duration) io.Writer { return newPatient(w, patience) }

func newPatient(w http.ResponseWriter, patience time.Duration) *patient {
	return &patient{w: w, rc: http.NewResponseController(w), patience: patience}
}

type patient struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	patience time.Duration
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.rc.SetWriteDeadline(time.Now().Add(p.patience)) // not every server has deadlines
	return p.w.Write(b)
}

func (p *patient) flush() { _ = p.rc.Flush() } // what cannot be flushed fails at the next write
