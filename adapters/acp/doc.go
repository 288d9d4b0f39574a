// Package acp translates the Agent Client Protocol (version 1 on the wire) for
// every agent that speaks it over its standard input and output.
//
// An AgentSpec says what is particular about one agent: its command, its names
// for tools and modes, and its deviations. Known lists the agents this package
// knows; New makes an adapter of a spec, Custom one for any other command. An
// agent that needs more than data, like Gemini CLI, fills in Hooks and is an
// adapter of its own package.
//
// # Guarantees
//
//   - Text chunks of one message become one text envelope, in order, also when
//     100,000 arrive; a long message is cut at line breaks, so that memory stays
//     bounded. A character cut by a chunk border is joined.
//   - A tool call has one start and one end, whatever the agent leaves out. The
//     start waits for the call's input, for a bounded time.
//   - History that an agent replays never becomes envelopes.
//   - A permission is answered once. Allow picks the narrowest option of the kind
//     that was decided; what is not known to be narrow is never picked, and
//     "always" is left to the host's own memory unless the setting "remember" is
//     "agent".
//   - Exactly one session/cancel per turn; a turn that does not end then is ended
//     as cancelled, and the child is given up.
//   - After Exit no turn, call, sub-agent or ask is open.
//
// # Paths
//
// Paths of file changes are relative to the session's directory when they are
// inside it, with slashes, else absolute.
//
// # Settings
//
// Options.Settings knows "auth" (the id of the login method to use when the agent
// asks for a login), "remember" ("agent": use the agent's own memory for
// allow-always), "stall" (a duration, 0 for never) and
// "cancel-wait" (a duration).
//
// # Non-goals
//
// ACP version 2 (a draft), HTTP transports, client-side agents chained by proxies.
//
// # Testing
//
// go test ./adapters/acp replays recordings of real agents, has a test for each
// deviation (tolerate_test.go) and for each public bug that concerns ACP, and
// talks to an independent implementation of the protocol.
package acp
