//go:build unix

package proc

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/agenthost/agenthost/internal/proc/kin"
)

// leftoverGrace is how long processes that outlive the child get between SIGTERM
// and SIGKILL.
const leftoverGrace = time.Second

// direct is a process that is our own child.
type direct struct {
	mu     sync.Mutex
	pid    int
	reaped bool // the pid may belong to another process; guarded by mu
	hurry  bool // kill was called: no more politeness; guarded by mu
	known  kin.Family
	finish func(Exit)
	once   sync.Once // for finish
}

// startDirect starts the process from a goroutine of its own that keeps its
// thread until the process is reaped: PR_SET_PDEATHSIG fires when the thread
// that started the process ends, not when the program does.
func (p *Process) startDirect(l Launch) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		process, err := os.StartProcess(l.Argv[0], l.Argv, &os.ProcAttr{
			Dir: l.Dir, Env: l.Env, Files: []*os.File{l.Stdin, l.Stdout, l.Stderr},
			Sys: groupAttr(l.Terminal),
		})
		if err != nil {
			started <- err
			return
		}
		d := &direct{pid: process.Pid, finish: p.finish}
		p.pid, p.tree = process.Pid, d
		started <- nil
		d.wait(process, p.marker)
	}()
	return <-started
}

// wait reaps the process and ends what it left behind, in the order that the
// platform's means of finding that allow.
func (d *direct) wait(process *os.Process, marker string) {
	var state *os.ProcessState
	var err error
	if awaitZombie(d.pid) {
		// As long as the process is a zombie its id is its group's and nobody else's.
		var seen kin.Family
		kin.EndAll(func() kin.Family {
			found := kin.Survivors(d.pid, MarkerName, marker, slices.Concat(d.recorded(), seen))
			seen = append(seen, found...)
			return found
		}, d.hurried, leftoverGrace, sweepLimit)
		append(seen, d.recorded()...).Reap()
		d.mu.Lock()
		state, err = process.Wait()
		d.reaped = true
		d.mu.Unlock()
	} else {
		state, err = process.Wait()
		d.mu.Lock()
		d.reaped = true
		d.mu.Unlock()
		endGroup(d.pid, d.hurried)
	}
	d.once.Do(func() { d.finish(exitOf(state, err)) })
}

func (d *direct) terminate() { d.signal(syscall.SIGTERM) }

func (d *direct) hangUp() { d.signal(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGCONT) }

func (d *direct) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hurry = true
	if d.reaped {
		return
	}
	// Once their parent is dead nothing but the marker leads to descendants that
	// left the group; one that has dropped its environment would be lost.
	d.known = append(d.known, kin.Descendants(d.pid)...)
	_ = syscall.Kill(-d.pid, syscall.SIGKILL)
	d.known.Signal(syscall.SIGKILL)
}

func (d *direct) forsake() {
	d.once.Do(func() {
		d.finish(Exit{Code: -1, Err: fmt.Errorf("%w: process %d did not die from SIGKILL", ErrLost, d.pid)})
	})
}

func (d *direct) signal(signals ...syscall.Signal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reaped {
		return
	}
	for _, sig := range signals {
		_ = syscall.Kill(-d.pid, sig)
	}
}

func (d *direct) hurried() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hurry
}

func (d *direct) recorded() kin.Family {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known
}

// exitOf translates what Wait returns.
func exitOf(state *os.ProcessState, err error) Exit {
	if err != nil {
		return Exit{Code: -1, Err: fmt.Errorf("%w: waiting for it: %v", ErrLost, err)}
	}
	return exitOfStatus(state.Sys().(syscall.WaitStatus))
}

func exitOfStatus(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: -1, Signal: status.Signal()}
	}
	return Exit{Code: status.ExitStatus()}
}
