package leaktest

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

func held(stop chan struct{}) { <-stop }

func TestLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	stop := make(chan struct{})
	go held(stop)
	runtime.Gosched()
	if got := mentioning([]string{"leaktest.held"}); len(got) != 1 || !strings.Contains(got[0], "held") {
		t.Errorf("of one that stays there are %d stacks", len(got))
	}
	if runtime.NumGoroutine() <= before || len(mentioning(nil)) == 0 {
		t.Error("without names it is not counted")
	}
	close(stop)
	if got := Left("leaktest.held"); got != "" {
		t.Errorf("it has ended, and is told of:\n%s", got)
	}
	if got := left(before, nil); got != "" {
		t.Errorf("it has ended, and is counted:\n%s", got)
	}
}

func TestFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, c := range []struct{ leaves, code, want int }{{0, 0, 0}, {1, 0, 1}, {1, 7, 7}, {0, 7, 7}} {
		got := Files(func() int {
			if c.leaves > 0 {
				if _, err := os.MkdirTemp("", "left"); err != nil {
					t.Fatal(err)
				}
			}
			return c.code
		})
		if got != c.want {
			t.Errorf("Files of tests that end with %d and leave %d = %d, want %d", c.code, c.leaves, got, c.want)
		}
	}
}
