package shim

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/agenthost/agenthost/internal/proc/kin"
)

const (
	// Variable is set in the environment of a shim, and only there. Its value is
	// Version.
	Variable = "AGENTHOST_SHIM"
	// Socket is the descriptor of the shim's end of the socket to the program.
	Socket = 3

	// orphanGrace is how long a process whose program is gone gets between SIGTERM
	// and SIGKILL.
	orphanGrace = time.Second
	// leftoverGrace is how long processes that outlive theirs get between SIGTERM
	// and SIGKILL, sweepLimit bounds the killing after that: only what is stuck in
	// the kernel lasts longer.
	leftoverGrace = time.Second
	sweepLimit    = 3 * time.Second
)

// run is the life of a shim; it returns the exit status.
func run() int {
	// PR_SET_PDEATHSIG looks at the thread that starts the process.
	runtime.LockOSThread()
	closeOnExec()
	// A supervisor of services may signal all of them at once. Whether the
	// process ends is its program's decision. Not Ignore: that would be inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	ended := make(chan os.Signal, 1) // one that waits stands for all
	signal.Notify(ended, syscall.SIGCHLD)

	streams, err := readStreams(Socket)
	if err == io.EOF {
		return 0 // not needed, or the program is gone
	}
	var l Launch
	if err == nil {
		l, err = readLaunch(descriptor(Socket))
	}
	if err != nil {
		_, _ = syscall.Write(2, []byte("shim: reading what to start: "+err.Error()+"; only the program itself sets "+Variable+"\n"))
		return 2
	}
	// Without it a descendant that leaves its parent goes to init; the rest works.
	_ = Subreaper()
	pid, err := syscall.ForkExec(l.Argv[0], l.Argv, &syscall.ProcAttr{
		Dir: l.Dir, Env: l.Env, Files: streams[:], Sys: Attr(l.Terminal),
	})
	for _, fd := range streams {
		_ = syscall.Close(int(fd)) // their ends are the ends of the process's, not of ours
	}
	// Reading it must not cost a thread.
	_ = syscall.SetNonblock(Socket, true)
	socket := os.NewFile(Socket, "program")
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		_ = sendMessage(socket, Refused, int(errno))
		return 1
	}
	_ = sendMessage(socket, Started, pid)
	s := &shim{pid: pid, ended: ended, commands: commands(socket)}
	if status, ok := s.watch(); ok {
		kin.EndAll(s.left, s.hurried, leftoverGrace, sweepLimit)
		// What we leave comes to the program, who is a subreaper too and does not know it.
		for pid := 1; pid > 0; pid, _, _ = reap() {
		}
		_ = sendMessage(socket, Exited, int(status))
	}
	return 0
}

// commands gives what the program says; it is closed when the program is gone.
func commands(socket io.Reader) <-chan byte {
	c := make(chan byte)
	go func() {
		defer close(c)
		for {
			var command [1]byte
			if _, err := io.ReadFull(socket, command[:]); err != nil {
				return
			}
			c <- command[0]
		}
	}()
	return c
}

// shim is what a shim knows while its process runs. All of it belongs to the one
// goroutine that reaps and signals, so that nobody signals an id that is free.
type shim struct {
	pid      int
	gone     bool             // the process is reaped
	hurry    bool             // no more politeness
	ended    <-chan os.Signal // SIGCHLD
	commands <-chan byte      // nil when the program is gone
	orphaned <-chan time.Time // the end of orphanGrace; nil while the program is there
}

// watch reaps and obeys until the process has ended, and returns its wait status;
// ok is false if there was none to be had.
func (s *shim) watch() (status syscall.WaitStatus, ok bool) {
	for {
		for {
			pid, status, err := reap()
			if err == syscall.ECHILD {
				return 0, false
			}
			if pid <= 0 {
				break
			}
			if pid == s.pid {
				s.gone = true
				return status, true
			}
		}
		select {
		case <-s.ended:
		case c, ok := <-s.commands:
			s.obey(c, ok)
		case <-s.orphaned:
			s.kill()
		}
	}
}

// reap reaps one child of ours, if one has ended; pid is 0 if none has.
func reap() (pid int, status syscall.WaitStatus, err error) {
	for {
		pid, err = syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err != syscall.EINTR {
			return pid, status, err
		}
	}
}

// obey does what the program says; there is false when it is gone.
func (s *shim) obey(command byte, there bool) {
	switch {
	case !there:
		s.commands, s.orphaned = nil, time.After(orphanGrace)
		s.terminate()
	case command == Terminate:
		s.terminate()
	case command == HangUp:
		s.signal(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGCONT)
	case command == Kill:
		s.kill()
	}
}

func (s *shim) terminate() { s.signal(syscall.SIGTERM) }

func (s *shim) signal(signals ...syscall.Signal) {
	if s.gone {
		return
	}
	for _, sig := range signals {
		_ = syscall.Kill(-s.pid, sig)
	}
}

func (s *shim) kill() {
	s.hurry = true
	if !s.gone {
		_ = syscall.Kill(-s.pid, syscall.SIGKILL)
		kin.Descendants(os.Getpid()).Signal(syscall.SIGKILL)
	}
}

// hurried obeys while the rest of the tree is ended.
func (s *shim) hurried() bool {
	for {
		select {
		case c, ok := <-s.commands:
			s.obey(c, ok)
		case <-s.orphaned:
			s.kill()
		default:
			return s.hurry
		}
	}
}

// left lists what lives below us, after the process ended. A subreaper without
// children has no descendants, which saves the search in most cases.
func (s *shim) left() kin.Family {
	for {
		pid, _, err := reap()
		switch {
		case err == syscall.ECHILD:
			return nil
		case pid <= 0:
			return kin.Descendants(os.Getpid())
		}
	}
}
