// Package schema holds the JSON Schemas (draft 2020-12) of the contract, for
// peers in other languages and for documents that refer to them.
//
// They are generated from the Go types, their comments and constants, and from
// contract.Strict; go generate ./contract/schema (or make schema) writes them
// again. A test fails when the committed ones are others.
//
// # What they say
//
// An envelope's schema accepts what contract.Validate accepts of one encoded
// envelope in that profile: members, types, values, ids, roles and the turn. It
// says less in one thing (that the questions of a form have different ids cannot
// be expressed) and more in another: Decode takes null and the empty string for
// an absent member, which agenthost itself never writes. Rules between envelopes
// are contract.Validator's.
package schema

import _ "embed" // for the directives below

//go:generate go run ./gen

// EnvelopeExtended is the schema of an envelope in the extended profile.
// Unknown members and event types pass.
//
//go:embed envelope.extended.schema.json
var EnvelopeExtended string

// EnvelopeStrict is the schema of an envelope in the strict profile: the
// draft's tables and nothing more.
//
//go:embed envelope.strict.schema.json
var EnvelopeStrict string

// Session is the schema of the session contract: an Event, with all types of
// the contract in its $defs.
//
//go:embed session.schema.json
var Session string
