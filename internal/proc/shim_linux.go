package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// shimEnv is set in the environment of a shim, and only there. Its value is the
// version of the protocol between us and it.
const (
	shimEnv     = "AGENTHOST_SHIM"
	shimVersion = "1"
	// shimSocket is the descriptor of the shim's end of the socket.
	shimSocket = 3
	// orphanGrace is how long a child whose host is gone gets between SIGTERM
	// and SIGKILL.
	orphanGrace = time.Second
)

// Messages of the shim: a letter, the length of the payload in four bytes, the
// payload. Commands to it are single letters.
const (
	msgStarted = 'S' // process id
	msgRefused = 'E' // errno
	msgExited  = 'X' // wait status

	cmdTerminate = 'T'
	cmdKill      = 'K'
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
	l, err := readLaunch(socket)
	if err != nil {
		fmt.Fprintf(os.Stderr, "shim: reading what to start: %v; only the program itself sets %s\n", err, shimEnv)
		return 2
	}
	// Without it a descendant that leaves its parent goes to init; the rest works.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	// A supervisor of services may signal all of them at once. Whether the
	// process ends is its host's decision. Not Ignore: that would be inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	pid, err := syscall.ForkExec(l.Argv[0], l.Argv, &syscall.ProcAttr{
		Dir: l.Dir, Env: l.Env, Files: []uintptr{0, 1, 2},
		Sys: groupAttr(),
	})
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		_ = sendMessage(socket, msgRefused, int(errno))
		return 1
	}
	releaseStreams()
	_ = sendMessage(socket, msgStarted, pid)
	s := &shim{pid: pid}
	go s.obey(socket)
	trim()
	if status, ok := s.wait(); ok {
		_ = sendMessage(socket, msgExited, int(status))
	}
	return 0
}

// releaseStreams gives up the child's streams, so that their ends are the ends of
// the child's, not of ours.
func releaseStreams() {
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil {
			_ = syscall.Close(fd)
			continue
		}
		_ = unix.Dup3(null, fd, syscall.O_CLOEXEC)
	}
	if err == nil {
		_ = syscall.Close(null)
	}
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

// sendMessage writes a message with a number as payload.
func sendMessage(w io.Writer, kind byte, number int) error {
	payload := strconv.Itoa(number)
	message := append([]byte{kind, 0, 0, 0, 0}, payload...)
	binary.BigEndian.PutUint32(message[1:5], uint32(len(payload)))
	_, err := w.Write(message)
	return err
}

// readMessage reads what sendMessage wrote.
func readMessage(r io.Reader) (kind byte, number int, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, err
	}
	payload := make([]byte, min(binary.BigEndian.Uint32(head[1:]), 32))
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, 0, err
	}
	number, err = strconv.Atoi(string(payload))
	return head[0], number, err
}

// maxLaunch bounds the description of a launch: Linux takes 6 MiB of arguments
// and environment at most (3/4 of _STK_LIM).
const maxLaunch = 8 << 20

// sendLaunch writes what the shim starts: strings with a NUL after each, which
// check keeps out of them: directory, number of arguments, arguments,
// environment.
func sendLaunch(w io.Writer, l Launch) error {
	var b strings.Builder
	for _, list := range [][]string{{shimVersion, l.Dir, strconv.Itoa(len(l.Argv))}, l.Argv, l.Env} {
		for _, s := range list {
			b.WriteString(s)
			b.WriteByte(0)
		}
	}
	if b.Len() > maxLaunch {
		return syscall.E2BIG
	}
	message := binary.BigEndian.AppendUint32(nil, uint32(b.Len()))
	_, err := w.Write(append(message, b.String()...))
	return err
}

// readLaunch reads what sendLaunch wrote.
func readLaunch(r io.Reader) (Launch, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Launch{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size == 0 || size > maxLaunch {
		return Launch{}, errors.New("bad launch")
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(r, content); err != nil {
		return Launch{}, err
	}
	fields := strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00")
	if len(fields) < 3 || fields[0] != shimVersion {
		return Launch{}, errors.New("bad launch")
	}
	argc, err := strconv.Atoi(fields[2])
	if err != nil || argc < 1 || argc > len(fields)-3 {
		return Launch{}, errors.New("bad launch")
	}
	return Launch{Dir: fields[1], Argv: fields[3 : 3+argc], Env: fields[3+argc:]}, nil
}
