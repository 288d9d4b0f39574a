package shim

import "syscall"

// init turns this process into a shim if it was started as one, and does not return
// then. See the package's doc for why here.
func init() {
	if value, _ := syscall.Getenv(Variable); value != "" {
		// Not os.Exit: that would run the race detector's and others' end.
		syscall.Exit(run())
	}
}
