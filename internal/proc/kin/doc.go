// Package kin finds what belongs to a child process, and ends it: what is below it
// in the process tree, in its group, or carries its marker in the environment.
//
// # Guarantees
//
//   - A signal reaches the process that was found, never one that took over its id,
//     never init and never this process.
//   - EndAll returns when nothing that was found lives any more, or its limits are
//     over; what was found once counts until it is dead.
//
// # Non-goals
//
// It reaps nothing by itself: whose child a process is, and who waits for it, is the
// caller's. Only Linux lists processes (in /proc); elsewhere nothing is found, and
// on Windows the package is empty.
//
// It imports little, and nothing that the standard library makes much ready for: a
// shim (package shim) runs before most packages are initialised.
//
// # Testing
//
// go test ./internal/proc/... on Linux; package proc's tests end real trees.
package kin
