package proc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Child is a process whose streams are pipes or a terminal. All methods are safe for
// concurrent use.
type Child struct {
	process *Process
	spec    Spec
	lines   chan Line
	input   *input
	tail    *Tail
	screen  *Terminal // nil for pipes

	outputEnded <-chan struct{} // closed when stdout or the terminal was read to its end
	abandoned   chan struct{}   // closed by Close: unread lines are thrown away
	stopping    chan struct{}   // closed by Stop: the ladder begins
	abandonOnce sync.Once
	stopOnce    sync.Once
	work        sync.WaitGroup // every goroutine of this child
}

// Start starts a child. The context bounds the start only; a child is ended by
// Stop, Kill or Close. The error is a *StartError when the command is at fault.
func Start(ctx context.Context, spec Spec) (*Child, error) {
	spec = spec.withDefaults()
	if spec.Terminal != nil {
		return startOnTerminal(ctx, spec)
	}
	var p pipes
	defer p.closeChildEnds()
	if err := p.open(!spec.NoInput); err != nil {
		return nil, fmt.Errorf("opening the pipes of a child: %w", err)
	}
	process, err := StartProcess(ctx, Launch{
		Argv: spec.Argv, Env: spec.Env, Dir: spec.Dir,
		Stdin: p.stdin.child, Stdout: p.stdout.child, Stderr: p.stderr.child,
		Supervise: spec.Supervise, Shim: spec.Shim,
	})
	if err != nil {
		p.closeOwnEnds()
		return nil, err
	}
	c := newChild(process, spec, newInput(spec.MaxQueued))
	c.run(p)
	return c, nil
}

func newChild(process *Process, spec Spec, in *input) *Child {
	return &Child{
		process:   process,
		spec:      spec,
		lines:     make(chan Line, lineBacklog),
		input:     in,
		tail:      NewTail(spec.StderrTail),
		abandoned: make(chan struct{}),
		stopping:  make(chan struct{}),
	}
}

// startOnTerminal starts a child on a terminal.
func startOnTerminal(ctx context.Context, spec Spec) (*Child, error) {
	size, err := spec.Terminal.checked()
	if err != nil {
		return nil, err
	}
	master, line, err := openTerminal(size)
	if err != nil {
		return nil, err
	}
	t := newTerminal(master, line, spec.MaxQueued)
	process, err := StartProcess(ctx, Launch{
		Argv: spec.Argv, Env: spec.Env, Dir: spec.Dir,
		Stdin: line, Stdout: line, Stderr: line, Terminal: true,
		Supervise: spec.Supervise, Shim: spec.Shim,
	})
	if err != nil {
		t.close()
		return nil, err
	}
	spec.StderrTail = -1
	c := newChild(process, spec, t.input)
	c.screen, c.outputEnded = t, t.ended
	c.work.Go(func() { t.input.run(typist{master}) })
	c.work.Go(func() {
		<-c.Done()
		t.exited()
		close(c.lines)
	})
	c.work.Go(c.oversee)
	return c, nil
}

// lineBacklog is 0 so that the memory for lines on their way is bounded by one
// line of each stream, not by a number of lines of up to MaxLine each. The pipe
// and the reader's buffer are the backlog.
const lineBacklog = 0

// run starts the goroutines: the input, a pump for each stream, the one that
// settles the pipes after the exit, and the one that sees to the end.
func (c *Child) run(p pipes) {
	stdout, stderr := newStream(p.stdout.own, nil), newStream(p.stderr.own, c.tail)
	ended := make(chan struct{})
	c.outputEnded = ended
	var pumps sync.WaitGroup
	pumps.Go(func() {
		defer close(ended)
		c.pump(newLineReader(stdout, Stdout, c.spec.MaxLine))
	})
	pumps.Go(func() {
		c.pump(newLineReader(stderr, Stderr, min(c.spec.MaxLine, maxStderrLine)))
	})
	if c.spec.NoInput {
		c.input.close()
	} else {
		c.work.Go(func() { c.input.run(p.stdin.own) })
	}
	c.work.Go(func() {
		<-c.Done()
		c.input.abandon()
		if !c.spec.NoInput {
			p.stdin.own.Close() // ends a write that nobody reads
		}
		stdout.drain()
		stderr.drain()
		pumps.Wait()
		p.stdout.own.Close()
		p.stderr.own.Close()
		close(c.lines)
	})
	c.work.Go(c.oversee)
}

// Pid returns the child's process id.
func (c *Child) Pid() int { return c.process.Pid() }

// Marker returns the value of MarkerName in the child's environment.
func (c *Child) Marker() string { return c.process.Marker() }

// Lines returns the lines of both streams, each stream's in its order. The
// channel is closed when the child was reaped and both streams are read to their
// end. It must be received from until then, or Close called.
func (c *Child) Lines() <-chan Line { return c.lines }

// Terminal returns the child's terminal, nil if it has pipes.
func (c *Child) Terminal() *Terminal { return c.screen }

// Write queues a copy of p for the child's stdin and returns at once. No line end
// is added. The error is ErrInputFull or
// ErrInputClosed, and nothing of p is written then. Writing to a child that is
// gone is no error: its end is told by Done and Exit, and not a second time here.
// At a terminal it is Terminal.Write.
func (c *Child) Write(p []byte) error { return c.input.write(p) }

// CloseInput closes the child's stdin when what was written before is read. It
// returns at once. A terminal stays open: what its end is only the program knows.
func (c *Child) CloseInput() { c.input.close() }

// Done is closed when the child was reaped and all it started is gone. Lines may
// still hold what it wrote.
func (c *Child) Done() <-chan struct{} { return c.process.Done() }

// Exit returns how the child ended. It blocks until Done is closed.
func (c *Child) Exit() Exit { return c.process.Exit() }

// StderrTail returns the end of what the child wrote to stderr and what was read
// of it, at most Spec.StderrTail bytes, as valid UTF-8.
func (c *Child) StderrTail() string {
	text, _ := c.tail.Text()
	return text
}

// Stop ends the child the polite way: it closes stdin, waits, sends SIGTERM to
// the process group, waits, and kills the whole tree. It returns when Done is
// closed. When ctx ends first it kills at once. The error is nil but when the
// process didn't die (its Exit wraps ErrLost). On a terminal the polite way is HangUp,
// at once: how to say goodbye at its keyboard only the caller knows. Stop may be called again and by
// many; the ladder runs once.
//
// Someone must receive from Lines meanwhile, else a child that writes while it
// shuts down is stuck, and killed.
func (c *Child) Stop(ctx context.Context) error {
	c.stopOnce.Do(func() { close(c.stopping) })
	select {
	case <-c.Done():
	case <-ctx.Done():
		c.Kill()
		<-c.Done()
	}
	if err := c.Exit().Err; errors.Is(err, ErrLost) {
		return err
	}
	return nil
}

// oversee runs the ladder when Stop asks for it, or when the child closed its
// stdout or lost its terminal and lives on: no answer can come from it any more.
func (c *Child) oversee() {
	select {
	case <-c.Done():
		return
	case <-c.stopping:
	case <-c.outputEnded:
		select {
		case <-c.Done():
			return
		case <-c.stopping:
		case <-time.After(c.spec.SilenceGrace):
		}
	}
	c.CloseInput()
	if c.screen != nil {
		// Twice: a signal that comes just before a shell waits for a key is looked
		// at when something else wakes it.
		for range 2 {
			c.process.HangUp()
			if c.wait(c.spec.TermGrace / 2) {
				return
			}
		}
		c.Kill()
		return
	}
	if c.wait(c.spec.InputGrace) {
		return
	}
	c.process.Terminate()
	if c.wait(c.spec.TermGrace) {
		return
	}
	c.Kill()
}

// wait reports whether the child ended within d.
func (c *Child) wait(d time.Duration) bool {
	select {
	case <-c.Done():
		return true
	case <-time.After(d):
		return false
	}
}

// Kill ends the child and all it started at once, and doesn't wait for it.
func (c *Child) Kill() { c.process.Kill() }

// Close kills what is left of the child, throws away what is left of Lines, and
// returns when every goroutine of the child has ended. It may be called again.
func (c *Child) Close() {
	c.abandonOnce.Do(func() { close(c.abandoned) })
	c.Kill()
	<-c.Done()
	if c.screen != nil {
		c.screen.Close()
	}
	c.work.Wait()
}

// pump moves lines from one stream to the consumer until the stream ends.
func (c *Child) pump(r *lineReader) {
	for {
		line, err := r.next()
		if err != nil {
			return
		}
		select {
		case c.lines <- line:
		case <-c.abandoned:
			// Nobody listens any more, but a full pipe must not block the child.
		}
	}
}
