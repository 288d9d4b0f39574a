package host

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
)

// A recording of a session whose agent died and was started again says what each
// child was told.
func TestRecordingOfTwoChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		w, err := transcript.NewWriter(&file, transcript.NewHeader("fake", adapters.SessionInfo{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		rec := NewTranscriptRecorder(w, time.Now())
		st, c := opened(t, fakeAdapter{}, func(c *Config) { c.Record = Recorders{rec} })
		c.die(adapters.ExitStatus{Code: 1})
		synctest.Wait()
		st.mustSend(contract.Text{Text: "again"})
		c = <-st.children
		c.want("open")
		c.say("opened native-1")
		c.want("prompt again")
		c.say("done completed")
		st.Idle(t.Context())
		st.end()
		f, err := transcript.Read(&file)
		if err != nil || len(f.Bad) > 0 || rec.Err() != nil {
			t.Fatalf("reading the recording: %v, bad lines %v, recorder %v", err, f.Bad, rec.Err())
		}
		var resumed []string
		exits := 0
		for _, r := range f.Records {
			switch r.Dir {
			case transcript.Exit:
				exits++
			case transcript.Run:
				info, err := r.Run()
				if err != nil || info.ID != st.ID() || info.NativeOpened.IsZero() {
					t.Errorf("run = %+v, %v", info, err)
				}
				resumed = append(resumed, info.Options.Resume)
			}
		}
		if exits != 2 || len(resumed) != 1 || resumed[0] != "native-1" {
			t.Errorf("%d exits, further runs that resume %q; want 2 and one of native-1", exits, resumed)
		}
	})
}
