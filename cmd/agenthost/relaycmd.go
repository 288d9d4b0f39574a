package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
)

// relayProgram is the relay: a program of its own, so that its storage engine costs
// only those who run it (docs/decisions/003-relay-program.md).
const relayProgram = "agenthost-relay"

func newRelay(st *streams) *cobra.Command {
	return &cobra.Command{
		Use:                "relay [flags]",
		Short:              "Serve as a relay, where hosts and people meet",
		Long:               "Runs the program agenthost-relay, which is beside this one or on the PATH.\nSee agenthost relay --help for its flags.",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := findRelay()
			if err != nil && slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "--help" }) {
				return cmd.Help() // of this command, which says where the flags are
			}
			if err != nil {
				return &problem{code: exitStart, what: err.Error(), mend: "install agenthost-relay beside agenthost (make build makes both)"}
			}
			return become(path, args, st)
		},
	}
}

// findRelay looks beside this program, then on the PATH.
func findRelay() (string, error) {
	name := relayProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			beside := filepath.Join(filepath.Dir(self), name)
			if info, err := os.Stat(beside); err == nil && !info.IsDir() {
				return beside, nil
			}
		}
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("relay: the program agenthost-relay is not installed")
	}
	return path, err
}
