package leaktest

import (
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
