// Package e2e holds the end-to-end tests: the agenthost binary with the real
// agents, against a scripted model, in a network namespace that has only
// loopback.
//
// Each test drives the binary as a person or a program does: its command line,
// envelopes on standard input, the stream on standard output. Every stream must
// pass `agenthost validate`, extended and strict, and no process of a session may
// outlive it.
package e2e
