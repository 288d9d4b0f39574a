// Package adaptertest tests adapters against recorded transcripts: golden files,
// a conformance suite and fuzz properties, one for all adapters.
//
// A test of an adapter is a few lines:
//
//	func suite() adaptertest.Suite {
//		return adaptertest.Suite{Adapter: gemini.New(), Wire: adaptertest.ACP()}
//	}
//	func TestGolden(t *testing.T)  { adaptertest.Golden(t, suite()) }
//	func TestConform(t *testing.T) { adaptertest.Conform(t, suite()) }
//	func FuzzProtocol(f *testing.F) { adaptertest.Fuzz(f, suite()) }
//
// and transcripts in testdata/transcripts/*.jsonl (package transcript).
//
// # How a transcript drives a Protocol
//
// The host's own recordings hold every call: commands, frames, ticks, the exit.
// They are replayed as they are.
//
// A recording of another client holds what that client wrote instead. A Wire
// turns it into the commands that make a Protocol say the like, and readdresses
// the agent's answers: our ids differ from the recorded client's. An answer to a
// request that the Protocol did not make is left out; a request that the
// recording never answers gets the Wire's plainest answer. Both are listed as
// notes at the head of the golden file. The runner behaves like the host between
// Protocol and agent: it queues prompts, settles asks, does effects, calls Tick
// when a Step asked for it, and stamps the drafts with host/stamp.
//
// Time is the recording's, ids are counted: a replay gives the same bytes always.
//
// # Golden files
//
// Golden writes testdata/golden/NAME.steps.jsonl (each call that did something,
// with its Step), NAME.envelopes.jsonl (the stream) and NAME.transcript.json (what
// the stream folds to) with -update, and compares otherwise. Read the diff before
// you commit it.
//
// # Testing
//
// go test ./adapters/adaptertest runs the suite on a small agent of its own, and
// on broken variants of it that the suite must catch.
package adaptertest
