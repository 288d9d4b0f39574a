package replay

import (
	"slices"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
)

// twoFaced remembers which Protocols were made.
type twoFaced struct {
	puppet
	made *[]string
}

func (a twoFaced) DescribeTerminal() adapters.Description { return a.Describe() }

func (a twoFaced) LaunchTerminal(r adapters.TerminalRequest) (adapters.Launch, error) {
	return adapters.Launch{Argv: []string{"puppet", r.SocketDir, r.Getenv("HOME")}}, nil
}

func (a twoFaced) NewProtocol(info adapters.SessionInfo) adapters.Protocol {
	*a.made = append(*a.made, "headless")
	return a.puppet.NewProtocol(info)
}

func (a twoFaced) NewTerminalProtocol(info adapters.TerminalInfo) adapters.Protocol {
	*a.made = append(*a.made, "terminal")
	if !slices.Equal(info.Launch.Argv, []string{"puppet", "/run/agenthost", "/home/u"}) || info.Getenv("HOME") != "/home/u" {
		*a.made = append(*a.made, "with another launch")
	}
	return a.puppet.NewProtocol(info.SessionInfo)
}

// A session that was handed over is played with the Protocol of each child's face; one
// of an agent without that face with the one it has.
func TestFaces(t *testing.T) {
	f := recorded(t, "0 open o", "0 out done:o", "3 exit")
	f.Header.Face = adapters.FaceTerminal
	second := recorded(t, "10 open o", "10 out done:o", "14 exit")
	f.Records = slices.Concat(f.Records, []transcript.Record{transcript.RunRecord(9, adapters.SessionInfo{})}, second.Records,
		[]transcript.Record{transcript.RunRecord(19, adapters.SessionInfo{Face: adapters.FaceTerminal})})
	var made []string
	if got := Play(Config{Adapter: twoFaced{made: &made}}, f); len(got.Faults) > 0 {
		t.Errorf("faults = %q, want none", got.Faults)
	}
	if want := []string{"terminal", "headless", "terminal"}; !slices.Equal(made, want) {
		t.Errorf("Protocols = %q, want %q", made, want)
	}
	if got := Play(Config{Adapter: puppet{}}, f); len(got.Faults) > 0 {
		t.Errorf("faults = %q of an agent without a screen, want none", got.Faults)
	}
}
