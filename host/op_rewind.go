package host

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// move is a rewind that the agent is started again for.
type move struct {
	rewound rewound
	// native is the agent's own session.
	native string
	// before are the session's rewinds without this one.
	before []Rewind
	// failed is why the agent did not open its session there; it is being started
	// as it was.
	failed *contract.Error
	done   func(jsontext.Value, error)
}

// rewound is what was rewound.
type rewound struct {
	Conversation bool           `json:"conversation"`
	Files        jsontext.Value `json:"files"`
	// Origin is that of the last answer that was kept, empty when not known.
	Origin string `json:"origin,omitzero"`
	// message is the text of the user's message that it goes back to.
	message string
}

// rewind takes the conversation, the files or both back.
func (s *Session) rewind(raw jsontext.Value, done func(jsontext.Value, error)) {
	switch {
	case s.busy():
		done(nil, fmt.Errorf("rewind: %w", ErrBusy))
		return
	case s.held > 0:
		done(nil, errors.New("rewind: another change is under way"))
		return
	}
	s.quiet() // a turn of the agent's own that has come to rest
	p, message, err := s.rewindPoint(raw)
	if err == nil {
		raw, err = p.raw()
	}
	if err != nil {
		done(nil, err)
		return
	}
	// Prompts that come meanwhile are meant for what is there afterwards.
	s.held++
	over := func(v jsontext.Value, err error) {
		s.held--
		done(v, err)
	}
	s.pass(adapters.OpRewind, raw, func(o adapters.Outcome) {
		s.followUp = append(s.followUp, func() { s.rewindDone(p, message, o, over) })
	}, func(err error) { over(nil, err) })
}

// rewindPoint says where a rewind goes, and to which message.
func (s *Session) rewindPoint(raw jsontext.Value) (p opParams, message string, err error) {
	if p, err = readParams(adapters.OpRewind, raw); err != nil {
		return p, "", err
	}
	c, err := s.conversation()
	if err != nil {
		return p, "", err
	}
	if p, err = c.point(p); err != nil {
		return p, "", fmt.Errorf("rewind: %w", err)
	}
	return p, c.texts[p.To], nil
}

// rewindDone takes the agent's answer to a rewind.
func (s *Session) rewindDone(p opParams, message string, o adapters.Outcome, done func(jsontext.Value, error)) {
	if o.Err != nil || p.DryRun {
		done(o.Result, outcomeError(o))
		return
	}
	r := adapters.ReadRewind(o.Result)
	w := rewound{Conversation: r.Conversation, Files: r.Files, Origin: p.At, message: message}
	if len(w.Files) == 0 {
		w.Files = jsontext.Value("false")
	}
	if r.Restart != nil {
		w.Conversation, w.Origin = true, r.Restart.Origin
		s.startAt(&move{rewound: w, native: r.Restart.Session, done: done})
		return
	}
	if w.Conversation && w.Origin != "" {
		s.cut(w.Origin, false)
	}
	s.tellRewound(w)
	done(o.Result, nil)
}

// startAt starts the agent again, in its own session cut at m's point. The point
// is on disk before the child is told to go, so that no crash undoes the rewind.
func (s *Session) startAt(m *move) {
	if s.state != open || s.gaveUp || m.native != s.meta.Facts.NativeSession {
		m.done(nil, fmt.Errorf("rewind: the agent is not ready (%s)", s.state))
		return
	}
	m.before = s.meta.Rewinds
	s.cut(m.rewound.Origin, true)
	s.settleMeta()
	s.move = m
	s.replaceChild()
}

// replaceChild ends the child; exited starts the next one.
func (s *Session) replaceChild() {
	s.state = replacing
	s.shutting = false
	s.shut()
}

// takeBack undoes a rewind whose point the agent did not open its session at. It
// reports whether the agent is to be started as it was.
func (s *Session) takeBack(cause *contract.Error) bool {
	if s.move == nil || s.move.failed != nil {
		return false
	}
	s.move.failed = cause
	s.meta.Rewinds = s.move.before
	s.saveMeta()
	return true
}

// relaunch starts the agent again in its own session, at once.
func (s *Session) relaunch() {
	s.goOn()
	s.changeFace()
	err := s.launch(context.Background())
	if err == nil {
		return
	}
	cause := &contract.Error{Code: contract.CodeStartFailed, Message: err.Error()}
	if s.faceFailed(cause) {
		s.relaunch()
		return
	}
	s.service(contract.ServiceError, cause.Code, "The agent could not be started again: "+cause.Message)
	if s.takeBack(cause) {
		s.goOn() // for the next try
	}
	s.moved()
	s.handedOver()
	s.outcome(adapters.Outcome{ID: openID, Err: cause})
}

// moved ends the rewind under way, if there is one.
func (s *Session) moved() {
	m := s.move
	if m == nil {
		return
	}
	s.move = nil
	if m.failed != nil {
		s.service(contract.ServiceError, m.failed.Code, "The conversation could not be rewound and is as it was: "+m.failed.Message)
		m.done(nil, fmt.Errorf("rewind: %s", m.failed.Message))
		return
	}
	// A stricter mode that the agent had gone into by itself ended with its process.
	s.setMode(cmp.Or(contract.PermissionMode(s.cfg.Options.Mode), contract.ModeDefault), contract.DecisionBy{Resolver: contract.ByHost})
	s.tellRewound(m.rewound)
	m.done(json.Marshal(m.rewound))
}

// tellRewound tells people what was rewound, and what was not.
func (s *Session) tellRewound(w rewound) {
	s.append(s.stamper.Agent(adapters.Draft{
		Origin: w.Origin, Event: contract.Service{Text: w.String(), Kind: contract.ServiceNotice},
	})...)
}

// shownMessage is how much of a message stands in a notice, in characters: enough
// to know it by.
const shownMessage = 80

func (w rewound) String() string {
	text := "The agent was rewound"
	files, told := w.files()
	switch {
	case w.Conversation && files:
		text = "The conversation and the files were rewound"
	case w.Conversation:
		text = "The conversation was rewound, the files stay as they are"
	case files:
		text = "The files were rewound, the conversation goes on"
	}
	if m := []rune(strings.Join(strings.Fields(w.message), " ")); len(m) > shownMessage {
		text += fmt.Sprintf(", to before %q", string(m[:shownMessage])+"…")
	} else if len(m) > 0 {
		text += fmt.Sprintf(", to before %q", string(m))
	}
	text += "."
	if w.Conversation {
		text += " The agent does not know any more what was said after that."
	}
	if files {
		text += " " + told
	}
	return text
}

// files says what became of the files: whether the agent put any back, and which.
func (w rewound) files() (any bool, told string) {
	var f struct {
		Changed []string `json:"filesChanged"`
	}
	switch {
	case len(w.Files) == 0 || w.Files.Kind() == 'f' || w.Files.Kind() == 'n':
		return false, ""
	case json.Unmarshal(w.Files, &f) != nil:
		return true, ""
	case f.Changed == nil:
		return true, "What commands changed stays."
	case len(f.Changed) == 0:
		return true, "No file had to be put back; what commands changed stays."
	}
	return true, "Put back: " + strings.Join(f.Changed, ", ") + ". What commands changed stays."
}
