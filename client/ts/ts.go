// Package ts holds agenthost.d.ts: TypeScript types of what an agenthost daemon or
// relay sends and takes, for pages and programs in that language. They are made of the
// JSON Schemas (relay/wire/wireschema), which are made of the Go types.
//
// Envelopes are contract.Envelope, events of the session contract session.Event, and
// wire.Methods and wire.Pushes say what each method carries.
package ts

import _ "embed" // for the file

//go:generate go run ./gen

// Types is agenthost.d.ts.
//
//go:embed agenthost.d.ts
var Types string
