// Package contract defines session protocol v2: the Envelope and its 14 events.
//
// Envelopes are the one durable truth of agenthost. The journal stores them,
// the relay carries them, and every view (the session contract in
// contract/session, the text output of the command line) is a fold over them.
//
// # Guarantees
//
//   - The JSON of an envelope has a stable member order: id, time, role, turn,
//     subagent, origin, ev, then members this version does not know. An event's
//     members follow the order of its Go fields, "t" first.
//   - Decode accepts what a newer peer writes: unknown members and unknown event
//     types are kept and come out of Encode again, byte for byte.
//   - Encode writes valid UTF-8 without unpaired surrogates, whatever was put in.
//   - Validate names the path, the type found and what was wanted.
//
// # Profiles
//
// The extended profile (default) carries optional members beyond the draft, so
// that the session contract can be folded from the stream. Strict leaves them
// out; the result satisfies the draft's tables and nothing more.
//
// # Non-goals
//
// Stamping ids, times and turns is contract/stamp's job; storing is the
// journal's; translating native agent output is the adapters'.
//
// # Testing
//
// go test ./contract/... compares the types with the generated JSON Schema in
// contract/schema, round-trips arbitrary envelopes and fuzzes the decoder.
package contract
