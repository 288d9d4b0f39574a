package host

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// unanswered finds the prompts of a stream that no turn took up and no end of the
// session told of.
type unanswered struct {
	list  []unsent
	files []contract.File // wait for the next text
	// named says that the stream's turns name their prompts. Those of a stream that
	// another program wrote may not: guess counts then.
	named bool
	guess int
	turns bool // the stream has some
	ended bool // one of them was completed
	// theirs are the agent's own: what a person typed at its screen. It has them.
	theirs map[string]bool
}

// unsent is one of them, with its files.
type unsent struct {
	id, text string
	files    []contract.File
}

// watching is the same sequence, which u sees.
func (u *unanswered) watching(envelopes iter.Seq2[contract.Envelope, error]) iter.Seq2[contract.Envelope, error] {
	return func(yield func(contract.Envelope, error) bool) {
		for e, err := range envelopes {
			if err == nil {
				u.see(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (u *unanswered) see(e contract.Envelope) {
	switch ev := e.Event.(type) {
	case contract.File:
		if e.Role == contract.RoleUser {
			u.files = append(u.files, ev)
		}
	case contract.Text:
		if e.Role != contract.RoleUser {
			return
		}
		if !ev.Steer && !u.theirs[e.ID] {
			u.list = append(u.list, unsent{e.ID, ev.Text, u.files})
			u.guess++
		}
		u.files = nil
	case contract.TurnStart:
		u.turns = true
		u.named = u.named || len(ev.Prompts) > 0
		u.guess = max(u.guess-1, 0)
		u.list = slices.DeleteFunc(u.list, func(p unsent) bool { return slices.Contains(ev.Prompts, p.id) })
	case contract.TurnEnd:
		u.ended = u.ended || ev.Status == contract.TurnCompleted
	case contract.Service:
		if ev.Code == contract.CodeHostStopped {
			u.list, u.guess = nil, 0
		}
	}
}

// prompts are those that were found, in their order. sure says that no turn had
// anything of them.
func (u *unanswered) prompts() (list []unsent, sure bool) {
	if u.named {
		return u.list, true
	}
	// A turn that nobody prompted hides one; one that took up several shows too many.
	return u.list[max(len(u.list)-u.guess, 0):], len(u.list) == u.guess
}

// takeUp queues the prompts that an earlier run of the session accepted and never
// ran, or tells that they are not run.
func (s *Session) takeUp(u *unanswered) {
	list, sure := u.prompts()
	var left []adapters.Prompt
	for _, p := range list {
		prompt := adapters.Prompt{ID: p.id, Text: p.text}
		again := s.cfg.Requeue && sure
		for _, f := range p.files {
			a, err := s.stored(f)
			if err != nil {
				s.log.Warn("reading a file of a message that waits", "session", s.cfg.ID, "err", err)
				again = false
			}
			prompt.Files = append(prompt.Files, a)
		}
		if again {
			s.queue = append(s.queue, prompt)
		} else {
			left = append(left, prompt)
		}
	}
	s.tellUnsent("The host ended", left)
}

// dropQueue gives up the prompts that wait: the session ends before they are run.
func (s *Session) dropQueue() {
	s.tellUnsent("The session was stopped", s.queue)
	s.queue = nil
}

// tellUnsent tells that prompts are not run, each by the id of its envelope.
func (s *Session) tellUnsent(what string, prompts []adapters.Prompt) {
	if len(prompts) == 0 {
		return
	}
	var each []string
	for _, p := range prompts {
		each = append(each, quoted(p.Text, p.ID))
	}
	s.service(contract.ServiceNotice, contract.CodeHostStopped, fmt.Sprintf(
		"%s before it came to what was still waiting, which is not sent: %s.", what, strings.Join(each, ", ")))
}

// quoted is how a message is named: by its first words and the id of its envelope.
func quoted(text, id string) string {
	words := strings.TrimSpace(text)
	if short := prefix(words, 60); short != words {
		words = short + "…"
	}
	return fmt.Sprintf("%q (%s)", words, id)
}

// stored is a file of the session as it goes to the agent.
func (s *Session) stored(f contract.File) (adapters.Attachment, error) {
	path, err := s.filePath(f.Ref)
	if err != nil {
		return adapters.Attachment{}, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return adapters.Attachment{}, err
	}
	return attachment(f.Name, path, content), nil
}
