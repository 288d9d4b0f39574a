package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/internal/terminal"
	"github.com/agenthost/agenthost/internal/workspace"
)

// effects does on this machine what agents ask of their client: files and
// terminals, confined to the session's directories. Each runs in a goroutine of
// its own, so that a slow disk or a long command never holds the loop.
type effects struct {
	roots  []string
	inbox  *inbox
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	env   []string             // guarded by mu; of the newest child
	files *workspace.Workspace // guarded by mu; opened at first use
	terms *terminal.Set        // guarded by mu; made at first use
}

func newEffects(roots []string, in *inbox) *effects {
	ctx, cancel := context.WithCancel(context.Background())
	return &effects{roots: roots, inbox: in, ctx: ctx, cancel: cancel}
}

// use sets the environment of further terminals.
func (x *effects) use(env []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.env = env
}

// do runs e and posts its result to the loop.
func (x *effects) do(e adapters.Effect, done func(adapters.EffectDone)) {
	x.wg.Go(func() {
		res := x.perform(e)
		res.ID = e.EffectID()
		x.inbox.post(func() { done(res) })
	})
}

// childGone ends the terminals of a child that is gone, without waiting.
func (x *effects) childGone() {
	x.mu.Lock()
	terms := x.terms
	x.terms = nil
	x.mu.Unlock()
	if terms != nil {
		x.wg.Go(terms.Close)
	}
}

// close ends what still runs and waits for it.
func (x *effects) close() {
	x.cancel()
	x.mu.Lock()
	terms, files := x.terms, x.files
	x.mu.Unlock()
	if terms != nil {
		terms.Close()
	}
	x.wg.Wait()
	if files != nil {
		files.Close()
	}
}

func (x *effects) perform(e adapters.Effect) adapters.EffectDone {
	switch e := e.(type) {
	case adapters.ReadFile:
		w, err := x.workspace()
		if err != nil {
			return failed(err)
		}
		text, err := w.ReadText(e.Path, e.Line, e.Limit)
		if err != nil {
			return failed(err)
		}
		return adapters.EffectDone{Content: text}
	case adapters.WriteFile:
		w, err := x.workspace()
		if err != nil {
			return failed(err)
		}
		if err := w.WriteText(e.Path, e.Content); err != nil {
			return failed(err)
		}
		return adapters.EffectDone{}
	}
	return x.terminal(e)
}

func (x *effects) workspace() (*workspace.Workspace, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.files == nil {
		w, err := workspace.Open(x.roots...)
		if err != nil {
			return nil, err
		}
		x.files = w
	}
	return x.files, nil
}

func (x *effects) terminals() (*terminal.Set, error) {
	w, err := x.workspace()
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.terms == nil {
		x.terms = terminal.New(terminal.Config{Env: x.env, Dir: w.Dir, Supervise: true})
	}
	return x.terms, nil
}

func (x *effects) terminal(e adapters.Effect) adapters.EffectDone {
	set, err := x.terminals()
	if err != nil {
		return failed(err)
	}
	switch e := e.(type) {
	case adapters.TerminalCreate:
		c := terminal.Command{Path: e.Command, Args: e.Args, Env: pairs(e.Env), Dir: e.Dir}
		if e.Limit != 0 {
			c.OutputLimit = &e.Limit
		}
		id, err := set.Create(x.ctx, c)
		if err != nil {
			return failed(err)
		}
		return adapters.EffectDone{Terminal: id}
	case adapters.TerminalOutput:
		out, err := set.Output(e.Terminal)
		if err != nil {
			return failed(err)
		}
		return adapters.EffectDone{Output: out.Text, Truncated: out.Truncated, Exit: terminalExit(out.Exit)}
	case adapters.TerminalWait:
		exit, err := set.Wait(x.ctx, e.Terminal)
		if err != nil {
			return failed(err)
		}
		return adapters.EffectDone{Exit: terminalExit(&exit)}
	case adapters.TerminalKill:
		return failed(set.Kill(e.Terminal))
	case adapters.TerminalRelease:
		return failed(set.Release(e.Terminal))
	}
	return failed(fmt.Errorf("effect %T: %w", e, errors.ErrUnsupported))
}

func terminalExit(e *proc.Exit) *adapters.TerminalExit {
	if e == nil {
		return nil
	}
	exit := &adapters.TerminalExit{Code: e.Code}
	if e.Signal != 0 {
		exit.Signal = e.Signal.String()
	}
	return exit
}

// failed is the result for err, the empty one for nil.
func failed(err error) adapters.EffectDone {
	if err == nil {
		return adapters.EffectDone{}
	}
	return adapters.EffectDone{Err: &adapters.EffectError{
		NotFound: errors.Is(err, fs.ErrNotExist) || errors.Is(err, terminal.ErrUnknown),
		Refused:  errors.Is(err, workspace.ErrOutside) || errors.Is(err, fs.ErrPermission),
		Message:  err.Error(),
	}}
}

// effectDone passes a result on to the Protocol that wanted it. The ids of
// effects are a Protocol's own, so one of a child that is gone is dropped.
func (s *Session) effectDone(wanted adapters.Protocol, res adapters.EffectDone) {
	if s.state == down || s.state == over || s.proto != wanted {
		return
	}
	if err := s.submit(res); err != nil {
		s.log.Warn("passing on an effect's result", "err", err)
	}
}
