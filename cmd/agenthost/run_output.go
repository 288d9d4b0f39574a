package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/redact"
	"github.com/agenthost/agenthost/journal"
)

// output prints a session's stream.
type output struct {
	sink sink
	last lastTurn
	// text says that people read it: how the session failed is in it.
	text bool
	next atomic.Int64 // the first position that is not printed
}

// sink is one form of output.
type sink interface {
	envelope(host.Item) error
	delta(host.Delta) error
	// prompt says that a line of input is awaited.
	prompt() error
	// close ends what is open.
	close() error
}

func newOutput(st *streams, form string, p contract.Profile, s *host.Session, secrets *redact.Redactor) (*output, error) {
	o := &output{}
	switch form {
	case "envelopes":
		o.sink = &envelopeSink{w: st.out, profile: p}
	case "junit":
		o.sink = newJUnitSink(st.out, s.Adapter().Name(), s.ID(), secrets)
	case "events":
		o.sink = newEventSink(st.out, s)
	default:
		o.sink, o.text = newTextSink(st, secrets), true
	}
	return o, nil
}

// once drops what of a problem the output told already.
func (o *output) once(err error) error {
	var p *problem
	if !o.text || !errors.As(err, &p) || !o.last.told(p.what) {
		return err
	}
	return &problem{code: p.code, mend: p.mend}
}

// follow prints until the session has ended and all of it is printed.
func (o *output) follow(from journal.Position, items iter.Seq2[host.Item, error]) error {
	o.next.Store(int64(from))
	for it, err := range items {
		if err == nil && it.Delta != nil {
			err = o.sink.delta(*it.Delta)
		} else if err == nil {
			o.last.see(it.Envelope)
			if err = o.sink.envelope(it); err == nil {
				o.next.Store(int64(it.Position) + 1)
			}
		}
		if err != nil {
			return err
		}
	}
	return o.sink.close()
}

// ready says that a prompt is awaited.
func (o *output) ready() { _ = o.sink.prompt() }

// lastTurn remembers how the newest turn ended. It is written by the printing
// goroutine and read when that is done.
type lastTurn struct {
	mu      sync.Mutex
	end     *contract.TurnEnd // guarded by mu
	faults  []string          // guarded by mu: the newest service error, and that of the turn
	aborted bool              // guarded by mu: the newest turn was aborted by a person
}

func (l *lastTurn) see(e contract.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch ev := e.Event.(type) {
	case contract.TurnStart:
		l.aborted, l.faults = false, nil
	case contract.Service:
		if ev.Kind == contract.ServiceError {
			l.faults = append(l.faults[:0], ev.Text)
		}
	case contract.Abort:
		l.aborted = true
	case contract.TurnEnd:
		l.end = &ev
		if ev.Error != nil {
			l.faults = append(l.faults, ev.Error.Message)
		}
	}
}

// told reports whether the stream said what a problem says, in its last words.
func (l *lastTurn) told(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.faults, func(f string) bool {
		return f != "" && (strings.HasSuffix(f, what) || strings.HasSuffix(what, f))
	})
}

// problem is the exit code for the last turn, nil for 0. login says how to log in.
func (l *lastTurn) problem(login string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == nil || l.end.Status == contract.TurnCompleted {
		return nil
	}
	if l.end.Status == contract.TurnCancelled && l.aborted {
		return nil // as was asked
	}
	p := &problem{code: exitFailed, what: "the turn was " + string(l.end.Status)}
	if l.end.Error == nil {
		return p
	}
	p.what = "the turn failed: " + l.end.Error.Message
	switch l.end.Error.Code {
	case contract.CodeAuthRequired:
		p.code, p.mend = exitStart, login
	case contract.CodeNotInstalled, contract.CodeStartFailed:
		p.code = exitStart
	case contract.CodeAskRefused:
		p.code = exitRefused
	case contract.CodeTimeout:
		p.code = exitTimeout
	}
	return p
}

// envelopeSink prints one envelope a line, as the journal has it.
type envelopeSink struct {
	w       io.Writer
	profile contract.Profile
}

func (s *envelopeSink) envelope(it host.Item) error {
	line := it.Line
	if s.profile == contract.ProfileStrict {
		env, ok := s.profile.Apply(it.Envelope)
		if !ok {
			return nil
		}
		var err error
		if line, err = contract.Encode(env); err != nil {
			return fmt.Errorf("position %d: %w", it.Position, err)
		}
	}
	_, err := s.w.Write(append(line[:len(line):len(line)], '\n'))
	return err
}

func (s *envelopeSink) delta(host.Delta) error { return nil }
func (s *envelopeSink) prompt() error          { return nil }
func (s *envelopeSink) close() error           { return nil }

// isTerminal reports whether v is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
