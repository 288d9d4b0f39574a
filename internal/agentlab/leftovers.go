//go:build unix

package agentlab

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A Process is a process of a lab.
type Process struct {
	PID  int
	Args []string
	// Marked is set when the process was started with the lab's environment.
	Marked bool
}

// String is the process for messages, its command line cut.
func (p Process) String() string {
	line := strings.Join(p.Args, " ")
	if len(line) > 120 {
		line = line[:120] + "…"
	}
	return fmt.Sprintf("%d %q", p.PID, line)
}

// pollTime is how often processes are looked at; there is no event for "somebody
// else's grandchild ended".
const pollTime = 50 * time.Millisecond

// AwaitNone waits until no process of the lab is left. When ctx ends first it
// returns those that are.
func (l *Lab) AwaitNone(ctx context.Context) ([]Process, error) {
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for {
		left, err := l.Leftovers()
		if err != nil || len(left) == 0 {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return left, nil
		}
	}
}
