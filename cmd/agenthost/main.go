// Command agenthost runs coding agents, turns what they say into one stream of
// session protocol v2 envelopes, and lets a person decide what they may do.
//
// This package is flags, wiring and output. It is the only place that names all
// adapters.
package main

import (
	"os"

	"github.com/agenthost/agenthost/internal/proc"
)

// version is set by the linker (see the Makefile).
var version = "dev"

func main() {
	// A supervisor of one child is this same binary, started by internal/proc;
	// it must become one before anything else happens.
	proc.MaybeShim()
	os.Exit(run(os.Args[1:], &streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
