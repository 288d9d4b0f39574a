//go:build unix

package console

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// reopen opens the terminal of this process; nil when that is of no use.
func reopen() *os.File {
	if runtime.GOOS == "darwin" {
		return nil // its /dev/tty cannot be polled
	}
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if f.SetReadDeadline(time.Time{}) != nil {
		_ = f.Close()
		return nil
	}
	return f
}

// notify tells of what happens to the terminal and to this process.
func notify(c chan<- os.Signal) {
	signal.Notify(c, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT)
}

func meaning(s os.Signal) occasion {
	switch s {
	case syscall.SIGWINCH:
		return resized
	case syscall.SIGTSTP:
		return stopped
	case syscall.SIGCONT:
		return continued
	}
	return nothing
}

// wakeWait is how long it is waited for the word that this process goes on.
const wakeWait = 300 * time.Millisecond

// suspend stops this process, with the others of its job, and returns when it goes on;
// false when nobody is there who could wake it: it is the first program of its terminal.
func suspend() bool {
	sid, _, e := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	if e != 0 || int(sid) == syscall.Getpgrp() {
		return false
	}
	goes := make(chan os.Signal, 1)
	signal.Notify(goes, syscall.SIGCONT)
	defer signal.Stop(goes)
	// Not SIGTSTP: the runtime keeps that from stopping who was told of it once.
	_ = syscall.Kill(0, syscall.SIGSTOP) // our own job always can be
	select {
	case <-goes:
	case <-time.After(wakeWait):
	}
	return true
}
