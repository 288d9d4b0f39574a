// Package codex runs Codex over its own app-server on stdio, the way its
// editor extensions do: no terminal, no third-party bridge.
//
// # What it speaks
//
// JSON-RPC without the "jsonrpc" member, one message a line, requests in both
// directions. Recorded from 0.171.0; docs/protocol/codex.md says for every
// notification, request and item what becomes of it, and a test compares that
// table with the recordings.
//
// # Guarantees
//
//   - Exactly one turn-end for each turn-start that the Protocol emits. A turn is
//     the root thread's, from turn/started to turn/completed, whether or not anybody
//     asked for it. Work of sub-agents between turns is emitted without a turn-start;
//     the stamper gives it one.
//   - Nothing is allowed without an Answer. A rejection declines, after which the
//     turn goes on; only an ask that nobody decided cancels it. "For the whole
//     session" goes to Codex only when the user chose its memory.
//   - A thread starts with a read-only sandbox; what the mode allows goes along with
//     each turn. So a turn that nobody asked for changes nothing, and Codex does not
//     write that it trusts the directory into the user's configuration.
//   - Text is emitted once, from the completed item; deltas are Live only. What was
//     streamed and never completed is dropped when the request is retried and kept
//     when the turn is cut off.
//   - Usage is what one turn consumed, sub-agents included, never a running total.
//   - Commands that an abort left running are ended.
//   - Every request has a time-out, and an endless reconnect an end.
//
// # Non-goals
//
// The terminal interface of Codex, its session files, exec --json, the server's
// sockets.
//
// # Testing
//
// go test ./adapters/codex replays the recordings of testdata against goldens
// (-update rewrites them), the cases of the bug log, and fuzzes with properties.
// e2e/codex_test.go drives the real CLI.
package codex
