package gateway_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain checks in the end that no goroutine is left.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftGoroutines(); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+left)
		code = 1
	}
	os.Exit(code)
}

func leftGoroutines() string {
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		var left []string
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for stack := range strings.SplitSeq(string(stacks), "\n\n") {
			if (strings.Contains(stack, "agenthost/relay/") || strings.Contains(stack, "coder/websocket")) && !strings.Contains(stack, "TestMain") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return strings.Join(left, "\n\n")
		}
	}
}
