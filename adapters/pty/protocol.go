package pty

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// Times.
const (
	// startWait is how long the first screen is waited for: a program may draw none.
	startWait = 2 * time.Second
	// enterWait is between a paste and its Enter, at least.
	enterWait = 300 * time.Millisecond
	// stillWait is how long a turn waits for a first screen after its prompt: one that
	// never rests gives none, and neither does one that does not change.
	stillWait = 2 * time.Minute
)

// protocol types prompts and looks when the screen rests.
type protocol struct {
	rest  time.Duration
	abort string
	text  bool // setting screenText

	step   adapters.Step
	open   string // of the Open command, while it waits
	openAt time.Time
	opened bool
	closed bool

	screen adapters.Screen
	seen   bool
	title  string
	turn   turn
}

// turn is the prompt that is under way, if one is.
type turn struct {
	open   bool
	enter  time.Time // when to type Enter, zero when that is done
	typed  time.Time // when it was
	looked time.Time // of the newest screen since then, zero for none
	before adapters.Screen
	text   string // that was pasted
}

var _ adapters.Protocol = (*protocol)(nil)

func newProtocol(info adapters.SessionInfo) *protocol {
	p := &protocol{text: info.Options.Settings["screenText"] == "yes"}
	var err error
	if p.rest, err = restOf(info.Options.Settings); err != nil {
		p.rest = defaultRest // Launch refused it
	}
	if p.abort, err = abortKey(info.Options.Settings); err != nil {
		p.abort = ""
	}
	return p
}

// Capabilities implements adapters.Protocol.
func (*protocol) Capabilities() []session.Capability { return nil }

// Receive implements adapters.Protocol.
func (p *protocol) Receive(now time.Time, f adapters.Frame) (adapters.Step, error) {
	var err error
	switch {
	case f.Source != adapters.Terminal:
		err = errors.New("output that is no screen")
	case f.Dropped > 0:
		err = fmt.Errorf("a screen of %d bytes was dropped", f.Dropped)
	default:
		var s adapters.Screen
		if s, err = adapters.ParseScreen(f.Data); err != nil {
			err = fmt.Errorf("decoding a screen: %w", err)
			break
		}
		p.look(now, s)
	}
	p.due(now)
	return p.finish(), err
}

// look takes a screen that has come to rest.
func (p *protocol) look(now time.Time, s adapters.Screen) {
	p.screen, p.seen = s, true
	if title := strings.TrimSpace(s.Title); title != "" && title != p.title {
		p.title = title
		p.step.Facts = &adapters.Facts{Title: title}
	}
	p.start()
	if t := &p.turn; t.open && t.enter.IsZero() {
		t.looked = now
	}
}

// start says that the program is there.
func (p *protocol) start() {
	if p.open == "" {
		return
	}
	p.step.Done = append(p.step.Done, adapters.Outcome{ID: p.open})
	p.open, p.opened = "", true
}

// Submit implements adapters.Protocol.
func (p *protocol) Submit(now time.Time, c adapters.Command) (adapters.Step, error) {
	switch c := c.(type) {
	case adapters.Open:
		if p.open != "" || p.opened {
			return adapters.Step{}, errors.New("the session is open")
		}
		p.open, p.openAt = c.ID, now.Add(startWait)
		if p.seen {
			p.start()
		}
	case adapters.Prompt:
		if err := p.prompt(now, c); err != nil {
			return adapters.Step{}, err
		}
	case adapters.Abort:
		p.stop()
	case adapters.Close:
		p.closed = true
		p.step.Done = append(p.step.Done, adapters.Outcome{ID: c.ID})
	case adapters.Answer:
		return adapters.Step{}, fmt.Errorf("answer to %q: no such ask is open", c.Ask)
	default:
		return adapters.Step{}, fmt.Errorf("a program of the terminal takes keys only: %w", adapters.ErrUnsupported)
	}
	p.due(now)
	return p.finish(), nil
}

// prompt types a text.
func (p *protocol) prompt(now time.Time, c adapters.Prompt) error {
	text := strings.TrimRight(adapters.Typeable(c.Text), "\n")
	switch {
	case !p.opened || p.closed:
		return errors.New("the session is not open")
	case p.turn.open:
		return errors.New("a turn is running")
	case len(c.Files) > 0:
		return fmt.Errorf("files cannot be typed: %w", adapters.ErrUnsupported)
	case strings.TrimSpace(text) == "":
		return errors.New("the prompt is empty")
	}
	p.turn = turn{open: true, before: p.screen}
	p.emit(adapters.Draft{Event: contract.TurnStart{}, Prompts: []string{c.ID}})
	if line := confirmation(p.screen, ""); line != "" {
		p.refuse("Nothing was typed", line)
		return nil
	}
	if p.screen.Paste {
		p.write(adapters.Pasted(text))
		p.turn.enter, p.turn.text = now.Add(enterWait), text
		return nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		p.write(line + "\r")
	}
	p.turn.typed = now
	return nil
}

// refuse ends a turn whose Enter would give a confirmation.
func (p *protocol) refuse(what, line string) {
	p.endTurn(contract.TurnFailed, &contract.Error{
		Code:    contract.CodeInvalidRequest,
		Message: fmt.Sprintf("%s: the screen asks for a confirmation (%q), which the Enter of a prompt would give.", what, line),
	})
}

// confirmation is the line of a screen that asks for one, empty for none. Where the
// cursor stands behind something, that is what an Enter is for; where it stands in an
// empty line, the lower part of the screen counts. A line that shows one of pasted, the
// text that was typed, asks for nothing.
func confirmation(s adapters.Screen, pasted string) string {
	const lower = 12
	lines := s.Lines
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	lines = lines[max(0, len(lines)-lower):]
	if y := s.Y; y >= 0 && y < len(s.Lines) && strings.TrimSpace(s.Lines[y]) != "" {
		lines = s.Lines[y : y+1]
	}
	for _, line := range lines {
		text := strings.ToLower(line)
		for _, sign := range []string{
			"enter to confirm", "enter to continue", "enter to select", "press enter", "press return", "do you trust", "(y/n)", "[y/n]", "(yes/no)",
		} {
			if strings.Contains(text, sign) && !shows(text, sign, pasted) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

// shows reports whether a line in lower case has its sign from a line of a text.
func shows(line, sign, pasted string) bool {
	for own := range strings.SplitSeq(strings.ToLower(pasted), "\n") {
		if strings.Contains(own, sign) && strings.Contains(line, strings.TrimSpace(own)) {
			return true
		}
	}
	return false
}

// stop types what stops the program, and ends the turn.
func (p *protocol) stop() {
	if !p.turn.open {
		return
	}
	if p.abort != "" {
		p.write(p.abort)
	}
	p.endTurn(contract.TurnCancelled, nil)
}

// due does what its time has come for.
func (p *protocol) due(now time.Time) {
	is := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	if p.open != "" && is(p.openAt) {
		p.start()
	}
	t := &p.turn
	if !t.open {
		return
	}
	if is(t.enter) {
		if line := confirmation(p.screen, t.text); line != "" { // it came up since the text was typed
			p.refuse("The text was typed, its Enter was not", line)
			return
		}
		p.write("\r")
		t.enter, t.typed = time.Time{}, now
	}
	if is(p.endAt()) {
		p.endTurn(contract.TurnCompleted, nil)
	}
}

// endAt is when the turn is over if nothing happens until then.
func (p *protocol) endAt() time.Time {
	switch t := p.turn; {
	case !t.open || t.typed.IsZero():
		return time.Time{}
	case t.looked.IsZero():
		return t.typed.Add(max(stillWait, p.rest))
	default:
		return t.looked.Add(p.rest)
	}
}

func (p *protocol) endTurn(status contract.TurnStatus, fault *contract.Error) {
	if p.text && status != contract.TurnFailed {
		if text := news(p.turn.before.Lines, p.screen.Lines); text != "" {
			p.emit(adapters.Draft{Event: contract.Text{Text: text}})
		}
	}
	if fault != nil {
		p.emit(adapters.Draft{Event: contract.Service{Text: fault.Message, Kind: contract.ServiceError, Code: fault.Code}})
	}
	p.emit(adapters.Draft{Event: contract.TurnEnd{Status: status, Error: fault}})
	p.turn = turn{}
}

// news are the lines of a screen that an earlier one did not have, as often as that.
func news(before, now []string) string {
	had := map[string]int{}
	for _, line := range before {
		had[line]++
	}
	var out []string
	for _, line := range now {
		if had[line] > 0 {
			had[line]--
			continue
		}
		if line = strings.TrimRight(line, " "); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// Tick implements adapters.Protocol.
func (p *protocol) Tick(now time.Time) adapters.Step {
	p.due(now)
	return p.finish()
}

// Exit implements adapters.Protocol.
func (p *protocol) Exit(_ time.Time, s adapters.ExitStatus) adapters.Step {
	if p.open != "" && s.Code == 0 && s.Err == "" && s.Signal == "" {
		p.start() // it was there, and has done what it had to
	}
	if p.open != "" {
		why := ended(s)
		p.step.Done = append(p.step.Done, adapters.Outcome{ID: p.open, Err: &contract.Error{Code: contract.CodeStartFailed, Message: why}})
		p.open = ""
	}
	if p.turn.open {
		switch {
		case s.Requested:
			p.endTurn(contract.TurnCancelled, nil)
		case s.Code == 0:
			p.endTurn(contract.TurnCompleted, nil)
		default:
			p.endTurn(contract.TurnFailed, &contract.Error{Code: contract.CodeAgentExited, Message: ended(s)})
		}
	}
	p.closed = true
	step := p.finish()
	step.WakeAt = time.Time{}
	return step
}

func ended(s adapters.ExitStatus) string {
	switch {
	case s.Signal != "":
		return "the program was ended by " + s.Signal
	case s.Err != "":
		return s.Err
	}
	return fmt.Sprintf("the program ended with status %d", s.Code)
}

func (p *protocol) emit(d adapters.Draft) { p.step.Emit = append(p.step.Emit, d) }

func (p *protocol) write(keys string) { p.step.Write = append(p.step.Write, []byte(keys)) }

// finish returns the Step that was made.
func (p *protocol) finish() adapters.Step {
	s := p.step
	p.step = adapters.Step{}
	for _, at := range []time.Time{p.turn.enter, p.endAt()} {
		if !at.IsZero() && (s.WakeAt.IsZero() || at.Before(s.WakeAt)) {
			s.WakeAt = at
		}
	}
	if p.open != "" && (s.WakeAt.IsZero() || p.openAt.Before(s.WakeAt)) {
		s.WakeAt = p.openAt
	}
	return s
}
