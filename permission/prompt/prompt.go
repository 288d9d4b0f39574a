package prompt

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
)

// Mediator is what a Prompt needs of permission.Mediator.
type Mediator interface {
	Subscribe(session string) *permission.Feed
	Resolve(ctx context.Context, id string, r permission.Response) error
}

var _ Mediator = (*permission.Mediator)(nil)

// Prompt asks at one terminal.
type Prompt struct {
	// In gives keys, Out is the screen.
	In  io.Reader
	Out io.Writer
	// Color allows colours. Raw says that In is in raw mode: keys come one by one
	// and are not echoed by the terminal. Otherwise a line is read for each key.
	Color, Raw bool
	// Lines is how much of a diff or command is shown at first, 40 when 0.
	Lines int
	// Edit lets the person edit a text; name ends in .sh or .json. Nil offers no
	// editing. An error leaves everything as it was.
	Edit func(ctx context.Context, name string, text []byte) ([]byte, error)
	// By is who decides.
	By contract.DecisionBy
	// Scope is what always is remembered for, the mediator's default when empty.
	Scope permission.Scope
}

// errElsewhere ends an ask that was settled by somebody else.
var errElsewhere = errors.New("answered elsewhere")

// Run asks until ctx is done, the mediator is closed, or the input ends; the last
// two are no error. It reads In in a goroutine that ends with In: close it, or
// leave it to the end of the process.
func (p *Prompt) Run(ctx context.Context, m Mediator, session string) error {
	feed := m.Subscribe(session)
	defer feed.Close()
	s := &screen{Prompt: p, keys: readKeys(p.In), queue: newQueue(feed)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		s.queue.follow(ctx)
	}()
	defer func() {
		cancel()
		<-followed
	}()
	for {
		ask, err := s.queue.next(ctx, s.keys.ended)
		if err == nil {
			err = s.one(ctx, m, ask)
		}
		switch {
		case err == nil || errors.Is(err, errElsewhere):
		case err == io.EOF:
			return nil
		default:
			return err
		}
	}
}

// screen is a Prompt at work.
type screen struct {
	*Prompt
	keys  *keys
	queue *queue
	// ask is what is shown, gone is closed when it is settled elsewhere, how says
	// how then.
	ask  *permission.Ask
	gone <-chan struct{}
	how  func() string
}

// one shows ask until it is settled.
func (s *screen) one(ctx context.Context, m Mediator, ask *permission.Ask) error {
	s.ask = ask
	s.gone, s.how = s.queue.gone(ask.ID)
	s.keys.drop()
	s.show(false)
	for {
		r, err := s.response(ctx)
		if errors.Is(err, errElsewhere) {
			s.printf("%s\n", s.faint(clean(s.how())))
			return err
		}
		if errors.Is(err, errAgain) {
			s.menu()
			continue
		}
		if err != nil {
			return err
		}
		r.By, r.Nonce, r.Scope = s.By, ask.Nonce, s.Scope
		switch err := m.Resolve(ctx, ask.ID, r); {
		case err == nil:
			s.printf("%s\n", s.faint(string(r.Decision)))
			return nil
		case errors.As(err, new(*permission.ErrResolved)), errors.Is(err, permission.ErrUnknown):
			s.printf("%s\n", s.faint(clean(err.Error())))
			return nil
		case errors.Is(err, permission.ErrStale):
			s.printf("%s\n", s.warn(clean(err.Error())))
			return nil // it is shown anew when the feed says so
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			s.printf("%s\n", s.warn(clean(err.Error())))
			s.menu()
		}
	}
}

// errAgain asks again.
var errAgain = errors.New("again")

// response reads keys until they make a decision.
func (s *screen) response(ctx context.Context) (permission.Response, error) {
	if s.ask.Question != nil {
		return s.answer(ctx)
	}
	k, err := s.key(ctx)
	if err != nil {
		return permission.Response{}, err
	}
	switch k {
	case 'y', 'Y':
		return permission.Response{Decision: contract.AllowOnce}, nil
	case 'a', 'A':
		if len(s.ask.Always) > 0 {
			return permission.Response{Decision: contract.AllowAlways}, nil
		}
	case 'n', ctrlC:
		return permission.Response{Decision: contract.RejectOnce}, nil
	case 'N':
		return s.refuse(ctx)
	case 'e', 'E':
		if s.canEdit() {
			return s.edit(ctx)
		}
	case 'd', 'D':
		s.show(true)
		return s.response(ctx)
	case '?':
		s.why()
		return permission.Response{}, errAgain
	}
	return permission.Response{}, errAgain
}

// key reads one key; in line mode the first of a line.
func (s *screen) key(ctx context.Context) (rune, error) {
	if s.Raw {
		return s.keys.next(ctx, s.gone)
	}
	line, err := s.keys.line(ctx, s.gone)
	if err != nil {
		return 0, err
	}
	for _, r := range strings.TrimSpace(line) {
		return r, nil
	}
	return ' ', nil
}

func (s *screen) refuse(ctx context.Context) (permission.Response, error) {
	r := permission.Response{Decision: contract.RejectOnce}
	if !s.ask.CanMessage {
		s.printf("%s\n", s.warn("this agent takes no message"))
		return r, errAgain
	}
	text, err := s.line(ctx, "what should it do instead? ", false)
	if errors.Is(err, errCancelled) {
		return r, errAgain
	}
	r.Message = text
	return r, err
}

func (s *screen) canEdit() bool { return s.Edit != nil && s.ask.CanEditArgs }

// edit lets the person change the command, or all arguments.
func (s *screen) edit(ctx context.Context) (permission.Response, error) {
	r := permission.Response{Decision: contract.AllowOnce}
	name, text, put := editable(s.ask)
	changed, err := s.Edit(ctx, name, []byte(text))
	if err == nil {
		r.Args, err = put(string(changed))
	}
	if err != nil {
		s.printf("%s\n", s.warn("not changed: "+clean(err.Error())))
		return r, errAgain
	}
	if string(changed) == text {
		s.printf("%s\n", s.faint("not changed"))
		return r, errAgain
	}
	edited := *s.ask
	edited.Args = r.Args
	s.printf("%s", s.body(&edited, true))
	s.printf("run this? [y/n] ")
	k, err := s.key(ctx)
	if err != nil {
		return r, err
	}
	if k != 'y' && k != 'Y' {
		s.printf("\n")
		return r, errAgain
	}
	return r, nil
}

// editable is what is edited of an ask, and how the result becomes arguments.
func editable(ask *permission.Ask) (name, text string, put func(string) (jsontext.Value, error)) {
	if members, err := parseArgs(ask.Args); err == nil {
		for i, m := range members {
			if m.name != "command" || m.value.Kind() != '"' {
				continue
			}
			return "command.sh", m.text(), func(s string) (jsontext.Value, error) {
				quoted, err := jsontext.AppendQuote(nil, strings.TrimRight(s, "\n"))
				if err != nil {
					return nil, err
				}
				members[i].value = quoted
				return joinArgs(members), nil
			}
		}
	}
	pretty := jsontext.Value(append([]byte(nil), ask.Args...))
	if err := pretty.Indent(); err != nil {
		pretty = ask.Args
	}
	return "arguments.json", string(pretty), func(s string) (jsontext.Value, error) {
		v := jsontext.Value(strings.TrimSpace(s))
		if err := v.Compact(); err != nil {
			return nil, fmt.Errorf("reading the arguments: %w", err)
		}
		return v, nil
	}
}
