package agentlab

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Isolate runs this program again in a network namespace with nothing but
// loopback, waits for it, kills what its labs left (a test that panics cleans
// nothing up) and exits with its code: only the inner run returns. Call it first
// in main or TestMain. Without root a user namespace is used as well, with the
// same user and group ids. Where the system allows neither, Isolate returns the
// reason and the program goes on with the network it has.
func Isolate() error {
	if os.Getenv(runMarker) != "" {
		return enter()
	}
	code, err := rerun()
	if err != nil {
		return fmt.Errorf("no network namespace: %w", err)
	}
	os.Exit(code)
	return nil
}

// Isolated reports whether loopback is the only network of this process.
func Isolated() bool {
	list, err := net.Interfaces()
	if err != nil {
		return false
	}
	for _, i := range list {
		if i.Flags&net.FlagLoopback == 0 {
			return false
		}
	}
	return true
}

// rerun runs the program in new namespaces and returns its exit code.
func rerun() (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	// Pdeathsig comes when the thread dies that started the child, so this
	// goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	mark := runMarker + "=" + rand.Text()
	cmd.Env = append(os.Environ(), mark)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = namespaces()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			// The terminal sends SIGINT to the whole group, so the child has it.
			if s != syscall.SIGINT {
				cmd.Process.Signal(s) // an error says that it is over
			}
		case err := <-done:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			if err := killMarked(mark); err != nil {
				fmt.Fprintln(os.Stderr, "agentlab:", err)
			}
			return exitCode(cmd.ProcessState), nil
		}
	}
}

// exitCode is the code that a shell would report.
func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// namespaces asks for a new network and, without root, for a user namespace that
// gives the right to configure it. Ids stay what they are: agents behave
// differently as root.
func namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		return attr
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	// Without it the capabilities of the namespace's creator are lost at exec.
	attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
	return attr
}

// enter brings loopback up in the new namespace and gives up the right to do so.
func enter() error {
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("bringing loopback up: %w", err)
	}
	if os.Getuid() != 0 {
		// Children inherit ambient capabilities; they shall be ordinary
		// processes. ENOTSUP comes with cgo, where the right stays: it is
		// worth nothing outside the empty namespace.
		syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ifr); err != nil {
		return err
	}
	ifr.SetUint16(ifr.Uint16() | unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}
