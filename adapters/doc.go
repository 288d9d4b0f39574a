// Package adapters is the seam between the host and the agents it runs. It
// names no agent.
//
// An Adapter says how to launch one kind of agent and makes a Protocol for each
// child process. A Protocol is a pure state machine: it is told what the child
// said (Receive), what a person wants (Submit), what time it is (Tick) and that
// the child is gone (Exit), and answers each with a Step, a value that says what
// to write into the stream, what to write to the child, whom to ask, and when to
// call again. It does no I/O, starts no goroutine, reads no clock and draws no
// random number, so equal calls give equal Steps, and a handshake, a permission
// round trip, an abort or a replay is a golden file.
//
// # Concurrency
//
// The host calls a Protocol from one goroutine, in the order in which things
// happened. Nothing a Protocol returns is changed by it afterwards, and it keeps
// no memory it was given.
//
// # Faults
//
// Nothing a child says may panic a Protocol or end a session: what cannot be
// understood is returned as an error beside a valid Step, counted, kept in the
// native log, and the session goes on.
//
// # Testing
//
// adapters/adaptertest runs recorded transcripts (which adapters/replay plays), a
// conformance suite and fuzz properties against every adapter.
package adapters
