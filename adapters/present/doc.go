// Package present makes the texts that people read on a phone: titles and
// descriptions of tool calls and permission requests, in inline markdown.
//
// # Guarantees
//
//   - A Title is one line of at most 120 graphemes, a Description at most 1,000;
//     both are cut on a grapheme border and never hold a control character, an
//     escape sequence or broken UTF-8.
//   - What came from an agent cannot change how the rest is shown: Code, Bold and
//     Escape disarm markdown, and characters that reorder or hide text (bidi
//     overrides, zero-width marks) become U+FFFD, so that a person sees that
//     something is odd about a command instead of not seeing the command.
//   - The number of bytes is bounded as well: a grapheme can be arbitrarily long.
//
// # Non-goals
//
// What to say is each adapter's business, which keeps one table of tools with
// their titles. Nothing here knows a tool.
//
// Everything is a pure function, safe for concurrent use.
//
// # Testing
//
// go test ./adapters/present holds tables and a fuzz target for the guarantees.
package present
