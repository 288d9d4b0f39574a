package proc

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// shimEnv is set in the environment of a shim, and only there. Its value is the
// version of the protocol between us and it.
const (
	shimEnv     = "AGENTHOST_SHIM"
	shimVersion = "2"
	// shimSocket is the descriptor of the shim's end of the socket.
	shimSocket = 3
	// orphanGrace is how long a child whose host is gone gets between SIGTERM
	// and SIGKILL.
	orphanGrace = time.Second
)

// MaybeShim turns this process into a shim if it was started as one, and doesn't
// return then. A program that uses Spec.Supervise calls it first thing in main
// (in TestMain for tests): a shim is the program's own executable, started again.
//
// A shim starts one process for the program, with that program's end of the
// streams, and stands above it as subreaper, so that nothing below it can leave.
// It ends the whole tree when the process ends, when it is told to, and when the
// socket to the program breaks, which is when the program is gone.
func MaybeShim() {
	if os.Getenv(shimEnv) == "" {
		return
	}
	// Not os.Exit: that would run the race detector's and others' end.
	syscall.Exit(runShim(os.NewFile(shimSocket, "shim")))
}

func runShim(socket *os.File) int {
	// PR_SET_PDEATHSIG looks at the thread that starts the process.
	runtime.LockOSThread()
	// Our socket, and whatever else without close-on-exec the host once inherited.
	if err := unix.CloseRange(shimSocket, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		syscall.CloseOnExec(shimSocket) // Linux before 5.11
	}
	// A supervisor of services may signal all of them at once. Whether the
	// process ends is its host's decision. Not Ignore: that would be inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	streams, err := readStreams(shimSocket)
	if err == io.EOF {
		return 0 // not needed, or the host is gone
	}
	var l Launch
	if err == nil {
		l, err = readLaunch(socket)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "shim: reading what to start: %v; only the program itself sets %s\n", err, shimEnv)
		return 2
	}
	// Without it a descendant that leaves its parent goes to init; the rest works.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	pid, err := syscall.ForkExec(l.Argv[0], l.Argv, &syscall.ProcAttr{
		Dir: l.Dir, Env: l.Env, Files: streams[:],
		Sys: groupAttr(),
	})
	for _, fd := range streams {
		_ = syscall.Close(int(fd)) // their ends are the ends of the child's, not of ours
	}
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		_ = sendMessage(socket, msgRefused, int(errno))
		return 1
	}
	_ = sendMessage(socket, msgStarted, pid)
	s := &shim{pid: pid}
	go s.obey(socket)
	Trim()
	if status, ok := s.wait(); ok {
		_ = sendMessage(socket, msgExited, int(status))
	}
	return 0
}

// shim is the state of this process as a shim.
type shim struct {
	mu    sync.Mutex
	pid   int
	gone  bool // the child is reaped; guarded by mu
	hurry bool // no more politeness; guarded by mu
}

// obey does what the host says, until it is gone.
func (s *shim) obey(socket *os.File) {
	for {
		var command [1]byte
		if _, err := io.ReadFull(socket, command[:]); err != nil {
			break
		}
		switch command[0] {
		case cmdTerminate:
			s.terminate()
		case cmdKill:
			s.kill()
		}
	}
	s.terminate()
	time.Sleep(orphanGrace)
	s.kill()
}

func (s *shim) terminate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		_ = syscall.Kill(-s.pid, syscall.SIGTERM)
	}
}

func (s *shim) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurry = true
	if !s.gone {
		_ = syscall.Kill(-s.pid, syscall.SIGKILL)
		descendants(os.Getpid()).signal(syscall.SIGKILL)
	}
}

func (s *shim) hurried() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hurry
}

// wait reaps until the child has ended, then ends what is left of its tree. It
// returns the child's wait status; ok is false if there was none to be had.
func (s *shim) wait() (status syscall.WaitStatus, ok bool) {
	for {
		awaitAnyZombie()
		pid, status, err := s.reap()
		switch {
		case err == syscall.ECHILD:
			return 0, false
		case err == nil && pid == s.pid:
			endAll(s.left, s.hurried, leftoverGrace, sweepLimit)
			return status, true
		}
	}
}

// awaitAnyZombie blocks until a child of ours has ended, and leaves it to reap.
func awaitAnyZombie() {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
	if err != nil && err != unix.EINTR {
		time.Sleep(20 * time.Millisecond) // a sandbox without waitid: look now and then
	}
}

// reap reaps one child, if one has ended. It doesn't block, and holds the lock, so
// that nobody signals an id that is free.
func (s *shim) reap() (pid int, status syscall.WaitStatus, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err = syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	if err == nil && pid == s.pid {
		s.gone = true
	}
	return pid, status, err
}

// left lists what lives below us, after the child ended. A subreaper without
// children has no descendants, which saves the search in most cases.
func (s *shim) left() family {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.ECHILD:
			return nil
		case err == nil && pid == 0:
			return descendants(os.Getpid())
		}
	}
}
