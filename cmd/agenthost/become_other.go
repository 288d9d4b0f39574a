//go:build !unix

package main

import (
	"errors"
	"fmt"
	"os/exec"
)

// become runs another program in place of this one, which waits for it.
func become(path string, args []string, st *streams) error {
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = st.in, st.out, st.err
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &problem{code: exit.ExitCode()}
	}
	if err != nil {
		return fmt.Errorf("starting %s: %w", path, err)
	}
	return nil
}
