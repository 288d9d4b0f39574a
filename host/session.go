package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/host/stamp"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/permission"
)

// The errors of a session that callers tell apart.
var (
	// ErrOver: the session has ended.
	ErrOver = errors.New("the session has ended")
	// ErrStopping: the session is being stopped and takes nothing new.
	ErrStopping = errors.New("the session is being stopped")
	// ErrEmptyPrompt: a prompt without text and files. Some agents never
	// recover from one.
	ErrEmptyPrompt = errors.New("the prompt is empty: want text or a file")
	// ErrNoAsk: no open permission request has this call.
	ErrNoAsk = errors.New("no open permission request for this call")
)

// Session is one conversation with one agent. Its methods are safe for
// concurrent use.
type Session struct {
	cfg     Config
	dir     string // the session's own directory
	log     *slog.Logger
	journal *journal.Journal
	first   journal.Position // where this run of the session began
	inbox   *inbox
	live    *broadcast
	done    chan struct{}
	screen  *screen.Hub // nil for an adapter without a terminal face
	damage  sync.Map    // journal.Position of what was told to be damaged
	typist  typist

	// Everything below belongs to the loop's goroutine.

	stamper  *stamp.Stamper
	proto    adapters.Protocol
	child    Child
	frames   <-chan adapters.Frame
	effects  *effects
	metaFile *metaWriter
	state    state
	meta     Meta
	saved    []byte         // what saveMeta saved last
	former   *adapters.Face // of the run before, until the agent's session is open; nil without one
	turn     turn
	queue    []adapters.Prompt
	files    []adapters.Attachment        // wait for the next prompt
	asks     map[string]*ask              // by the Protocol's key
	unasked  map[string]contract.Envelope // starts of open calls that were not asked for, by call
	waiting  map[string]func(adapters.Outcome)
	idle     []func() // called when nothing is under way
	alarm    alarm
	// followUp is what is to be done when the Step at hand is applied.
	followUp []func()
	// held counts what prompts wait for: configurations and rewinds under way.
	held int
	// move is the rewind that the agent is being started again for, nil when none.
	move *move
	// hand is the hand-over under way, nil when none is.
	hand *handOver
	// typed are messages that a person typed in the agent's own interface and that no
	// turn has taken up.
	typed []typed
	// decided are the decisions that were made in the agent's own terminal lately, for
	// who comes late.
	decided []permission.ErrResolved
	// askFirst are the uses that the agent was told last to ask for.
	askFirst []adapters.Use
	// claimed is the agent's own session, as far as it is this one's.
	claimed claim
	// shutting says that the child was told goodbye, gaveUp that it is being
	// stopped because it cannot be worked with.
	shutting, gaveUp bool
	// anew says that the child is being replaced by one with a new session.
	anew bool
	// hurry makes the stop of the child that is under way a kill; nil when none is.
	hurry context.CancelFunc

	restart int    // starts in a row without a turn that ended well
	said    string // the agent's own session in which something was said last
	// unsaved says that no turn in that was ever completed: the host ended before the
	// agent had to have saved it.
	unsaved bool
	// branch is what the session was branched off at its start.
	branch struct{ fork, at string }
	broken error // the journal failed: nothing can be kept any more
	facts  int   // counts what the agent told about itself
	told   glance
	ids    int // for commands
}

// state is where the child is in its life.
type state int

const (
	// down: no child runs; the next prompt starts one.
	down state = iota
	// opening: the child runs, its session is not open yet.
	opening
	// open: prompts are taken.
	open
	// replacing: the child was told to go, and the next one is started at once.
	replacing
	// closing: the child was told to go.
	closing
	// over: the session has ended; nothing starts any more.
	over
)

// Start opens a session: it opens the journal, ends what a crash left open,
// starts the agent and begins the handshake. It returns when the agent's
// process runs; a failing handshake ends up in the stream and in Opened.
// When ctx is cancelled the session is stopped.
func Start(ctx context.Context, cfg Config) (*Session, error) {
	s, err := newSession(cfg)
	if err != nil {
		return nil, err
	}
	err = s.restore()
	if err == nil {
		err = s.launch(ctx)
	}
	if err != nil {
		s.settleMeta()
		s.release()
		return nil, err
	}
	go s.run(ctx)
	return s, nil
}

// ID is the session's id.
func (s *Session) ID() string { return s.cfg.ID }

// Journal is the session's stream. It stays readable after Done.
func (s *Session) Journal() *journal.Journal { return s.journal }

// First is the position of the first envelope of this run: 0 for a new session.
func (s *Session) First() journal.Position { return s.first }

// Done is closed when the session has ended: its journal is complete and no
// process of it is left.
func (s *Session) Done() <-chan struct{} { return s.done }

// do runs f on the loop and waits for it.
func (s *Session) do(ctx context.Context, f func() error) error {
	return s.await(ctx, func(done func(error)) { done(f()) })
}

// Opened waits until the agent's session is open; the error says why it is not.
func (s *Session) Opened(ctx context.Context) error {
	err := s.await(ctx, func(done func(error)) {
		switch {
		case s.state == open:
			done(nil)
		case s.state == opening:
			s.waitOutcome(openID, func(o adapters.Outcome) { done(outcomeError(o)) })
		case s.meta.OpenError != nil:
			done(&OpenError{*s.meta.OpenError})
		default:
			done(fmt.Errorf("the agent is %s", s.state))
		}
	})
	if errors.Is(err, ErrOver) {
		<-s.done // the loop is over: its state stands still
		if s.meta.OpenError != nil {
			return &OpenError{*s.meta.OpenError}
		}
	}
	return err
}

// OpenError says why an agent's session could not be opened.
type OpenError struct{ Cause contract.Error }

func (e *OpenError) Error() string { return e.Cause.Message }

// Idle waits until nothing is under way: no turn, no prompt that waits.
func (s *Session) Idle(ctx context.Context) error {
	return s.await(ctx, func(done func(error)) {
		s.idle = append(s.idle, func() { done(nil) })
		s.checkIdle()
	})
}

// await posts start, which calls done once, now or later on the loop.
func (s *Session) await(ctx context.Context, start func(done func(error))) error {
	return s.begin(start)(ctx)
}

// begin is await in two steps: when it returns, start has its place behind all
// that was posted before; wait waits for done.
func (s *Session) begin(start func(done func(error))) (wait func(context.Context) error) {
	res := make(chan error, 1)
	done := func(err error) {
		select {
		case res <- err:
		default:
		}
	}
	if !s.inbox.post(func() { start(done) }) {
		return func(context.Context) error { return ErrOver }
	}
	return func(ctx context.Context) error {
		select {
		case err := <-res:
			return err
		case <-s.done:
			// The loop may have run it just before it ended.
			select {
			case err := <-res:
				return err
			default:
				return ErrOver
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Configure changes the configuration and returns when the agent confirmed it.
// bypassPermissions without the local opt-in is refused before the agent hears
// of it, and the try is audited.
func (s *Session) Configure(ctx context.Context, c adapters.Configure, by contract.DecisionBy) error {
	wait, err := s.beginConfigure(c, Input{By: by})
	if err != nil {
		return err
	}
	return wait(ctx)
}

// beginConfigure is Configure that does not wait for the agent. Prompts that come
// after it wait for its outcome: they are meant for the new configuration. in is
// what a client sent, if one did.
func (s *Session) beginConfigure(c adapters.Configure, in Input) (wait func(context.Context) error, err error) {
	by := in.By
	if s.cfg.Mediator != nil {
		if err := s.cfg.Mediator.Permits(s.cfg.ID, c.Mode, by); err != nil {
			return nil, err
		}
	}
	return s.begin(func(done func(error)) {
		if s.stamper.Took(in.Envelope.ID) {
			done(nil)
			return
		}
		c.ID = s.commandID()
		s.held++
		over := func(err error) {
			s.held--
			done(err)
		}
		s.command(c, func(o adapters.Outcome) {
			if o.Err == nil {
				s.keep(c)
				s.setMode(c.Mode, by)
				s.configured(in.Envelope)
			}
			over(outcomeError(o))
		}, over)
	}), nil
}

// keep makes a configuration that the agent confirmed that of its next starts.
func (s *Session) keep(c adapters.Configure) {
	o := &s.cfg.Options
	o.Mode = cmp.Or(string(c.Mode), o.Mode)
	o.Model = cmp.Or(c.Model, o.Model)
	o.Thinking = cmp.Or(c.ThinkingLevel, o.Thinking)
	if c.Sandbox != nil {
		o.Sandbox = *c.Sandbox
	}
}

// Meta is a snapshot of what is known about the session.
func (s *Session) Meta(ctx context.Context) (Meta, error) {
	var m Meta
	if err := s.do(ctx, func() error { m = s.meta.clone(); return nil }); err != nil {
		return Meta{}, err // the loop may still write m
	}
	return m, nil
}

// Capabilities is what the agent can do now.
func (s *Session) Capabilities(ctx context.Context) ([]session.Capability, error) {
	var caps []session.Capability
	if err := s.do(ctx, func() error { caps = s.capabilities(); return nil }); err != nil {
		return nil, err // the loop may still write caps
	}
	return caps, nil
}

// Stop ends the session: the running turn is aborted, the agent told goodbye,
// its processes ended. It returns when Done is closed or ctx is over.
func (s *Session) Stop(ctx context.Context) error {
	s.inbox.post(func() { s.stop() })
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kill ends the session without waiting for anybody: the child and all it
// started are killed. It returns at once; Done says when it is over.
func (s *Session) Kill() { s.inbox.post(s.kill) }

// Err is why the session's stream has no proper end: the disk failed. It is nil
// when it has one, and valid when Done is closed.
func (s *Session) Err() error {
	select {
	case <-s.done:
		return s.broken
	default:
		return nil
	}
}

// outcomeError is a refused command as an error.
func outcomeError(o adapters.Outcome) error {
	if o.Err == nil {
		return nil
	}
	if o.ID == openID {
		return &OpenError{*o.Err}
	}
	if o.Err.Code == contract.CodeUnsupported {
		return fmt.Errorf("%s: %w", o.Err.Message, errors.ErrUnsupported)
	}
	return errors.New(o.Err.Message)
}

func (s *Session) commandID() string {
	s.ids++
	return fmt.Sprintf("c%d", s.ids)
}

// command submits c and calls got with its Outcome, or refused when the
// Protocol does not take it.
func (s *Session) command(c adapters.Command, got func(adapters.Outcome), refused func(error)) {
	if s.state != open || s.gaveUp {
		refused(fmt.Errorf("the agent is not ready (%s)", s.state))
		return
	}
	var id string
	switch c := c.(type) {
	case adapters.Op:
		id = c.ID
	case adapters.Configure:
		id = c.ID
	case adapters.AskFirst:
		id = c.ID
	}
	s.waitOutcome(id, got)
	if err := s.submit(c); err != nil {
		delete(s.waiting, id)
		refused(err)
	}
}

func (s *Session) waitOutcome(id string, got func(adapters.Outcome)) {
	if before := s.waiting[id]; before != nil {
		next := got
		got = func(o adapters.Outcome) { before(o); next(o) }
	}
	s.waiting[id] = got
}

func (st state) String() string {
	return [...]string{"not running", "starting", "ready", "being started again", "stopping", "ended"}[st]
}

// now is the clock of the loop. testing/synctest drives it in tests.
func now() time.Time { return time.Now() }

// Adapter is the session's adapter.
func (s *Session) Adapter() adapters.Adapter { return s.cfg.Adapter }
