// Package replay runs a recorded transcript through a Protocol the way the host
// would have, without an agent: for `agenthost replay`, and for the tests of
// adapters (package adaptertest).
//
// # How a transcript drives a Protocol
//
// The host's own recordings hold every call: commands, frames, ticks, the exit.
// They are replayed as they are. Where the agent was started again its next run
// has a Protocol of its own, and the stream goes on.
//
// A recording of another client holds what that client wrote instead. A Wire
// turns it into the commands that make a Protocol say the like, and readdresses
// the agent's answers: our ids differ from the recorded client's. An answer to a
// request that the Protocol did not make is left out; a request that the
// recording never answers gets the Wire's plainest answer. Both are told as
// notes. The Player behaves like the host between Protocol and agent: it queues
// prompts, settles asks, does effects, calls Tick when a Step asked for it, and
// stamps the drafts with host/stamp.
//
// # Guarantees
//
// Time is the recording's and ids are counted: a replay of the same transcript
// gives the same bytes always. Whatever a transcript holds, a replay ends, its
// stream is ended, and what the Protocol did wrong is a fault of the Result, also
// where the stamper mended it. A Player keeps the transcript's memory and changes
// none of it. It is for one goroutine.
//
// # Non-goals
//
// A replay asks no policy and no person: what was decided is in the recording. It
// starts nothing, writes nothing and does not judge whether an agent behaved.
//
// # Testing
//
// go test ./adapters/replay follows a small agent's recordings and the dialogues
// of each Wire; the golden files of every adapter are replays too.
package replay
