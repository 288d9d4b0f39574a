package screen

import "time"

// alarm calls a function later, again and again on one timer. It is guarded by Hub.mu.
type alarm struct{ timer *time.Timer } // nil before the first

// set has f called after d, in a goroutine of its own. It is always the same f.
func (a *alarm) set(d time.Duration, f func()) {
	if a.timer == nil {
		a.timer = time.AfterFunc(d, f)
	} else {
		a.timer.Reset(d)
	}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
