//go:build unix && !linux

package agentlab

import "errors"

// Isolate reports that there are no network namespaces here.
func Isolate() error { return errors.New("no network namespace: only Linux has them") }

// Isolated reports whether loopback is the only network of this process.
func Isolated() bool { return false }
