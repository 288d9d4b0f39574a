// Package wire is the protocol agenthost.v1 as values: what hosts, relays and
// viewers say to each other.
//
// One protocol is spoken in three places: host to relay (the uplink), viewer to
// relay, and viewer to host (the daemon's local socket). It is JSON-RPC 2.0 over
// WebSocket text frames, and for simple clients HTTP with server-sent events.
//
// # Guarantees
//
//   - An envelope travels as the bytes that the journal has; nobody on the way
//     decodes and encodes it again.
//   - A Position is the index of an envelope in its session's journal, from 0,
//     without gaps, the same at the host, at every relay and at every viewer. So a
//     cursor is one number, sending a batch again is harmless, and a gap is seen.
//   - Every method is in Methods with who may call it and the scope it needs; what
//     is not there is refused by name.
//   - Unknown members of params are ignored, unknown values of enumerations are
//     refused by whoever has to act on them.
//   - Caller is what the receiving side knows of the sender: it is set by whoever
//     authenticated the connection, and never taken from a viewer's params.
//
// # Non-goals
//
// Connections (package peer), who may do what with which session (the server's
// tokens), storing.
//
// # Testing
//
// go test ./relay/wire holds tables, examples of every method and a fuzz target.
package wire
