package codex

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// The terminal face: the server of the headless face on a socket, and Codex's own
// screen as one more client of it. The protocol is the same; what differs is that
// somebody else starts turns, answers asks, changes settings and goes from one
// conversation to another. All that is in the files terminal*.go.

var _ adapters.TerminalAdapter = Adapter{}

// DescribeTerminal implements adapters.TerminalAdapter.
func (a Adapter) DescribeTerminal() adapters.Description {
	d := a.Describe()
	for i := range d.Claims {
		if c := &d.Claims[i]; c.Capability == session.CapRewind {
			c.Reason += "; the screen shows what was dropped until the conversation is opened anew there"
		}
	}
	return d
}

// LaunchTerminal implements adapters.TerminalAdapter. The screen is started on the
// thread that the Protocol has opened by then: no message of it is missed, and what
// a session is to be is on no command line.
func (a Adapter) LaunchTerminal(r adapters.TerminalRequest) (adapters.Launch, error) {
	if err := checkOptions(r.Options); err != nil {
		return adapters.Launch{}, err
	}
	if err := checkArgs(r.Args, r.Options.AllowBypass); err != nil {
		return adapters.Launch{}, err
	}
	if err := checkScreenArgs(r.Args); err != nil {
		return adapters.Launch{}, err
	}
	program := a.Describe().Command
	if r.Command != nil {
		program = r.Command
	}
	if slices.Contains(program, "app-server") {
		return adapters.Launch{}, fmt.Errorf("codex: command %q: want the program alone, which is started once as the server and once as the screen", program)
	}
	socket := filepath.Join(r.SocketDir, "codex.sock")
	l := adapters.Launch{
		Argv: slices.Concat(program, []string{"--remote", "unix://" + socket, "-c", "features.daemon_auto_start=false"}, r.Args),
		Env:  logEnv(),
		Pass: passed(),
		Server: &adapters.Server{
			Argv:   slices.Concat(program, []string{"app-server", "--listen", "unix://" + socket}, serverFeatures(), serverArgs(r.Args)),
			Socket: socket, First: true,
		},
	}
	if r.Getenv("TERM") == "dumb" {
		// The screen would ask whether to go on, of a terminal that the host makes.
		l.Env = append(l.Env, adapters.Pair{Name: "TERM", Value: "xterm-256color"})
	}
	return l, nil
}

// serverFeatures are features without the one that a person at the screen may want:
// that Codex stops in the middle of a sentence for a message.
func serverFeatures() []string {
	list := features()
	i := slices.Index(list, "features.instant_interrupt=false")
	return slices.Delete(list, i-1, i+1)
}

// serverArgs are those of a person's arguments that the server understands too:
// settings of the configuration.
func serverArgs(args []string) []string {
	var out []string
	for i, a := range args {
		switch name, _, whole := strings.Cut(a, "="); name {
		case "-c", "--config", "--enable", "--disable":
			out = append(out, a)
			if !whole && i+1 < len(args) {
				out = append(out, args[i+1])
			}
		}
	}
	return out
}

// checkScreenArgs refuses arguments that take the screen away from the server, or
// set what is the session's to set.
func checkScreenArgs(args []string) error {
	for _, a := range args {
		switch name, _, _ := strings.Cut(a, "="); name {
		case "--remote", "--no-daemon", "--worktree", "-C", "--cd", "-s", "--sandbox", "-a", "--ask-for-approval", "--approve-for-me":
			return fmt.Errorf("codex: argument %q: the session's own options say that: %w", a, adapters.ErrUnsupported)
		}
	}
	return nil
}

// NewTerminalProtocol implements adapters.TerminalAdapter.
func (Adapter) NewTerminalProtocol(info adapters.TerminalInfo) adapters.Protocol {
	p := newProtocol(info.SessionInfo)
	p.tui = &tui{asked: map[string]int{}, others: map[string]*other{}, passed: map[string]bool{}}
	return p
}

// tui is what a Protocol knows of the screen beside it, and of what a person may
// do there.
type tui struct {
	// fresh says that the thread was started by us and has no message yet.
	fresh bool
	// typed counts the Keys that were given.
	typed int
	// asked counts how often a request of the server was asked: an answer may get lost
	// with the connection.
	asked map[string]int
	// others are further conversations that are open at the server, by thread; order
	// has them as they became known. next is the one to go to.
	others map[string]*other
	order  []string
	next   string
	// passed are threads that are no conversations, or not looked at yet.
	passed map[string]bool
	// before is the mode that held before one was chosen at the screen, changed when.
	before  contract.PermissionMode
	changed time.Time
	// down says that the connection broke, again that a new one repeats what the
	// server says to each.
	down, again bool
}

// furnishScreen readies the thread for the screen and starts it: a thread without a
// message is not on disk, and no other client can join it.
func (p *protocol) furnishScreen(r reply) {
	r.result = slices.Clone(r.result) // the answers that follow are those of later frames
	p.seenTurns(r.result)
	if !p.tui.fresh {
		p.permit(r)
		return
	}
	p.persist(p.root.id, func(kept reply) {
		if kept.err == nil {
			p.permit(r)
			return
		}
		// A server without sections: a name does the same.
		params := new(object).str("threadId", p.root.id).str("name", "agenthost").value()
		p.request("thread/name/set", params, func(named reply) {
			if named.err != nil {
				p.openFailed(*named.err)
				return
			}
			p.permit(r)
		})
	})
}

// persist makes the server write a thread that has no message yet: it is taken out
// of a section that it is not in, which leaves no trace.
func (p *protocol) persist(thread string, got func(reply)) {
	params := new(object).str("threadId", thread).raw("sectionId", []byte("null")).value()
	p.request("thread/section/move", params, got)
}

// permit gives the thread what the mode allows, since what is typed at the screen
// does not say, and starts the screen.
func (p *protocol) permit(r reply) {
	p.impose(p.root.id, func(imposed reply) {
		if imposed.err != nil {
			p.openFailed(*imposed.err)
			return
		}
		p.step.Effects = append(p.step.Effects, adapters.StartScreen{ID: "screen", Args: []string{"resume", p.root.id}})
		p.opened(r)
	})
}

// impose sets what the mode of the session allows in a thread.
func (p *protocol) impose(thread string, got func(reply)) {
	f := p.facts
	params := new(object).str("threadId", thread).str("approvalPolicy", p.approvalPolicy(f.want)).
		str("approvalsReviewer", "user").raw("sandboxPolicy", p.sandboxPolicy(f.want, f.box))
	if c := p.collaboration(f.want, f.model, f.effort); c != nil {
		params.raw("collaborationMode", c)
	}
	p.facts.configuring++
	p.request("thread/settings/update", params.value(), func(r reply) {
		p.facts.configuring--
		got(r)
	})
}

// staleWait is how soon behind a change of rights a turn begins whose request made it.
// A person is not that fast.
const staleWait = 500 * time.Millisecond

// imposeAgain takes back what no person chose: in a conversation that it has just begun
// the screen may miss what we imposed, and names its own defaults with the first prompt.
// That turn keeps them, and the stream says so; the next one does not. What is stricter
// stays, whoever chose it, and what may come of a prompt of ours is not the screen's.
func (p *protocol) imposeAgain() {
	switch {
	case p.tui.changed.IsZero(), p.now.Sub(p.tui.changed) > staleWait:
		return
	case strictness(p.facts.mode) > strictness(p.tui.before):
		return
	case slices.ContainsFunc(p.inputs, func(in *input) bool { return in.sent }):
		return
	}
	p.facts.want, p.tui.changed = p.tui.before, time.Time{}
	p.impose(p.root.id, func(r reply) {
		if r.err != nil && !r.broken {
			p.notice(contract.ServiceError, r.err.code, "What Codex may do in this conversation is not the session's mode: "+r.err.message)
		}
	})
}

// strictness orders modes by how little they allow. A mixture that is none of ours is
// the strictest when nothing can be changed in it, and the freest otherwise.
func strictness(mode contract.PermissionMode) int {
	switch mode {
	case contract.ModePlan:
		return 3
	case contract.ModeDefault, "":
		return 2
	case contract.ModeAcceptEdits:
		return 1
	}
	if strings.HasSuffix(string(mode), "/"+boxReadOnly) {
		return 4
	}
	return 0
}

// modeThere takes a mode that was chosen at the screen, and says as whose it is told. It
// becomes the session's, and so holds for prompts from elsewhere and for the next child,
// unless it is freer than the session may be or none of its modes: then it is Codex's.
func (p *protocol) modeThere(mode contract.PermissionMode) contract.Role {
	if mode == p.facts.mode {
		return contract.RoleUser
	}
	p.tui.before, p.tui.changed = p.facts.want, p.now
	if known, err := permissionMode(string(mode), p.info.Options.AllowBypass); err == nil {
		p.facts.want = known
		return contract.RoleUser
	}
	p.notice(contract.ServiceNotice, "", fmt.Sprintf(
		"What Codex may do was changed to %s at the terminal. Prompts from elsewhere keep the mode %s.", mode, p.facts.want))
	return contract.RoleAgent
}
