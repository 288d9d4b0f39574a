// Package shim is the process that stands between a program and one process it
// starts, and sees to it that nothing below it is left when either of them ends.
//
// A program becomes a shim by being started with Variable in its environment, which
// only package proc does: a shim is the program's own executable. Importing this
// package is enough.
//
// # Guarantees
//
//   - A shim starts one process with the streams it is sent, and stands above it as
//     subreaper, so that nothing below can leave. It ends the whole tree when the
//     process ends, when it is told to, and when the socket to the program breaks,
//     which is when the program is gone.
//   - It reports the process's wait status after everything below it is gone.
//   - Signals sent to the shim itself do nothing, but for SIGKILL and SIGSTOP.
//   - The process gets the streams it was sent and no other descriptor.
//
// # Non-goals
//
// It looks into no stream, restarts nothing, and serves one process. Only Linux
// has it; elsewhere the package is empty.
//
// # Start-up
//
// This is one of two packages with an init function (the other is internal/early). A shim needs next to nothing of
// the program that it is started from, but pays for the initialisation of all its
// packages if it becomes a shim in main (docs/decisions/004-start-up-cost.md has the
// numbers). So it becomes one in init, and imports only what is initialised early: no
// package here may import, directly or not, bytes, strings, unicode, fmt, reflect or
// golang.org/x. A test says so.
//
// # Testing
//
// go test ./internal/proc/...: package proc's tests run shims.
package shim
