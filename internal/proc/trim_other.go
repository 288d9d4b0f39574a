//go:build !linux

package proc

// Trim does nothing: only Linux is told which pages can go.
func Trim() {}
