package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/host"
)

// withExitCodes makes what goes wrong while a command works, and names no exit
// code, a failure. What is left are cobra's own errors: mistakes in the command
// line; a wrong number of arguments is told with those that are wanted.
func withExitCodes(cmd *cobra.Command) {
	if check := cmd.Args; check != nil && !cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			var p *problem
			if err == nil || errors.As(err, &p) {
				return err
			}
			return usage("see "+cmd.CommandPath()+" --help", "%s: want %s, got %s", cmd.CommandPath(), wanted(cmd), counted(args))
		}
	}
	cmd.SuggestionsMinimumDistance = 2
	if work := cmd.RunE; work != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return failure(work(cmd, args)) }
	}
	for _, sub := range cmd.Commands() {
		withExitCodes(sub)
	}
}

// wanted are the arguments in the use line of cmd.
func wanted(cmd *cobra.Command) string {
	_, list, _ := strings.Cut(strings.TrimSuffix(cmd.Use, " [flags]"), " ")
	return cmp.Or(list, "no arguments")
}

func counted(args []string) string {
	switch len(args) {
	case 0:
		return "none"
	case 1:
		return fmt.Sprintf("%q", args[0])
	}
	return fmt.Sprintf("%d: %q", len(args), args)
}

func failure(err error) error {
	var p *problem
	if err == nil || errors.As(err, &p) {
		return err
	}
	return &problem{code: exitFailed, what: err.Error()}
}

// inputProblem is what was wrong with the input of a run: a prompt that cannot be
// taken is a mistake, input that cannot be read a failure.
func inputProblem(err error) error {
	if errors.Is(err, host.ErrEmptyPrompt) || errors.Is(err, errors.ErrUnsupported) {
		return &problem{code: exitUsage, what: err.Error()}
	}
	return failure(err)
}

// ofTheDisk reports whether err came from the operating system's files.
func ofTheDisk(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	return errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &call)
}
