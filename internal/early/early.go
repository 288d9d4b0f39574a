// Package early answers `agenthost version` before most of the program is there.
//
// Starting the program costs more than the answer: its packages are initialised first,
// which touches hundreds of pages (docs/decisions/004-start-up-cost.md has the numbers).
// So this one answers in an init function, and imports only what is initialised early.
// Importing the package is enough.
//
// # Guarantees
//
//   - It answers exactly `agenthost version`, without a flag, with the line that the
//     command prints, and ends the program with exit code 0. The command is the same
//     function.
//   - In every other case, also when the line cannot be written, it does nothing.
//
// # Non-goals
//
// Any other command: people wait for what those do, not for their start.
//
// # Testing
//
// go test ./internal/early ./cmd/agenthost: the second starts the program and compares.
package early

import (
	"os"
	"runtime"
)

// Version is set by the linker (see the Makefile).
var Version = "dev"

// VersionLine is what `agenthost version` prints.
func VersionLine() string {
	return "agenthost " + Version + " (" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
}

// init answers and does not return, if that is all there is to do. See the package's
// doc for why here.
func init() {
	if len(os.Args) != 2 || os.Args[1] != "version" {
		return
	}
	if _, err := os.Stdout.WriteString(VersionLine()); err == nil {
		os.Exit(0)
	}
	// The command tries again and says what is wrong.
}
