//go:build unix

package kin

import (
	"syscall"
	"time"
)

// EndAll ends what find returns: SIGTERM and a grace unless hurried, then SIGKILL,
// until nothing of it is left or the limit is over.
func EndAll(find func() Family, hurried func() bool, grace, limit time.Duration) {
	found := find()
	// What was found once counts until it is dead: a process that is about to die
	// has lost what it is found by, its environment, some time before.
	again := func() { found = found.living().with(find()) }
	begin := time.Now()
	if len(found) > 0 && !hurried() {
		found.Signal(syscall.SIGTERM)
		for pause := NewPause(); len(found) > 0 && !hurried() && time.Since(begin) < grace; again() {
			pause.Wait()
		}
	}
	begin = time.Now()
	confirmed := len(found) == 0
	for pause := NewPause(); (len(found) > 0 || !confirmed) && time.Since(begin) < limit; again() {
		// One that runs another program at this moment shows no environment, and is
		// not found by it: that nothing is left has to be seen twice.
		confirmed = len(found) == 0
		found.Signal(syscall.SIGKILL)
		pause.Wait()
	}
}

// Pause waits longer each time: most processes are gone within a millisecond.
type Pause struct{ next time.Duration }

// NewPause returns a Pause whose first Wait is the shortest.
func NewPause() *Pause { return &Pause{next: time.Millisecond} }

// Wait waits.
func (p *Pause) Wait() {
	time.Sleep(p.next)
	p.next = min(2*p.next, 50*time.Millisecond)
}
