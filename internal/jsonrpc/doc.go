// Package jsonrpc is a JSON-RPC 2.0 codec as values: it reads and writes single
// messages and keeps the table of requests that wait for an answer. It does no
// I/O, starts no goroutine and reads no clock, so that the protocols built on it
// stay pure.
//
// # Guarantees
//
//   - An id is kept as the bytes it was written in: 0, -1, "abc", null and
//     9007199254740993 come back exactly as they came.
//   - What real peers get wrong is accepted: no "jsonrpc" member (Codex), an
//     answer whose integer id is a string, an answer with neither result nor
//     error, error codes of any size (HTTP numbers), error data of any type,
//     batches.
//   - What is written is one line of valid UTF-8 without unpaired surrogates,
//     provided that raw JSON passed in comes from rawjson.Value.Clean or is
//     strict already. Only SplitBatch and Parse take untrusted bytes.
//
// # Non-goals
//
// Connections, ordering and dispatch: the session loop handles one message after
// the other, and that is all the order there is.
//
// # Testing
//
// go test ./internal/jsonrpc holds tables and a fuzz target.
package jsonrpc
