package claude

import (
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

var _ adapters.TerminalAdapter = Adapter{}

// DescribeTerminal implements adapters.TerminalAdapter.
func (a Adapter) DescribeTerminal() adapters.Description {
	d := a.Describe()
	d.Tested = []string{"2.1.332"}
	d.Claims = terminalClaims()
	return d
}

// terminalClaims are the claims of the terminal face.
func terminalClaims() []adapters.Claim {
	return []adapters.Claim{
		{Capability: session.CapSteer, Supported: true, Reason: "typed while a turn runs; never while a permission dialog may open"},
		{Capability: session.CapQueue, Supported: true},
		{Capability: session.CapRewind, Reason: "in its own terminal Claude Code goes back by its /rewind menu alone"},
		{Capability: session.CapFork, Supported: true, Reason: "by a new process"},
		{Capability: session.CapStash, Reason: "Claude Code has no such operation"},
		{Capability: session.CapDiff, Supported: true, Reason: "of its edit tools; what shell commands change is not told"},
		{Capability: session.CapReasoning, Supported: true, Reason: "whole blocks, nothing while they are made"},
	}
}

// NewTerminalProtocol implements adapters.TerminalAdapter.
func (Adapter) NewTerminalProtocol(info adapters.TerminalInfo) adapters.Protocol {
	return newTerminal(info)
}

// terminal translates for one process of the CLI that shows its own screen.
//
// Its sources, and what each is for:
//
//   - The session file is what was said: texts, calls and their results, prompts,
//     compactions, the end of a turn. Its lines give the order of the stream.
//   - Hooks are what is to be answered or known at once: permission requests, the
//     path of the file, that a prompt was taken, that a turn ended. They name what
//     the file tells some milliseconds later, and say nothing that it says too.
//   - The screen is looked at for two things only: whether something stands in the
//     way (a question at the start), and whether the input line is free.
//
// It is a protocol that hears the same things by another way: the records of the
// file have the form of the messages of stream-json, or are put into it.
type terminal struct {
	*protocol

	// born is the time of Open. Older records are history.
	born  time.Time
	files files
	seen  records
	hooks hooks
	typed typist
	watch display
	crew  crew
	ends  ending
}

var _ adapters.Protocol = (*terminal)(nil)

func newTerminal(info adapters.TerminalInfo) *terminal {
	t := &terminal{protocol: newProtocol(info.SessionInfo)}
	t.answering = t.answerHook
	t.seen.init()
	t.hooks.init()
	t.crew.init()
	return t
}

// Capabilities implements adapters.Protocol.
func (t *terminal) Capabilities() []session.Capability { return adapters.Supported(terminalClaims()) }

// ready says that the session runs: its hooks answer and its file is known.
func (t *terminal) ready() bool { return t.files.native != "" && !t.files.over }

// hookTimeouts of the hooks that a person is asked by, and of the others, in
// seconds. When the first is hit the CLI goes on with its own dialog, which has
// been open all the while; when the second is, without what was told.
const (
	askTimeout  = 24 * 60 * 60
	hookTimeout = 30
)

// byUser is a draft of what a person did at the terminal.
func byUser(ev contract.Event) adapters.Draft {
	return adapters.Draft{Role: contract.RoleUser, Event: ev}
}
