package host

import (
	"context"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/proc"
)

// Child is one running agent process.
type Child interface {
	// Frames gives the child's output in order. It is closed when the child is
	// gone, reaped, and all it wrote was read.
	Frames() <-chan adapters.Frame
	// Write queues p and returns at once; it does not keep p. A child that is
	// gone is no error here: its exit says so.
	Write(p []byte) error
	// Stop ends the child and all its descendants, politely first, and returns
	// when they are gone or ctx is over. It may be called more than once.
	Stop(ctx context.Context)
	// Exit says how the child ended. Valid when Frames is closed.
	Exit() adapters.ExitStatus
}

// StartSpec is what a Starter needs to start a child.
type StartSpec struct {
	Argv []string
	// Env is the whole environment, as "K=V".
	Env []string
	Dir string
	// MaxLine is the longest line taken, in bytes; longer ones are dropped and
	// reported as Frame.Dropped.
	MaxLine int
	// StderrTail is how much of the end of its stderr is kept, in bytes.
	StderrTail int
	// Terminal is set for a child with a screen, nil for one with pipes.
	Terminal *TerminalSpec
	// StopGrace is how long a child may take after its input was closed, and
	// again after SIGTERM.
	StopGrace time.Duration
}

// Starter starts children. Tests pass one that runs no process.
type Starter func(ctx context.Context, spec StartSpec) (Child, error)

// Processes is a Starter of real processes: internal/proc over pipes, supervised.
// The first child gets the shim that was started ahead, if one was; the caller
// closes it.
func Processes(shim *proc.Shim) Starter {
	return func(ctx context.Context, spec StartSpec) (Child, error) {
		if spec.Terminal != nil {
			return startTerminal(ctx, spec, shim)
		}
		c, err := proc.Start(ctx, proc.Spec{
			Argv: spec.Argv, Env: spec.Env, Dir: spec.Dir, MaxLine: spec.MaxLine, StderrTail: spec.StderrTail,
			InputGrace: spec.StopGrace, TermGrace: spec.StopGrace, Supervise: true, Shim: shim,
		})
		if err != nil {
			return nil, err
		}
		p := &process{child: c, frames: make(chan adapters.Frame)}
		go p.forward()
		return p, nil
	}
}

// process adapts proc.Child: lines become frames.
type process struct {
	child  *proc.Child
	frames chan adapters.Frame
}

// forward ends when the child's lines end, which internal/proc bounds.
func (p *process) forward() {
	defer close(p.frames)
	for l := range p.child.Lines() {
		f := adapters.Frame{Source: adapters.Stdout, Data: l.Data, Dropped: l.Dropped}
		if l.Source == proc.Stderr {
			f.Source = adapters.Stderr
		}
		p.frames <- f
	}
	<-p.child.Done()
}

func (p *process) Frames() <-chan adapters.Frame { return p.frames }
func (p *process) Write(b []byte) error          { return p.child.Write(b) }
func (p *process) Stop(ctx context.Context)      { _ = p.child.Stop(ctx) }

func (p *process) Exit() adapters.ExitStatus {
	return exitStatus(p.child.Exit(), p.child.StderrTail())
}

func exitStatus(e proc.Exit, stderr string) adapters.ExitStatus {
	s := adapters.ExitStatus{Code: e.Code, Stderr: stderr}
	if e.Signal != 0 {
		s.Signal = proc.SignalName(e.Signal)
	}
	if e.Err != nil {
		s.Err = e.Err.Error()
	}
	return s
}
