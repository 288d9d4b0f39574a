package acp

import (
	"strconv"
	"strings"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// subagents are the sub-agents an agent lets us see: by a mark on their tool
// calls (claude-agent-acp, copilot), or as sessions of their own.
type subagents struct{ list []*subagent }

type subagent struct {
	id      string // native: an agent id, the parent's call id or a session id
	key     string // id, made different when it runs again
	runs    int
	session bool
	title   string
	about   string // what kind of sub-agent it is
	prompt  string // what it was told, report what it told at its end
	report  string
	parent  string // the call that spawned it, empty when not known
	within  string // the sub-agent that spawned it
	running bool
	ownCall bool // parent is ours: the agent announced none
	// reportBy is when to end that call without a report, zero while it runs.
	reportBy time.Time
}

func (s *subagents) find(id string) *subagent {
	for _, x := range s.list {
		if x.id == id || x.key == id {
			return x
		}
	}
	return nil
}

// isSession reports whether a session id is that of a sub-agent.
func (s *subagents) isSession(id string) bool {
	x := s.find(id)
	return x != nil && x.session && id != ""
}

// of is the sub-agent that a tool call belongs to, empty for the main agent.
func (s *subagents) of(p *Protocol, u rawjson.Value) string {
	meta := u.Get("_meta")
	if parent := meta.Get("claudeCode", "parentToolUseId").Text(); parent != "" {
		return s.add(p, parent, p.calls.find(parent))
	}
	if id := meta.Get("github.com/copilot", "agentId").Text(); id != "" {
		return s.add(p, id, nil)
	}
	return ""
}

func (s *subagents) add(p *Protocol, id string, parent *call) string {
	if x := s.find(id); x != nil {
		return x.id
	}
	if parent == nil {
		parent = s.spawner(p)
	}
	x := &subagent{id: id}
	if parent != nil {
		x.parent, x.within, x.title = parent.id, parent.subagent, parent.title
	}
	s.list = append(s.list, x)
	return id
}

// spawner is the first open call that can have spawned a sub-agent and has none.
func (s *subagents) spawner(p *Protocol) *call {
next:
	for _, c := range p.calls.list {
		if p.canonical(c) != "task" {
			continue
		}
		for _, x := range s.list {
			if x.parent == c.id {
				continue next
			}
		}
		return c
	}
	return nil
}

// begin starts the sub-agent that id names when it does not run, and returns its
// key for envelopes.
func (s *subagents) begin(p *Protocol, id string) string {
	x := s.find(id)
	if id == "" || x == nil {
		return ""
	}
	if x.running {
		return x.key
	}
	within := s.begin(p, x.within)
	if !x.reportBy.IsZero() { // it begins anew before it reported
		s.reported(p, x)
	}
	x.running, x.key = true, x.id
	if x.runs++; x.runs > 1 {
		x.key += "#" + strconv.Itoa(x.runs)
	}
	if x.parent == "" || x.ownCall {
		s.task(p, x)
	}
	if parent := p.calls.find(x.parent); parent != nil {
		p.startCall(parent)
	}
	p.emitFor(within, contract.SubagentStart{AgentID: x.key, Title: x.title, Call: x.parent})
	return x.key
}

// task makes the tool call for a sub-agent whose agent announces none: agents that
// show a sub-agent as a session leave out the call that spawned it.
func (s *subagents) task(p *Protocol, x *subagent) {
	x.ownCall, x.parent = true, "task-"+x.key
	c := p.newCall(x.parent, x.within, nil)
	c.native, c.title, c.kind = "task", x.title, "think"
	c.input = encode(struct {
		Description string `json:"description"`
		Agent       string `json:"subagent_type,omitzero"`
		Prompt      string `json:"prompt,omitzero"`
	}{x.title, x.about, x.prompt})
	x.report = ""
}

// stop ends a sub-agent after its calls and the sub-agents within it.
func (s *subagents) stop(p *Protocol, x *subagent) {
	if !x.running {
		return
	}
	for _, y := range s.list {
		if y.within == x.id && y != x {
			s.stop(p, y)
		}
	}
	for _, c := range append([]*call(nil), p.calls.list...) {
		if c.subagent == x.id {
			p.startCall(c)
			p.endCall(c, p.calls.closing)
		}
	}
	x.running = false
	p.emitFor(s.keyOf(x.within), contract.SubagentStop{AgentID: x.key})
	if c := p.calls.find(x.parent); x.ownCall && c != nil && !c.ending {
		x.reportBy = p.now.Add(ReportWait)
		if x.report != "" {
			s.reported(p, x)
		}
	}
}

// reported ends the call that was made for a sub-agent, with its report.
func (s *subagents) reported(p *Protocol, x *subagent) {
	x.reportBy = time.Time{}
	c := p.calls.find(x.parent)
	if c == nil || c.ending {
		return
	}
	r := contract.ToolResult{Status: contract.ToolCompleted}
	if x.report != "" {
		r.Output = rawjson.AppendString(nil, x.report)
	}
	p.endCall(c, &r)
}

// overdue ends the calls of sub-agents whose report does not come.
func (s *subagents) overdue(p *Protocol, all bool) {
	for _, x := range s.list {
		if !x.reportBy.IsZero() && (all || p.due(x.reportBy)) {
			s.reported(p, x)
		}
	}
}

func (s *subagents) nextReport() time.Time {
	var next time.Time
	for _, x := range s.list {
		if !x.reportBy.IsZero() && (next.IsZero() || x.reportBy.Before(next)) {
			next = x.reportBy
		}
	}
	return next
}

func (s *subagents) keyOf(id string) string {
	if x := s.find(id); x != nil && id != "" {
		return x.key
	}
	return ""
}

// callEnded stops the sub-agents that a call spawned: the call's end is theirs.
func (s *subagents) callEnded(p *Protocol, c *call) {
	for _, x := range s.list {
		if x.parent == c.id {
			s.stop(p, x)
		}
	}
}

func (s *subagents) stopAll(p *Protocol) {
	for _, x := range s.list {
		s.stop(p, x)
	}
	keep := s.list[:0]
	for _, x := range s.list {
		if x.session {
			keep = append(keep, x) // it may go on in a later turn
		}
	}
	s.list = keep
}

// subagentUpdate handles the announcement of a sub-agent's session.
func (p *Protocol) subagentUpdate(u rawjson.Value) {
	id := u.Get("sessionId").Text()
	if id == "" || id == p.session {
		return
	}
	p.agents.add(p, id, p.calls.find(u.Get("_meta", "claudeCode", "toolUseId").Text()))
	x := p.agents.find(id)
	x.session = true
	if t := u.Get("title").Text(); t != "" {
		x.title = t
	}
	if t := u.Get("description").Text(); t != "" {
		x.about = t
	}
	if u.Get("state", "state").Text() == "idle" {
		p.ensureTurn()
		p.agents.begin(p, id) // one that said nothing was there all the same
		p.agents.stop(p, x)
	}
}

// sessionMessage takes what a sub-agent was told, and what it reported.
func (p *Protocol) sessionMessage(u rawjson.Value) {
	var parts []string
	for b := range u.Get("content").Elements() {
		parts = append(parts, rawjson.Repair(contentText(b)))
	}
	text := strings.Join(parts, "\n")
	if x := p.agents.find(u.Get("recipientSessionId").Text()); x != nil && x.session {
		x.prompt = text
	}
	if x := p.agents.find(u.Get("senderSessionId").Text()); x != nil && x.session {
		x.report = text
		if !x.reportBy.IsZero() {
			p.agents.reported(p, x)
		}
	}
}
