//go:build unix && !linux

package kin

import "syscall"

// Family is empty here: there is no portable list of processes. What left the
// process group stays.
type Family []struct{}

// Signal does nothing: there is nobody.
func (Family) Signal(syscall.Signal) {}

// Reap does nothing: what lost its parent is init's.
func (Family) Reap() {}

func (f Family) living() Family { return f }

func (f Family) with(Family) Family { return f }

// Descendants finds nothing.
func Descendants(...int) Family { return nil }

// Survivors finds nothing.
func Survivors(int, string, string, Family) Family { return nil }
