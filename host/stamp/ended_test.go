package stamp

import (
	"strconv"
	"testing"
)

func TestEndedCallsAreBounded(t *testing.T) {
	e := endedCalls{newer: map[callKey]string{}}
	for i := range 10 * maxEnded {
		id := strconv.Itoa(i)
		e.add(callKey{native: id}, id)
		e.add(callKey{native: "0"}, "0")
	}
	for _, c := range []struct {
		age  int
		want bool
	}{{1, true}, {maxEnded - 1, true}, {2*maxEnded + 1, false}} {
		id := strconv.Itoa(10*maxEnded - c.age)
		if got := e.get(callKey{native: id}); (got == id) != c.want {
			t.Errorf("the call that ended %d calls ago is %q, want it known: %t", c.age, got, c.want)
		}
	}
	if e.get(callKey{native: "0"}) != "0" {
		t.Error("a call that ends again and again is forgotten")
	}
	if n := len(e.newer) + len(e.older); n > 2*maxEnded {
		t.Errorf("%d calls are remembered, want at most %d", n, 2*maxEnded)
	}
}
