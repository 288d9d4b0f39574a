package agentlab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Leftovers are the processes that live and belong to the lab: those that have
// its marker in the environment they were started with, or that work in one of its
// directories (a process may have cleared its environment). Zombies are over and
// do not count. The caller itself is left out.
func (l *Lab) Leftovers() ([]Process, error) {
	return find(l.mark(), l.holds)
}

// find returns the living processes that have mark, as NAME=value, in the
// environment they were started with, or whose link to their working directory
// satisfies also, which may be nil.
func find(mark string, also func(link string) bool) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue // over, or somebody else's
		}
		marked := slices.Contains(strings.Split(string(environ), "\x00"), mark)
		if !marked && (also == nil || !also(filepath.Join(dir, "cwd"))) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
		found = append(found, Process{PID: pid, Args: args, Marked: marked})
	}
	return found, nil
}

// holds reports whether a link leads into the lab's directory.
func (l *Lab) holds(link string) bool {
	dir, err := os.Readlink(link)
	return err == nil && (dir == l.root || strings.HasPrefix(dir, l.root+"/"))
}

// killTime bounds how long killMarked looks for processes that appear while
// others die.
const killTime = 3 * time.Second

// killMarked ends the processes that have mark in their environment, and those
// they start meanwhile. One that only works in a lab's directory is spared: it may
// be the shell of somebody who is looking around.
func killMarked(mark string) error {
	deadline := time.Now().Add(killTime)
	for {
		left, err := find(mark, nil)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("killing what is left: %v will not die", left)
		}
		for _, p := range left {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("killing %v: %w", p, err)
			}
		}
		time.Sleep(pollTime)
	}
}
