// Package proc starts one child process over pipes or on a terminal, talks to it by
// lines or keys, and leaves nothing of it behind.
//
// # Guarantees
//
//   - Lines arrive in the order each stream was written. Nothing is dropped but a
//     line longer than Spec.MaxLine, and that is told with one Line that says so.
//   - The consumer of Lines sets the pace: what it doesn't take stays in the pipe
//     and, when that is full, stops the child.
//   - Write never blocks. A child that doesn't read its input can't stop us from
//     reading its output.
//   - The exit is decided by waiting for the process, never by the end of a
//     stream: a grandchild that holds stdout can't keep the child alive, a child
//     that closes its stdout can't seem dead.
//   - When the child has exited, everything it started has too, before Done is
//     closed: its process group, and on Linux also what left the group or the
//     session.
//   - With Spec.Supervise on Linux the same holds when this process is killed
//     with SIGKILL: a shim stands between it and the child (see package shim, and
//     Prestart for one that is started ahead), and also when the shim is killed.
//     Without, the direct child dies with this process on Linux
//     (PR_SET_PDEATHSIG), and on Windows the whole job does.
//   - A child on a terminal (Spec.Terminal) has it as its controlling one. What it
//     wrote is read to its end, in the order it was written and unchanged; its reader
//     sets the pace. Close ends a Read that waits.
//   - Stop, Kill and Close are idempotent, safe for concurrent use, and bounded.
//
// # Ownership
//
// Start takes Spec by value and keeps its slices; don't change them after.
// Line.Data belongs to the receiver; Write copies. Whoever calls Start receives
// from Lines until it is closed, or calls Close, which throws away what is left.
//
// # Non-goals
//
// No protocol, no restart policy, and no idea of what is on a terminal's screen. Windows
// and macOS compile and end what they can: on macOS the process group, so that a
// descendant that called setsid survives; on Windows the job, without a polite signal,
// and there are no terminals.
//
// # Testing
//
// go test ./internal/proc runs real processes (bash and coreutils) and re-executes the test
// binary as shim. GOOS=darwin go vet and GOOS=windows go vet keep the other
// platforms compiling.
package proc
