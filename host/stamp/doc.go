// Package stamp turns what agents and people say into valid envelopes. A Stamper
// is the one place that enforces the contract's rules E1 to E10 for a session:
// whatever a Protocol, a client or the machine does, what comes out of it is a
// valid stream of session protocol v2.
//
// # Guarantees
//
//   - Ids are fresh cuid2s, times never decrease (E1).
//   - Turns alternate; each turn-start gets exactly one turn-end, from the agent,
//     from Finish or from Idle (E2). Every agent envelope in a turn carries its
//     id (E3).
//   - Calls are unique in the session, start once, end once, and end before their
//     turn (E4). A permission-request names an open call and gets exactly one
//     permission-response, before that call ends (E5).
//   - Sub-agents' envelopes lie between start and stop; children stop before
//     their parents (E6).
//   - Each event has the role the draft gives it (E7), values JSON cannot hold and
//     empty titles never leave (E9), and nothing an agent says is an error (E10).
//
// # What is done with what does not fit
//
// The Protocols are expected to say things right. Where one does not, the stream
// stays valid and as true as it can be:
//
//   - A turn-start with Prompts while a turn is open ends the former: completed
//     when nobody had prompted it, failed (code protocol) when somebody had. One
//     without Prompts changes nothing: the open turn is used (E6a).
//   - A turn-end when no turn is open, or one of a sub-agent, is dropped.
//   - Activity outside a turn opens an autonomous turn. Its end is the agent's
//     turn-end, the next prompt's turn-start, Finish, or Idle: the host calls Idle
//     when Settled and nothing came for a while. Only service,
//     session-control-changed, agent-configuration-changed and event types this
//     version does not know stand outside turns.
//   - A second start of an open call is dropped (updates are not calls); a start of
//     a call that ended is a new call. A second end is dropped, also turns later (of
//     the newest 4,096 calls). An end without a start, and a permission request for a
//     call nobody announced, get a start. A second request while one is open for the
//     same call gets a call of its own, which ends with the first.
//   - Whatever is open when its call, sub-agent or turn ends is ended first: asks
//     are rejected once, calls are cancelled (error when the turn failed). The host
//     finds these permission-responses in the result and must settle the asks.
//   - An end that comes after the turn that cut its call off tells the outcome of
//     work that went on: it is given as a new call with the old one's title, unless
//     it only says that the call was cancelled.
//   - A sub-agent is stopped with its turn, unless its start said Background
//     (Draft.Background): then it stays open until its stop or Finish, and is nested
//     in its nearest parent of the background only, since nested sub-agents stop
//     first. One that speaks after its stop, or without a start, gets a new start
//     under a new id, and a stop with its turn.
//
// # Concurrency
//
// A Stamper belongs to one session's loop and is not safe for concurrent use. It
// does no I/O; the ids and the time come from Config. What it returns is the
// caller's and is not changed afterwards.
//
// # Non-goals
//
// Deciding asks is the mediator's job, storing is the journal's, prices and cut
// outputs are the host's.
//
// # Testing
//
// go test ./host/stamp runs tables, and property tests in which arbitrary drafts
// and user events pass an independent checker, also over a restore at any point.
package stamp
