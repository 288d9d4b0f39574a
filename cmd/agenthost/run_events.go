package main

import (
	"io"
	"iter"
	"time"

	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/journal"
)

// eventSink prints the session contract's events, one a line: the fold of the
// envelopes, and the deltas between them.
type eventSink struct {
	w    io.Writer
	fold *fold.Fold
	// next is the position that the fold takes next: what lies before the first
	// printed envelope is folded too, without a word.
	next journal.Position
	// read gives the envelopes from one position to before another.
	read func(from, to journal.Position) iter.Seq2[journal.Record, error]
}

func newEventSink(w io.Writer, s *host.Session) *eventSink {
	return &eventSink{
		w: w, fold: fold.New(session.Session{ID: s.ID(), AgentID: s.Adapter().Name()}),
		next: s.Journal().Oldest(), read: s.Journal().Read,
	}
}

func (s *eventSink) envelope(it host.Item) error {
	if s.next < it.Position {
		for r, err := range s.read(s.next, it.Position) {
			if err != nil {
				return err
			}
			s.fold.Apply(r.Envelope)
		}
	}
	s.next = it.Position + 1
	return s.print(s.fold.Apply(it.Envelope))
}

func (s *eventSink) delta(d host.Delta) error {
	return s.print(s.fold.Delta(fold.Delta{
		Time: time.Now().UnixMilli(), Subagent: d.Subagent, Call: d.Call, Thinking: d.Thinking, Text: d.Text,
	}))
}

func (s *eventSink) print(events []session.Event) error {
	for _, e := range events {
		line, err := fold.Encode(e)
		if err != nil {
			return err
		}
		if _, err := s.w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (s *eventSink) prompt() error { return nil }
func (s *eventSink) close() error  { return nil }
