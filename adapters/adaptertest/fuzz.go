package adaptertest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/agenthost/agenthost/adapters/transcript"
)

// maxFuzzRecords and maxFuzzBytes bound one fuzz input, so that a run tries many.
const (
	maxFuzzRecords = 64
	maxFuzzBytes   = 64 << 10
)

// Fuzz replays mutated transcripts. Whatever they hold: no panic, nothing said
// wrongly, a valid stream after Exit, and not more said than there was to say.
func Fuzz(f *testing.F, s Suite) {
	for _, rec := range s.recordings(f) {
		rec.Records = rec.Records[:min(len(rec.Records), maxFuzzRecords)]
		var b bytes.Buffer
		if err := transcript.Write(&b, rec.File); err != nil {
			f.Fatal(err)
		}
		if b.Len() <= maxFuzzBytes {
			f.Add(b.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzzBytes {
			return
		}
		file, err := transcript.Read(bytes.NewReader(data))
		if err != nil || len(file.Records) > maxFuzzRecords {
			return
		}
		for _, fault := range fuzzFaults(s, recording{"fuzz", file}) {
			t.Error(fault)
		}
	})
}

// hour is in milliseconds. Times in a fuzz input are kept within an hour of each
// other: a Protocol that asks for a tick a second may do so for a year.
const hour = 3_600_000

func fuzzFaults(s Suite, rec recording) []string {
	rec.Records = slices.Clone(rec.Records)
	var last int64
	for i := range rec.Records {
		r := &rec.Records[i]
		r.T = min(max(r.T, last), last+hour)
		last = r.T
		if r.Dir == transcript.Cmd {
			r.Dir = transcript.Note // commands come from the Wire: ids of a fuzzer repeat
		}
	}
	in := 0
	for _, r := range rec.Records {
		in += len(r.Data)
	}
	got := Play(s, rec.File)
	faults := got.Faults
	const fixed, perByte = 64 << 10, 64
	if out := len(said(got)); out > fixed+perByte*in {
		faults = append(faults, "said far more than it heard")
	}
	return faults
}
