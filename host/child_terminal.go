package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/internal/hook"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/internal/sidesocket"
	"github.com/agenthost/agenthost/internal/tail"
)

// TerminalSpec is what a child with a screen needs beyond a StartSpec, whose Argv is
// the screen's.
type TerminalSpec struct {
	// Hub shows the screen, and has its size.
	Hub *screen.Hub
	// Server is started beside the screen, nil for none. Its Argv is resolved.
	Server *adapters.Server
	// Screens asks for Terminal frames.
	Screens bool
	// Dir is the directory for sockets, of this child alone: it is removed with it.
	Dir string
}

// doer is a Child that does effects. Do does not block; an effect that is not its own is
// ErrUnsupported.
type doer interface{ Do(adapters.Effect) error }

// attendant is a Child that is told when the Protocol is about to hear that its
// connection stands again: what is written from then on is for the new one.
type attendant interface{ attended() }

// childDoes has the child do an effect, if it is one of those.
func (s *Session) childDoes(e adapters.Effect) bool {
	switch e.(type) {
	case adapters.Follow, adapters.Unfollow, adapters.HookReply, adapters.StartScreen, adapters.Look:
	default:
		return false
	}
	d, ok := s.child.(doer)
	err := fmt.Errorf("a child without a screen: %w", errors.ErrUnsupported)
	if ok {
		err = d.Do(e)
	}
	if err != nil {
		wanted, res := s.proto, failed(err)
		res.ID = e.EffectID()
		// Not now: the Step that wanted it is being applied.
		s.inbox.post(func() { s.effectDone(wanted, res) })
	}
	return true
}

// terminalChild is an agent with its own screen: the process on a PTY, perhaps a server
// beside it, the hooks it calls and the files it writes, all as frames of one channel.
//
// Frames of one source are in their order. What a file holds when a hook calls comes
// before the hook. At the end the hooks are refused first, then the connection and the
// files are read to their ends, and Frames is closed.
type terminalChild struct {
	spec   StartSpec
	shim   *proc.Shim
	frames chan adapters.Frame
	hooks  *hook.Server
	files  *tail.Set
	server *proc.Child        // nil for none
	link   *sidesocket.Client // to the server, nil for none
	looks  *looks             // nil when no Terminal frames are wanted

	begun    chan struct{} // closed when the screen runs, or will not
	others   others        // goroutines beside run
	asked    chan struct{} // closed by Stop
	once     sync.Once     // for asked
	hurry    context.Context
	kill     context.CancelFunc // ends what is being stopped at once
	finished chan struct{}      // closed with Frames

	mu     sync.Mutex
	screen *proc.Child         // guarded by mu; nil before it was started
	shown  func()              // guarded by mu; waits until its output was read
	fault  error               // guarded by mu: why there is no screen
	over   bool                // guarded by mu: no screen is started any more
	exit   adapters.ExitStatus // set before finished is closed
}

var (
	_ Child     = (*terminalChild)(nil)
	_ doer      = (*terminalChild)(nil)
	_ attendant = (*terminalChild)(nil)
)

// startTerminal starts a child with a screen.
func startTerminal(ctx context.Context, spec StartSpec, shim *proc.Shim) (Child, error) {
	c := &terminalChild{
		spec: spec, shim: shim, frames: make(chan adapters.Frame), begun: make(chan struct{}), asked: make(chan struct{}),
		finished: make(chan struct{}),
	}
	c.hurry, c.kill = context.WithCancel(context.Background())
	var err error
	if c.hooks, err = hook.Listen(hook.Options{Dir: spec.Terminal.Dir, MaxRequest: int64(spec.MaxLine)}, c.hook); err != nil {
		return nil, err
	}
	c.files = tail.New(tail.Options{MaxLine: spec.MaxLine}, c.line)
	if spec.Terminal.Screens {
		c.looks = newLooks(c.frames)
	}
	if server := spec.Terminal.Server; server != nil {
		err = c.startServer(ctx, server)
	} else {
		err = c.startScreen(ctx, spec.Argv)
	}
	if err != nil {
		go c.discard() // a start that failed late may have had a hook called already
		c.release()
		close(c.frames)
		return nil, err
	}
	go c.run()
	return c, nil
}

func (c *terminalChild) discard() {
	for range c.frames {
	}
}

// startServer starts the server and begins to connect to it.
func (c *terminalChild) startServer(ctx context.Context, server *adapters.Server) error {
	var err error
	c.server, err = proc.Start(ctx, proc.Spec{
		Argv: server.Argv, Env: c.spec.Env, Dir: c.spec.Dir, MaxLine: c.spec.MaxLine, StderrTail: c.spec.StderrTail,
		InputGrace: time.Millisecond, // it has none
		TermGrace:  c.spec.StopGrace, Supervise: true, Shim: c.shim, NoInput: true,
	})
	if err != nil {
		return err
	}
	c.link = sidesocket.New(sidesocket.Options{
		Path: server.Socket, MaxMessage: c.spec.MaxLine, Done: c.server.Done(),
		Connected: func() {
			if !server.First {
				c.tryScreen(c.spec.Argv)
			}
		},
		Receive: func(m sidesocket.Message) {
			c.frames <- adapters.Frame{Source: adapters.Socket, Data: m.Data, Dropped: m.Dropped, Reconnected: m.Reconnected}
		},
		Failed: c.noScreen,
	})
	return nil
}

// startScreen starts the process with the screen.
func (c *terminalChild) startScreen(ctx context.Context, argv []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.screen != nil || c.fault != nil {
		return nil
	}
	hub := c.spec.Terminal.Hub
	cols, rows := hub.Size()
	p, err := proc.Start(ctx, proc.Spec{
		Argv: argv, Env: c.spec.Env, Dir: c.spec.Dir, TermGrace: c.spec.StopGrace, Supervise: true, Shim: c.shim,
		Terminal: &proc.TerminalSize{Cols: cols, Rows: rows},
	})
	if err != nil {
		c.fault = err
	} else {
		if c.looks != nil {
			hub.Rested(c.looks.see) // not before: that would be the former child's screen
		}
		c.screen, c.shown = p, hub.Show(p.Terminal())
	}
	close(c.begun)
	return err
}

// tryScreen starts the screen; one that cannot be started ends the child.
func (c *terminalChild) tryScreen(argv []string) {
	_ = c.startScreen(context.WithoutCancel(c.hurry), argv) // run finds the fault
}

// noScreen gives up: there is no server to show anything of.
func (c *terminalChild) noScreen(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.screen == nil && c.fault == nil {
		c.fault = err
		close(c.begun)
	}
}

// run sees to the end.
func (c *terminalChild) run() {
	var server <-chan struct{}
	if c.server != nil {
		server = c.server.Done()
		c.others.run(c.serverLines)
	}
	select {
	case <-c.begun:
	case <-server:
	case <-c.asked:
	}
	c.mu.Lock()
	p := c.screen
	if p == nil {
		c.over = true
	}
	c.mu.Unlock()
	lost := false
	if p != nil {
		select {
		case <-p.Done():
		case <-server:
			lost = true // what it shows is no session any more
		case <-c.asked:
		}
		_ = p.Stop(c.hurry)
	}
	c.end(p, lost)
}

// end releases everything in its order.
func (c *terminalChild) end(p *proc.Child, lost bool) {
	if p != nil {
		c.mu.Lock()
		shown := c.shown
		c.mu.Unlock()
		shown()
		p.Close()
	}
	c.release()
	status := adapters.ExitStatus{Code: -1}
	switch {
	case p != nil && !lost:
		status = exitStatus(p.Exit(), "")
	case c.server != nil:
		status = exitStatus(c.server.Exit(), "")
		status.Err = cmp.Or(status.Err, "the agent's server ended before its screen: "+c.server.Exit().String())
	}
	if c.fault != nil {
		status.Err = c.fault.Error()
	}
	if status != (adapters.ExitStatus{}) {
		status.Stderr = c.lastWords(p)
	}
	c.exit = status
	c.kill()
	close(c.finished)
	close(c.frames)
}

// release ends all that is beside the screen. The frames are being received.
func (c *terminalChild) release() {
	c.hooks.Close()
	if c.looks != nil {
		c.spec.Terminal.Hub.Rested(nil)
		c.looks.close()
	}
	if c.server != nil {
		_ = c.server.Stop(c.hurry)
		if c.link != nil {
			c.link.Close()
		}
		c.server.Close()
	}
	c.others.end()
	c.files.Close()
	os.RemoveAll(c.spec.Terminal.Dir)
}

// shownLines is how much of a screen stands in for what an agent says on stderr.
const shownLines = 20

// lastWords is what tells people why the child ended: the end of what the server
// wrote, and of what the screen shows.
func (c *terminalChild) lastWords(p *proc.Child) string {
	var words []string
	if c.server != nil {
		words = append(words, strings.TrimSpace(c.server.StderrTail()))
	}
	if p != nil {
		var lines []string
		for _, l := range c.spec.Terminal.Hub.Snapshot().Lines {
			if strings.TrimSpace(l) != "" {
				lines = append(lines, l)
			}
		}
		words = append(words, lines[max(len(lines)-shownLines, 0):]...)
	}
	return strings.TrimSpace(strings.Join(words, "\n"))
}

// serverLines passes on what the server prints: it speaks on its socket.
func (c *terminalChild) serverLines() {
	for l := range c.server.Lines() {
		c.frames <- adapters.Frame{Source: adapters.Stderr, Data: l.Data, Dropped: l.Dropped}
	}
}

func (c *terminalChild) hook(r hook.Request) {
	c.files.Flush()
	c.frames <- adapters.Frame{Source: adapters.Hook, ID: r.ID, Data: r.Data, Dropped: r.Dropped}
}

// Frames implements Child.
func (c *terminalChild) Frames() <-chan adapters.Frame { return c.frames }

// Write implements Child: to the server, or typed at the screen.
func (c *terminalChild) Write(p []byte) error {
	if c.link != nil {
		return c.link.Write(p)
	}
	c.mu.Lock()
	screen := c.screen
	c.mu.Unlock()
	if screen == nil {
		return nil
	}
	return screen.Write(p)
}

// attended implements attendant.
func (c *terminalChild) attended() {
	if c.link != nil {
		c.link.Resume()
	}
}

// Stop implements Child.
func (c *terminalChild) Stop(ctx context.Context) {
	c.once.Do(func() { close(c.asked) })
	select {
	case <-c.finished:
	case <-ctx.Done():
		c.kill() // here: a context.AfterFunc that is stopped on return may not have begun
	}
}

// Exit implements Child.
func (c *terminalChild) Exit() adapters.ExitStatus { return c.exit }

// Do implements doer.
func (c *terminalChild) Do(e adapters.Effect) error {
	switch e := e.(type) {
	case adapters.Follow:
		return c.files.Follow(tail.Follow{ID: e.ID, Path: e.Path, From: e.From})
	case adapters.Unfollow:
		c.files.Unfollow(e.ID)
	case adapters.HookReply:
		c.hooks.Reply(e.ID, e.Output, e.Code)
	case adapters.Look:
		if c.looks != nil {
			c.spec.Terminal.Hub.Look()
		}
	case adapters.StartScreen:
		if s := c.spec.Terminal.Server; s == nil || !s.First {
			return fmt.Errorf("the screen starts by itself: %w", errors.ErrUnsupported)
		}
		argv := slices.Concat(c.spec.Argv, e.Args)
		if !c.others.run(func() { c.tryScreen(argv) }) {
			return errors.New("the agent has ended")
		}
	default:
		return fmt.Errorf("effect %T: %w", e, errors.ErrUnsupported)
	}
	return nil
}

func (c *terminalChild) line(l tail.Line) {
	c.frames <- adapters.Frame{Source: adapters.LogFile, ID: l.ID, File: filepath.Base(l.Path), Data: l.Data, Dropped: l.Dropped}
}

// others are goroutines beside the one that sees to the end. None begins once that waits
// for them.
type others struct {
	mu   sync.Mutex
	wait sync.WaitGroup
	over bool // guarded by mu
}

// run starts f, and reports whether it did.
func (o *others) run(f func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.wait.Go(f)
	}
	return !o.over
}

// end waits for all, and keeps others from beginning.
func (o *others) end() {
	o.mu.Lock()
	o.over = true
	o.mu.Unlock()
	o.wait.Wait()
}

// looks passes on how the screen looks: the newest look when several came meanwhile.
type looks struct {
	frames chan<- adapters.Frame
	wake   chan struct{}
	done   chan struct{}

	mu     sync.Mutex
	latest *adapters.Screen // guarded by mu
	over   bool             // guarded by mu
}

func newLooks(frames chan<- adapters.Frame) *looks {
	l := &looks{frames: frames, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *looks) see(s adapters.Screen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.latest = &s
	l.poke()
}

func (l *looks) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *looks) run() {
	defer close(l.done)
	for range l.wake {
		l.mu.Lock()
		s, over := l.latest, l.over
		l.latest = nil
		l.mu.Unlock()
		if s != nil {
			l.frames <- s.Frame()
		}
		if over {
			return
		}
	}
}

func (l *looks) close() {
	l.mu.Lock()
	l.over = true
	l.poke()
	l.mu.Unlock()
	<-l.done
}
