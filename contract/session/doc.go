// Package session defines the platform-owned agent session contract: what web,
// mobile, SDK and MCP clients consume. Names, constants, field order and JSON
// tags are those of the published document, verbatim.
//
// Session, Message, Part and Event are a view. The truth is the stream of v2
// envelopes (package contract); contract/session/fold turns the one into the
// other.
//
// # Discipline
//
//   - 5 part types forever: text, reasoning, tool, file_change, custom.
//   - All tools are a ToolPart discriminated by Name.
//   - Diffs are unified-diff text, not hunk structs.
//   - Cost is for display and never billing.
//   - Agent-specific operations are pass-through until a second adapter
//     validates a typed shape.
//
// # Encoding
//
// The tags are those of encoding/json: its omitempty leaves out false, 0 and
// empty strings alike. With encoding/json/v2 add
// json.OmitEmptyWithLegacySemantics(true) of encoding/json, or zero counts and
// false flags are written out.
//
// # Non-goals
//
// No behaviour beyond the constructors; no agent-specific name.
//
// # Testing
//
// go test ./contract/session compares the package with its copy of the document
// in testdata, in both directions.
package session
