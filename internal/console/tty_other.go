//go:build !unix

package console

import "os"

func reopen() *os.File { return nil }

// There are no signals of a terminal here.
func notify(chan<- os.Signal) {}

func meaning(os.Signal) occasion { return nothing }

func suspend() bool { return false }
