// Package claude runs Claude Code over its own bidirectional stream-json with the
// control protocol, the way its SDK does: no terminal, no third-party bridge.
//
// # What it speaks
//
// One JSON object a line in both directions. Recorded from 2.1.332 and 2.1.44;
// docs/protocol/claude.md says for every type and subtype what becomes of it,
// and a test compares that table with the recordings.
//
// # Guarantees
//
//   - Exactly one turn-end for each turn-start that the Protocol emits. A turn is
//     the main agent's: from the moment it takes up a message (or starts on its own,
//     when background work reports) to its result. Work of background sub-agents
//     between turns is emitted without a turn-start; the stamper gives it one.
//   - A permission is answered with the exact bytes of the input that was asked
//     about, unless a person edited it; nothing is allowed without an Answer, and
//     a rejection never interrupts the turn.
//   - Text is emitted once, from the consolidated message; deltas are Live only.
//     What was streamed and never consolidated is dropped when the request is
//     retried and kept when the turn is cut off.
//   - Usage is what one turn consumed, sub-agents included, never a running total.
//   - A change of configuration is emitted when the CLI confirmed it.
//
// # Its own terminal
//
// The adapter is a TerminalAdapter as well: LaunchTerminal starts the CLI with its
// screen, and the Protocol of NewTerminalProtocol follows the session file it writes
// and the hooks it runs. The file says what was said and in which order; hooks give
// what is to be answered or known at once; the screen is looked at for gates and for
// a free input line. What is typed on behalf of others is typed only when no dialog
// is open or may open.
//
// # Non-goals
//
// What the CLI draws; answering its own questions at a start.
//
// # Testing
//
// go test ./adapters/claude replays the recordings of testdata against goldens
// (-update rewrites them), the cases of the bug log, and fuzzes with properties;
// testdata/terminal are those of the terminal.
// e2e/claude_test.go drives the real CLI.
package claude
