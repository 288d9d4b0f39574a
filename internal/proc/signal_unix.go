//go:build unix

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName is a signal's name, like "SIGKILL".
func SignalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return s.String() // a real-time signal has a number only
}
