// Package rawjson reads JSON that other programs wrote, member by member, without
// decoding it into types, and mends what strict readers refuse.
//
// Agents send members of unexpected types, duplicate names, raw bytes that are no
// UTF-8 and halves of surrogate pairs. Decoding into structs loses a whole message
// for one such member; here each member is asked for by name and type, and what
// does not fit is absent.
//
// # Guarantees
//
//   - Parse accepts exactly what RFC 8259 calls a JSON text, with duplicate names
//     (the last one counts, as in JavaScript), invalid UTF-8 and unpaired
//     surrogates allowed.
//   - Nothing panics on a Value that came from Parse, or on the zero Value.
//   - Clean and Text give valid UTF-8 without unpaired surrogates.
//   - A Value aliases the bytes given to Parse; Clean, Text and Wobbly copy.
//
// # Non-goals
//
// No writing beyond AppendString, no numbers beyond int64 and float64.
//
// # Testing
//
// go test ./internal/rawjson holds tables and a fuzz target that compares with
// encoding/json.
package rawjson
