package adapters

import (
	"encoding/json/jsontext"
	"testing"
)

// The results of rewind and fork as the agents give them; what is in no known form
// asks the host for nothing.
func TestReadRewind(t *testing.T) {
	for result, want := range map[string]struct {
		restart      Point
		conversation bool
		files        string
	}{
		`{"restart":{"resume":"s","resumeAt":"o"},"files":{"filesChanged":["a"]}}`: {Point{"s", "o"}, false, `{"filesChanged":["a"]}`},
		`{"conversation":true,"files":false,"turn":"t"}`:                           {Point{}, true, "false"},
		`{"conversation":false,"files":{}}`:                                        {Point{}, false, "{}"},
		``:                                                                         {},
		`null`:                                                                     {},
		`[1]`:                                                                      {},
		`{"restart":"now"}`:                                                        {},
	} {
		r := ReadRewind(jsontext.Value(result))
		var restart Point
		if r.Restart != nil {
			restart = *r.Restart
		}
		if restart != want.restart || r.Conversation != want.conversation || string(r.Files) != want.files {
			t.Errorf("ReadRewind(%s) = %+v, want %+v", result, r, want)
		}
	}
}

func TestReadFork(t *testing.T) {
	for result, want := range map[string]struct{ fork, at, branch string }{
		`{"newProcess":true,"fork":"s","forkAt":"o"}`: {"s", "o", ""},
		`{"sessionId":"n"}`:                           {"", "", "n"},
		`{"newSessionId":"n","title":"x"}`:            {"", "", "n"},
		`"n"`:                                         {},
		`{"fork":1}`:                                  {},
	} {
		r := ReadFork(jsontext.Value(result))
		if r.Fork != want.fork || r.ForkAt != want.at || r.Branch() != want.branch {
			t.Errorf("ReadFork(%s) = %+v, want %+v", result, r, want)
		}
	}
}
