// Package store keeps what a relay knows on NATS JetStream: the envelopes of each
// tenant's sessions, the metadata of sessions and hosts, messages for hosts that are
// away, uploaded files, tokens and pairing codes.
//
// # Layout
//
// Each tenant has streams and a bucket of its own, named after it, so that nothing
// has to be filtered to keep tenants apart: env_T (subjects env.T.SESSION), in_T
// (in.T.HOST), up_T (up.T.REF) and the bucket kv_T. The bucket auth is the relay's.
//
// A message of env_T holds one batch of envelopes as their journal lines, joined by
// line feeds, with the position of the first and their number in headers. An envelope
// longer than a message stands in several, each with its part's number; the last one
// counts it. So the position of every envelope is known without an index, and a
// position is found by a binary search over the stream.
//
// # Guarantees
//
//   - What Append returned is stored, on the disks of a majority in a cluster.
//   - Positions have no gap and no double, whoever appends: a batch is published on
//     the condition that the session's last message is the one it follows, so two
//     relay processes cannot write one session past each other.
//   - Read gives what is stored from a position on and then what comes, without a
//     gap; what retention took is told by a Reset. It pulls; its memory is bounded.
//   - Tokens and codes are stored as hashes. A code is redeemed once, also when two
//     processes try.
//
// # Non-goals
//
// Connections to hosts and viewers (package server), deciding who may do what.
//
// # Testing
//
// go test ./relay/store runs against an embedded server in a directory of the test.
package store
