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
	shim   *os.Process
	socket *os.File // its end is the shim's sign that we are gone
	once   sync.Once
	finish func(Exit)
}

func (p *Process) startSupervised(ctx context.Context, l Launch) error {
	ours, theirs, err := socketPair()
	if err != nil {
		return fmt.Errorf("opening the socket to a shim: %w", err)
	}
	shim, err := os.StartProcess("/proc/self/exe", []string{"agenthost-shim"}, &os.ProcAttr{
		Dir:   "/",
		Files: []*os.File{l.Stdin, l.Stdout, l.Stderr, theirs},
		// Small: it does next to nothing, and nothing of the child's environment
		// may change how it does that.
		Env: []string{shimEnv + "=" + shimVersion, "GOMAXPROCS=1", "GOTRACEBACK=none"},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	theirs.Close()
	if err != nil {
		ours.Close()
		return fmt.Errorf("starting a shim: %w", err)
	}
	pid, err := handshake(ctx, ours, l)
	if err != nil {
		giveUp(shim, ours)
		return err
	}
	s := &supervised{shim: shim, socket: ours, finish: p.finish}
	p.pid, p.tree = pid, s
	go s.wait(pid, p.marker)
	return nil
}

// giveUp ends a shim that did not start the process, or that started it too late.
func giveUp(shim *os.Process, socket *os.File) {
	_ = socket.SetDeadline(time.Now().Add(time.Second))
	_, _ = socket.Write([]byte{cmdKill})
	socket.Close()
	// Something that isn't a shim at all doesn't listen.
	limit := time.AfterFunc(killLimit, func() { _ = shim.Kill() })
	defer limit.Stop()
	_, _ = shim.Wait()
}

// handshake hands the launch over and returns the id of the process.
func handshake(ctx context.Context, socket *os.File, l Launch) (int, error) {
	if err := socket.SetDeadline(time.Now().Add(startLimit)); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = socket.SetDeadline(time.Unix(1, 0)) })
	err := sendLaunch(socket, l)
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
	_ = s.shim.Kill() // it is about to exit, or hangs
	_, _ = s.shim.Wait()
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
	_ = s.shim.Kill()
	time.AfterFunc(killLimit, func() {
		s.once.Do(func() {
			s.finish(Exit{Code: -1, Err: fmt.Errorf("%w: it did not die from SIGKILL", ErrLost)})
		})
	})
}

// socketPair returns our end, with deadlines, and the shim's, which blocks.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		_ = syscall.Close(fds[0])
		_ = syscall.Close(fds[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "shim"), os.NewFile(uintptr(fds[1]), "host"), nil
}
