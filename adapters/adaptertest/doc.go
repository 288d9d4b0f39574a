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
// How a transcript drives a Protocol is in the documentation of package
// adapters/replay, which replays it and knows the Wires.
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
