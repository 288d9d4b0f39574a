package transcript_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
)

// FuzzRead: whatever the bytes, reading does not panic, and what was read is
// written and read again unchanged.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"transcript":1,"agent":"x","options":{"model":"m"}}` + "\n" + `{"t":1,"d":"out","m":{"a":1}}`))
	f.Add([]byte(`{"transcript":1}` + "\n" + `{"t":1,"d":"out","raw":"\u0000"}` + "\n" + `{"t":2,"d":"b","b64":"/w=="}`))
	f.Add([]byte(`{"transcript":1}` + "\n" + `{"t":9,"d":"exit","m":{"code":1}}` + "\n" + `{`))
	for _, c := range commands() {
		var b bytes.Buffer
		if err := transcript.Write(&b, transcript.File{Records: []transcript.Record{transcript.CommandRecord(1, c)}}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := transcript.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		for i, r := range first.Records {
			if i > 0 && r.T < first.Records[i-1].T {
				return // the Writer raises it: no round trip
			}
		}
		var b bytes.Buffer
		if err := transcript.Write(&b, first); err != nil {
			return // a header that JSON cannot hold, such as broken UTF-8
		}
		second, err := transcript.Read(&b)
		if err != nil || len(second.Bad) > 0 {
			t.Fatalf("reading back: %v, %v", err, second.Bad)
		}
		if len(first.Records) != len(second.Records) {
			t.Fatalf("records = %d after a round trip, want %d", len(second.Records), len(first.Records))
		}
		for i, r := range first.Records {
			got := second.Records[i]
			if got.Dir != r.Dir || got.T != max(r.T, 0) || got.Dropped != r.Dropped || got.ID != r.ID || got.File != r.File || got.Reconnected != r.Reconnected || !bytes.Equal(got.Data, r.Data) {
				t.Fatalf("record %d = %+v after a round trip, want %+v", i, got, r)
			}
			command, err := r.Command()
			if err != nil {
				continue
			}
			again, err := transcript.CommandRecord(r.T, command).Command()
			if err != nil || !sameCommand(again, command) {
				t.Fatalf("command = %#v, %v after a round trip, want %#v", again, err, command)
			}
		}
	})
}

// sameCommand compares commands; JSON of a command need not be valid in a file
// that somebody else wrote, and is then left out.
func sameCommand(a, b adapters.Command) bool {
	x, y := transcript.CommandRecord(0, a), transcript.CommandRecord(0, b)
	return reflect.DeepEqual(x, y)
}
