//go:build !linux

package policy

// straight reports whether no part of the absolute, clean path that exists is a
// symlink. False says nothing.
func straight(string) bool { return false }
