package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/agenthost/agenthost/internal/proc/shim"
)

// startLimit bounds the wait for a shim to say that it started the process. It
// takes milliseconds; a machine that swaps may need longer.
const startLimit = 60 * time.Second

func (p *Process) start(ctx context.Context, l Launch) error {
	if !l.Supervise {
		return p.startDirect(l)
	}
	return p.startSupervised(ctx, l)
}

// supervised is a process below a shim. The shim is the subreaper of its tree
// and does what must not race with reaping.
type supervised struct {
	idleShim
	once   sync.Once
	finish func(Exit)
}

func (p *Process) startSupervised(ctx context.Context, l Launch) error {
	idle := l.Shim.take()
	if idle == nil {
		var err error
		if idle, err = startShim(); err != nil {
			return err
		}
	}
	pid, err := handshake(ctx, idle.socket, l)
	if err != nil {
		idle.giveUp()
		return err
	}
	s := &supervised{idleShim: *idle, finish: p.finish}
	p.pid, p.tree = pid, s
	go s.wait(pid, p.marker)
	return nil
}

// handshake hands the launch over and returns the id of the process.
func handshake(ctx context.Context, socket *os.File, l Launch) (int, error) {
	if err := socket.SetDeadline(time.Now().Add(startLimit)); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = socket.SetDeadline(time.Unix(1, 0)) })
	err := shim.SendStreams(socket, l.Stdin, l.Stdout, l.Stderr)
	if err == nil {
		err = shim.SendLaunch(socket, shim.Launch{Dir: l.Dir, Terminal: l.Terminal, Argv: l.Argv, Env: l.Env})
	}
	if errors.Is(err, syscall.E2BIG) {
		stop()
		return 0, err
	}
	var kind byte
	var number int
	if err == nil {
		kind, number, err = shim.ReadMessage(socket)
	}
	if !stop() {
		return 0, context.Cause(ctx)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("its shim did not start it: %w", err)
	case kind == shim.Refused:
		return 0, syscall.Errno(number)
	case kind != shim.Started:
		return 0, fmt.Errorf("shim: want message %q, got %q", shim.Started, kind)
	}
	return number, socket.SetDeadline(time.Time{})
}

// wait learns the exit from the shim, which has ended the tree by then.
func (s *supervised) wait(pid int, marker string) {
	kind, number, err := shim.ReadMessage(s.socket)
	exit := exitOfStatus(syscall.WaitStatus(number))
	if err != nil || kind != shim.Exited {
		s.sweep(pid, marker)
		exit = Exit{Code: -1, Err: fmt.Errorf("%w: its shim was killed", ErrLost)}
	}
	_ = s.process.Kill() // it is about to exit, or hangs
	_, _ = s.process.Wait()
	s.once.Do(func() { s.finish(exit) })
	s.socket.Close()
}

func (s *supervised) terminate() { s.command(shim.Terminate) }

func (s *supervised) hangUp() { s.command(shim.HangUp) }

func (s *supervised) kill() { s.command(shim.Kill) }

// command never blocks for long: the socket's buffer holds thousands of commands.
func (s *supervised) command(c byte) {
	_ = s.socket.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = s.socket.Write([]byte{c})
}

// forsake kills the shim, which ends wait; and should that hang too, for a
// process that doesn't die, it finishes without it.
func (s *supervised) forsake() {
	_ = s.process.Kill()
	time.AfterFunc(killLimit, func() {
		s.once.Do(func() {
			s.finish(Exit{Code: -1, Err: fmt.Errorf("%w: it did not die from SIGKILL", ErrLost)})
		})
	})
}
