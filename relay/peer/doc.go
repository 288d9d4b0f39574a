// Package peer is one connection of the protocol agenthost.v1: JSON-RPC 2.0 over
// WebSocket text frames, or over a pair in memory.
//
// # Guarantees
//
//   - Nothing is dropped and nothing grows without bound: a Call or Notify waits
//     until there is room in the queue (Options.QueueBytes), and a connection whose
//     handler is slow is not read, so that the other side waits in turn.
//   - Order: notifications, calls of methods that Options.Ordered names, and the
//     answers to those arrive in the order in which one goroutine sent them, and are
//     handled one after the other. All else overtakes them: a decision does not wait
//     behind a long transcript.
//   - A message longer than a frame travels as chunks between other messages (see
//     below), up to Options.MessageBytes.
//   - An error of Call is a *wire.Error, the other side's or one of CodeUnknown when
//     the connection broke after the call went out and CodeTimeout when ctx ended
//     then; or it is ErrNotSent, and the other side has seen nothing of it.
//   - A connection without a sign of life for Options.DeadAfter is closed, by the
//     monotonic clock: half-open ones are noticed, jumps of the clock do nothing.
//     Any byte is a sign of life; each side pings.
//   - A panic in a handler is an internal error of that call, and is logged.
//   - Closing takes Options.CloseWait at most.
//
// # Frames
//
// A frame is one JSON-RPC message; batches are refused. A frame that is no message
// is answered with an error whose id is null; Options.Garbage of them close the
// connection. A message over 256 KiB is cut, at any place, and its pieces are sent as
//
//	{"chunk":{"id":7,"seq":0,"last":false,"data":"{\"jsonrpc\":\"2.0\",…"}}
//
// with an id of the sender's, seq from 0 and last with the last one. A frame is a
// chunk when it begins with {"chunk":. Binary frames are not used.
//
// # Deadlocks to avoid
//
// The handler of a notification or of an ordered method must not wait for a Call on
// the same connection: the answer may be behind what is not read yet.
//
// # Non-goals
//
// Who may connect (Origin, Host, tokens) is the caller's of Accept, reconnecting the
// caller's of Dial.
//
// # Testing
//
// go test ./relay/peer: time and faults under testing/synctest with Pipe, the
// WebSocket through a proxy that cuts and stalls, fuzz targets for frames and chunks.
package peer
