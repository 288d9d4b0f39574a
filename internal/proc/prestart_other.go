//go:build !linux

package proc

// Shim is a shim that was started ahead of the process it is for. Only Linux has
// shims.
type Shim struct{}

// Prestart returns nil: there are no shims here.
func Prestart() *Shim { return nil }

// Close does nothing.
func (s *Shim) Close() {}
