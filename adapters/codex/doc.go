// Package codex runs Codex over its own app-server, the way its editor extensions
// do: headless on stdio, or on a socket beside Codex's own screen, which is then one
// more client of the same server.
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
// Beside the screen, too (files terminal*.go):
//
//   - What is typed there begins or joins a turn like what comes from elsewhere: one
//     turn-start for each, and the first message is seen.
//   - The first answer to an ask counts, whoever gave it. Of one given at the screen
//     the server tells no more than that; how it was decided is told when it shows.
//   - Nothing is answered on behalf of the person at the screen: what is not about the
//     session's turn is left to it.
//   - A prompt from elsewhere asks as the session's mode says, whatever was chosen at
//     the screen.
//   - The session goes where the person goes: to a conversation that is begun, resumed
//     or branched off there, with the session's mode.
//   - A connection that breaks loses nothing and doubles nothing, within twenty turns.
//
// # Non-goals
//
// What the screen shows, Codex's session files, exec --json, servers of others.
//
// # Testing
//
// go test ./adapters/codex replays the recordings of testdata against goldens
// (-update rewrites them), the cases of the bug log, and fuzzes with properties.
// e2e/codex_test.go drives the real CLI, e2e/terminal_codex_test.go with its screen.
package codex
