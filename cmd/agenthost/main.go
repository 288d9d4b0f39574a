// Command agenthost runs coding agents, turns what they say into one stream of
// session protocol v2 envelopes, and lets a person decide what they may do.
//
// This package is flags, wiring and output. It is the only place that names all
// adapters.
package main

import (
	"os"

	"github.com/agenthost/agenthost/internal/early"
)

// version is the one that the linker sets. Package early has answered already, and this
// package is not there, when it is all that was asked.
var version = early.Version

func main() {
	os.Exit(run(os.Args[1:], &streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
