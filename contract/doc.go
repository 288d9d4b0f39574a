// Package contract defines session protocol v2: the Envelope and its 14 events.
//
// Envelopes are the one durable truth of agenthost. The journal stores them,
// the relay carries them, and every view (the session contract in
// contract/session, the text in contract/render) is a fold over them.
//
// # Guarantees
//
//   - The JSON of an envelope has a stable member order: id, time, role, turn,
//     subagent, origin, ev, then members this version does not know. An event's
//     members follow the order of its Go fields, "t" first. It is one line.
//   - Decode accepts what a newer or sloppier peer writes. Unknown members of
//     every object and unknown event types are kept and come out of Encode
//     again, byte for byte.
//   - Encode writes valid UTF-8 without unpaired surrogates, whatever was put
//     in, inside raw members too. What JSON cannot hold is an error and no
//     bytes.
//   - Decode, Encode and Validate name the path of every fault, what was wanted
//     and what was there.
//   - Values are safe for concurrent use as long as nobody changes them. Decode
//     keeps nothing of the line it was given.
//
// # Checking
//
// Decode checks types and required members, Validate the values of one envelope
// (ids, roles, enumerations, ranges, what carries a turn), the Validator how the
// envelopes of a stream follow each other (E1 to E6).
//
// # Profiles
//
// The extended profile (default) carries optional members beyond the draft, so
// that the session contract can be folded from the stream. Strict leaves them
// out; the result satisfies the draft's tables and nothing more, and a valid
// stream stays valid. The decisions of a permission-response are the same four
// in both profiles; a question is a plain permission-request in the strict one.
//
// # Raw members
//
// Args, Output, Answers, Schema, Extra and Body are JSON as it was written.
// Duplicate names inside them are kept, since nobody here knows what they mean:
// who decides on such a value must refuse it (jsontext.Value.IsValid with its
// defaults tells). With encoding/json/v2 an envelope that has some needs
// jsontext.AllowDuplicateNames; Encode and Decode need nothing.
//
// # Non-goals
//
// Stamping ids, times and turns is host/stamp's job; storing, and that positions
// have no gap (E8), the journal's; translating native agent output the
// adapters'.
//
// # Testing
//
// go test ./contract/... compares the encoder with the reflective one over
// arbitrary envelopes, the JSON Schemas in contract/schema with Validate, runs
// the draft's own examples, and fuzzes decoder and validator.
// contract/contracttest has the generators, for other packages' tests too.
package contract
