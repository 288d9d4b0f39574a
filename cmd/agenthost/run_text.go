package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/agenthost/agenthost/contract/render"
	"github.com/agenthost/agenthost/contract/session/fold"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/redact"
)

// textSink prints what people read: what the agent says on standard output,
// everything else on standard error.
type textSink struct {
	mu     sync.Mutex // an ask on the terminal may come from another goroutine
	text   *render.Text
	prints io.Writer // where a person is asked for a prompt
}

func newTextSink(st *streams, secrets *redact.Redactor) *textSink {
	terminal := isTerminal(st.out)
	return &textSink{
		prints: st.err,
		text: render.NewText(st.out, redacting{st.err, secrets}, render.Options{
			Color: isTerminal(st.err) && os.Getenv("NO_COLOR") == "", Terminal: terminal,
		}),
	}
}

// redacting keeps secrets out of the notes, of which each comes with one Write:
// agents put keys into their errors.
type redacting struct {
	w       io.Writer
	secrets *redact.Redactor
}

func (r redacting) Write(p []byte) (int, error) {
	if _, err := r.w.Write(r.secrets.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *textSink) envelope(it host.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Envelope(it.Envelope)
}

func (s *textSink) delta(d host.Delta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Delta(fold.Delta{
		Time: time.Now().UnixMilli(), Subagent: d.Subagent, Call: d.Call, Thinking: d.Thinking, Text: d.Text,
	})
}

// prompt asks for the next line of input.
func (s *textSink) prompt() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := fmt.Fprint(s.prints, "> ")
	return err
}

func (s *textSink) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Close()
}
