package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// startLimit bounds the wait for a shim to say that it started the process. It
// takes milliseconds; a machine that swaps may need longer.
const startLimit = 60 * time.Second

func (p *Process) start(ctx context.Context, l Launch) error {
	if !l.Supervise {
		return p.startDirect(l)
	}
	if os.Getenv(shimEnv) != "" {
		// We are a shim whose main didn't call MaybeShim. Going on would start
		// copies of the program without end.
		return ErrShimMissing
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
	shim := l.Shim.take()
	if shim == nil {
		var err error
		if shim, err = startShim(); err != nil {
			return err
		}
	}
	pid, err := handshake(ctx, shim.socket, l)
	if err != nil {
		shim.giveUp()
		return err
	}
	s := &supervised{idleShim: *shim, finish: p.finish}
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
	err := sendStreams(socket, l.Stdin, l.Stdout, l.Stderr)
	if err == nil {
		err = sendLaunch(socket, l)
	}
	if errors.Is(err, syscall.E2BIG) {
		stop()
		return 0, err
	}
	var kind byte
	var number int
	if err == nil {
		kind, number, err = readMessage(socket)
	}
	if !stop() {
		return 0, context.Cause(ctx)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w, or its shim could not run: %v", ErrShimMissing, err)
	case kind == msgRefused:
		return 0, syscall.Errno(number)
	case kind != msgStarted:
		return 0, fmt.Errorf("shim: want message %q, got %q", msgStarted, kind)
	}
	return number, socket.SetDeadline(time.Time{})
}

// wait learns the exit from the shim, which has ended the tree by then.
func (s *supervised) wait(pid int, marker string) {
	kind, number, err := readMessage(s.socket)
	exit := exitOfStatus(syscall.WaitStatus(number))
	if err != nil || kind != msgExited {
		// Someone killed the shim. The child went with it (PR_SET_PDEATHSIG);
		// what was below it is found by its marker and group.
		endAll(func() family { return survivors(pid, marker, nil) },
			func() bool { return true }, 0, sweepLimit)
		exit = Exit{Code: -1, Err: fmt.Errorf("%w: its shim was killed", ErrLost)}
	}
	_ = s.process.Kill() // it is about to exit, or hangs
	_, _ = s.process.Wait()
	s.once.Do(func() { s.finish(exit) })
	s.socket.Close()
}

func (s *supervised) terminate() { s.command(cmdTerminate) }

func (s *supervised) kill() { s.command(cmdKill) }

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
