package proc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"strings"
	"sync"
	"time"
)

// MarkerName is the environment variable by which every process that a child
// starts can be found, wherever in the process tree it went. Its value is
// Process.Marker. A child's own value is replaced.
const MarkerName = "AGENTHOST_CHILD"

const (
	// sweepLimit bounds the killing of a tree. Only processes stuck in the
	// kernel last longer, and nothing can be done about them.
	sweepLimit = 3 * time.Second
	// killLimit is how long Kill waits for a shim to do its work before it
	// does it itself.
	killLimit = sweepLimit + 2*time.Second
)

// Launch says what process to start. It is the part of Spec below pipes; see there
// for the fields that have the same name.
type Launch struct {
	Argv []string
	Env  []string
	Dir  string
	// Stdin, Stdout and Stderr are given to the process as they are; nil is the
	// null device. The caller closes its own copies when StartProcess returns.
	Stdin, Stdout, Stderr *os.File
	// Terminal says that they are a terminal, which becomes the controlling one of
	// the process's session.
	Terminal  bool
	Supervise bool
	Shim      *Shim
}

// Process is a started process and everything below it. Its methods are safe for
// concurrent use and none blocks.
type Process struct {
	pid    int
	marker string
	tree   tree

	mu     sync.Mutex
	killed *time.Timer   // set by Kill: forsakes the tree; guarded by mu
	done   chan struct{} // closed under mu when exit is set and the tree is gone
	exit   Exit          // set before done is closed
}

// tree is what a platform does to a process and everything below it. The methods
// don't block, and do nothing once the process is reaped.
type tree interface {
	// terminate asks the process group to end.
	terminate()
	// hangUp does too, the way a terminal that goes away does.
	hangUp()
	// kill ends the process group and all descendants at once.
	kill()
	// forsake is the last means when kill did not lead to an exit in time: the
	// process is finished with ErrLost.
	forsake()
}

// StartProcess starts a process. The context bounds the start only: when it ends
// later nothing happens to the process. The error is a *StartError when the
// command is at fault.
func StartProcess(ctx context.Context, l Launch) (*Process, error) {
	if err := check(l.Argv, l.Env, l.Dir); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	for _, f := range []**os.File{&l.Stdin, &l.Stdout, &l.Stderr} {
		if *f == nil {
			*f = null
		}
	}
	p := &Process{marker: newMarker(), done: make(chan struct{})}
	l.Env = withMarker(l.Env, p.marker)
	if err := p.start(ctx, l); err != nil {
		return nil, explain(err, l)
	}
	return p, nil
}

// Pid returns the process id, also after the exit.
func (p *Process) Pid() int { return p.pid }

// Marker returns the value of MarkerName in the environment of the process and
// of all it started.
func (p *Process) Marker() string { return p.marker }

// Done is closed when the process was reaped and all below it is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how the process ended. It blocks until Done is closed.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

// Terminate sends SIGTERM to the process group. Each call sends one.
func (p *Process) Terminate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended() {
		p.tree.terminate()
	}
}

// HangUp sends SIGHUP and SIGTERM to the process group, and SIGCONT, without which
// a stopped one gets neither: for a process on a terminal. An interactive shell does
// not end by SIGTERM.
func (p *Process) HangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended() {
		p.tree.hangUp()
	}
}

// Kill ends the process and all below it at once. Done is closed within
// some seconds whatever happens.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended() || p.killed != nil {
		return
	}
	p.killed = time.AfterFunc(killLimit, p.tree.forsake)
	p.tree.kill()
}

// ended reports whether Done is closed. It is called under mu.
func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// finish publishes the exit. It is called once, by whoever reaped the process.
func (p *Process) finish(e Exit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed != nil {
		p.killed.Stop()
	}
	p.exit = e
	close(p.done)
}

func newMarker() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func withMarker(env []string, marker string) []string {
	marked := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, MarkerName+"=") {
			marked = append(marked, entry)
		}
	}
	return append(marked, MarkerName+"="+marker)
}
