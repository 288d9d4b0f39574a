package shim

import (
	"math"
	"syscall"
)

// Attr puts a process in a session and group of its own, and ends it with the thread
// that starts it. A session and not only a group, so that there is no controlling
// terminal: what asks for a password on /dev/tty then fails, where in a background
// group it would be stopped by SIGTTIN and hang. With terminal its standard input is
// one, and becomes the controlling one.
func Attr(terminal bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: terminal, Pdeathsig: syscall.SIGKILL} // Ctty is the process's descriptor 0
}

// Subreaper makes this process the parent of every descendant that loses its own.
func Subreaper() error {
	const prSetChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}

// closeOnExec keeps our socket, and whatever else without close-on-exec the program
// once inherited, from the process.
func closeOnExec() {
	const sysCloseRange, cloexec = 436, 1 << 2 // the number is the same on every architecture
	if _, _, errno := syscall.RawSyscall(sysCloseRange, Socket, math.MaxUint32, cloexec); errno != 0 {
		syscall.CloseOnExec(Socket) // Linux before 5.11
	}
}
