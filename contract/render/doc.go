// Package render writes a session's stream as text that people read: what
// `agenthost run --output text` and `attach` print.
//
// # Guarantees
//
//   - What the main agent says goes to one writer, verbatim; everything else
//     (tools, sub-agents, notices, outcomes) is notes, one line each, and goes
//     to another. Both may be the same.
//   - Text streams as deltas come and is not doubled by the envelope that
//     follows. If deltas were lost on the way, the envelope's text is written
//     whole on a new line: what is there is never wrong, at worst twice.
//   - Each text of the agent ends with a line end, and an empty line stands
//     between two.
//   - Notes hold no control characters, and on a terminal neither does the text,
//     whatever an agent says.
//
// # Non-goals
//
// Markdown of the text is not rendered, but titles become plain (Plain); no cursor movement; asking people is the
// caller's job. A Text is not safe for concurrent use.
//
// # Testing
//
// go test ./contract/render compares golden files (-update writes them).
package render
