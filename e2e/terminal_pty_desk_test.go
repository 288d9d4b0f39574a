package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/relay/wire"
)

// A program of which nothing is known but its screen, on a terminal with real keys, and a
// phone: what is typed at the desk and what the phone sends happen once each, whatever
// befalls the desk. The program is a shell, which counts what it is told.
func TestTerminalPtyAtDesk(t *testing.T) {
	t.Parallel()
	d := atDesk(t, agentlab.New(t), "pty", "--", "sh", "-c", `stty -echo; echo started; n=0; while read -r x; do n=$((n+1)); echo "$n: $x, $(stty size)"; done`)
	n := 0
	told := func(words string) { t.Helper(); n++; d.shows(fmt.Sprintf("%d: %s, ", n, words)) }
	typed := func(words string) {
		t.Helper()
		d.tmux("send-keys", "-t", "lab", "-l", "--", words)
		d.keys("Enter")
		told(words)
	}
	sent := func(words string) {
		t.Helper()
		d.send(words)
		if end := d.s.turnEnd(); end.Status != contract.TurnCompleted {
			t.Errorf("%s ended %+v %+v", words, end, end.Error)
		}
	}
	d.shows("started")
	typed("typed")
	sent("sent")
	told("sent")
	d.keyboardMovesTo(contract.ClientPhone)
	d.keys("n", "o", "Enter")
	d.keys("C-]", "t")
	d.holds(contract.ClientCLI)
	d.loses("holds control")
	typed("the desk again")
	d.resize(70, 24)
	d.sized(70, 24)
	typed("sized")
	d.shows(fmt.Sprintf("%d: sized, 24 70", n))

	wake := suspended(t, d.everything())
	wake()
	typed("awake")

	d.keys("C-]", "d")
	if got := d.exit(); got != 0 {
		t.Errorf("detaching: exit status %d", got)
	}
	sent("away")
	d.attach()
	told("away")
	d.tmux("kill-server")
	sent("closed")
	d.attach()
	told("closed")
	if _, err := d.c.Control(t.Context(), wire.ControlParams{Session: d.id, ClientType: contract.ClientPhone, Face: wire.FaceHeadless}); client.Code(err) != wire.CodeUnsupported || !strings.Contains(err.Error(), "only its screen") {
		t.Errorf("without its screen: %v", err)
	}
	typed("still there")

	// It crashes in a turn, and is started again.
	d.send("the last")
	wait[contract.TurnStart](d.s, nil)
	if _, err := d.c.Send(t.Context(), wire.SendParams{Session: d.id, Text: "steered", Admission: wire.AdmitSteer}); client.Code(err) != wire.CodeUnsupported {
		t.Errorf("a steer: %v, want it refused as %s", err, wire.CodeUnsupported)
	}
	signalled(t, process(t, d.lab(), "-c", func(name string) bool { return name == "sh" || strings.HasSuffix(name, "/sh") }), syscall.SIGKILL)
	d.s.fails(contract.CodeAgentExited)
	n = 0
	sent("anew")
	told("anew")
	typed("at the desk")
	d.keys("C-d")
	d.evening()
}
