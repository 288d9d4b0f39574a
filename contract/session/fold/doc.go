// Package fold turns a session's stream of v2 envelopes into the session
// contract: events for those who watch, and a transcript for those who come
// late.
//
// # Guarantees
//
//   - A fold is pure: equal envelopes give equal events and transcripts,
//     whether they come one by one as they happen or out of a journal. Deltas
//     (Fold.Delta) change neither.
//   - Ids derive from envelope ids. A user's message has the id of its
//     envelope, an assistant's that of its turn-start, a sub-agent's that of
//     its subagent-start; a sub-agent's session has its agentId. A part has its
//     envelope's id, but the n-th text or reasoning of a message is
//     MESSAGE-text-N or MESSAGE-reasoning-N, which a delta can know before the
//     envelope exists.
//   - A snapshot at position n and the envelopes from n on give what all
//     envelopes give.
//   - No stream panics it. One that breaks the rules of the contract folds into
//     something reasonable: what is said outside a turn gets a message of its
//     own, what was never started is not ended.
//
// # From events to a transcript
//
// A client that appends the messages of message.start, puts parts by id, and
// replaces both with what message.end, part.end and session.updated carry, has
// the transcript. message.end carries the whole message. An error event with a
// message adds that message.
//
// # Non-goals
//
// A fold holds the whole transcript and does not notice an envelope that comes
// twice: positions are the journal's. It is not safe for concurrent use.
//
// # Testing
//
// go test ./contract/session/fold folds the draft's flow and one stream for
// each row of the mapping into golden files (-update writes them), and checks
// the guarantees over generated streams.
package fold
