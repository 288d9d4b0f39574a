package proc

import "syscall"

// SignalName is a signal's name. Windows has no signals of its own.
func SignalName(s syscall.Signal) string { return s.String() }
