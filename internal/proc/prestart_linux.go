package proc

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/agenthost/agenthost/internal/proc/shim"
)

// Shim is a shim that was started ahead of the process it is for. It serves one
// Start with Spec.Supervise. Its methods are safe for concurrent use, and do
// nothing when it is nil.
type Shim struct {
	mu   sync.Mutex
	idle *idleShim // nil when it is used or closed; guarded by mu
}

// Prestart starts a shim ahead of the process it is for. A shim takes as long to
// start as this program does, and that way does it while this program makes up its
// mind what to start. A program that does so calls it early, passes the Shim in
// Spec.Shim, and closes it in any case. When this program ends before, however
// it does, the shim ends too.
//
// It is nil where there are no shims and when none could be started: Start tells
// what is wrong.
func Prestart() *Shim {
	idle, err := startShim()
	if err != nil {
		return nil
	}
	return &Shim{idle: idle}
}

// Close ends a shim that was not used; nothing happens to one that was. It may be
// called again.
func (s *Shim) Close() {
	if idle := s.take(); idle != nil {
		idle.socket.Close()
		_ = idle.process.Kill() // nothing is below it yet
		_, _ = idle.process.Wait()
	}
}

// take gives the shim to the one who uses it, nil when there is none.
func (s *Shim) take() *idleShim {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := s.idle
	s.idle = nil
	return idle
}

// idleShim is a shim as process.
type idleShim struct {
	process *os.Process
	socket  *os.File // its end is the shim's sign that we are gone
}

func startShim() (*idleShim, error) {
	// What a shim that was killed leaves comes to us; without it, to init.
	_ = shim.Subreaper()
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("opening the socket to a shim: %w", err)
	}
	defer theirs.Close()
	process, err := os.StartProcess("/proc/self/exe", []string{"agenthost-shim"}, &os.ProcAttr{
		Dir: "/",
		// Nothing in the place of the standard streams: it gets those of its
		// process later.
		Files: []*os.File{nil, nil, nil, theirs},
		// Small: it does next to nothing, and nothing of the child's environment
		// may change how it does that.
		Env: []string{shim.Variable + "=" + shim.Version, "GOMAXPROCS=1", "GOTRACEBACK=none"},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("starting a shim: %w", err)
	}
	return &idleShim{process, ours}, nil
}

// giveUp ends a shim that did not start the process, or that started it too late.
func (s *idleShim) giveUp() {
	_ = s.socket.SetDeadline(time.Now().Add(time.Second))
	_, _ = s.socket.Write([]byte{shim.Kill})
	s.socket.Close()
	// Something that isn't a shim at all doesn't listen.
	limit := time.AfterFunc(killLimit, func() { _ = s.process.Kill() })
	defer limit.Stop()
	_, _ = s.process.Wait()
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
