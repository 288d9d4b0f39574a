package stamp_test

import (
	"fmt"

	"github.com/nrednav/cuid2"
	"github.com/rivo/uniseg"

	"github.com/agenthost/agenthost/contract"
)

// checker is a second opinion on E1 to E7, written from the contract's table and
// not from the Stamper.
type checker struct {
	ids    map[string]bool
	time   int64
	turn   string
	calls  map[string]*checkedCall // open
	all    map[string]bool         // every call id
	agents map[string]string       // open agentId -> parent
	known  map[string]bool         // every agentId
	faults []string
}

type checkedCall struct {
	subagent string
	asking   bool
}

func newChecker() *checker {
	return &checker{
		ids: map[string]bool{}, calls: map[string]*checkedCall{}, all: map[string]bool{},
		agents: map[string]string{}, known: map[string]bool{},
	}
}

func (c *checker) fault(rule, format string, args ...any) {
	c.faults = append(c.faults, rule+": "+fmt.Sprintf(format, args...))
}

func (c *checker) fresh(what, id string) {
	if !cuid2.IsCuid(id) {
		c.fault("E1", "%s %q is no cuid2", what, id)
	}
	if c.ids[id] {
		c.fault("E1", "%s %q was used before", what, id)
	}
	c.ids[id] = true
}

// userOnly and agentOnly are E7's table; what is in neither may be both.
var (
	userOnly  = map[contract.EventType]bool{contract.TypePermissionResponse: true, contract.TypeAbort: true}
	agentOnly = map[contract.EventType]bool{
		contract.TypeTurnStart: true, contract.TypeTurnEnd: true, contract.TypeToolCallStart: true,
		contract.TypeToolCallEnd: true, contract.TypeService: true, contract.TypeSubagentStart: true,
		contract.TypeSubagentStop: true, contract.TypePermissionRequest: true,
	}
	outsideTurns = map[contract.EventType]bool{
		contract.TypeService: true, contract.TypeSessionControlChanged: true,
		contract.TypeAgentConfigurationChanged: true, "later": true,
	}
)

func (c *checker) add(e contract.Envelope) {
	c.fresh("id", e.ID)
	if e.Time < c.time {
		c.fault("E1", "time went from %d to %d", c.time, e.Time)
	}
	c.time = e.Time
	t := e.Event.EventType()
	switch {
	case e.Role != contract.RoleUser && e.Role != contract.RoleAgent:
		c.fault("E7", "role is %q", e.Role)
	case userOnly[t] && e.Role != contract.RoleUser, agentOnly[t] && e.Role != contract.RoleAgent:
		c.fault("E7", "%s by %s", t, e.Role)
	}
	if t == contract.TypeTurnStart {
		c.fresh("turn", e.Turn)
		if c.turn != "" {
			c.fault("E2", "turn-start in turn %s", c.turn)
		}
		c.turn = e.Turn
	}
	if e.Role == contract.RoleAgent {
		if e.Turn != c.turn {
			c.fault("E3", "%s has turn %q, want %q", t, e.Turn, c.turn)
		}
		if c.turn == "" && !outsideTurns[t] {
			c.fault("E6a", "%s outside of a turn", t)
		}
	} else if text, ok := e.Event.(contract.Text); e.Turn != "" && (e.Turn != c.turn || !userOnly[t] && (!ok || !text.Steer)) {
		c.fault("E3", "%s of the user has turn %q", t, e.Turn)
	}
	if e.Subagent != "" {
		if _, open := c.agents[e.Subagent]; !open {
			c.fault("E6", "%s of sub-agent %q, which is not open", t, e.Subagent)
		}
	}
	c.event(e)
	c.encodable(e)
}

func (c *checker) event(e contract.Envelope) {
	switch ev := e.Event.(type) {
	case contract.Text:
		if ev.Thinking && e.Role != contract.RoleAgent || ev.Steer && e.Role != contract.RoleUser {
			c.fault("E7", "text %+v by %s", ev, e.Role)
		}
	case contract.TurnEnd:
		if c.turn == "" {
			c.fault("E2", "turn-end without a turn")
		}
		if len(c.calls) > 0 {
			c.fault("E4", "turn-end with %d open calls", len(c.calls))
		}
		c.turn = ""
	case contract.ToolCallStart:
		if c.all[ev.Call] {
			c.fault("E4", "call %q was used before", ev.Call)
		}
		c.all[ev.Call] = true
		c.calls[ev.Call] = &checkedCall{subagent: e.Subagent}
		c.summary(ev.Title, ev.Description)
		if ev.Args.Kind() != '{' || ev.Name == "" {
			c.fault("E9", "call %q has name %q and args %s", ev.Call, ev.Name, ev.Args)
		}
	case contract.ToolCallEnd:
		call := c.calls[ev.Call]
		switch {
		case call == nil:
			c.fault("E4", "end of call %q, which is not open", ev.Call)
		case call.asking:
			c.fault("E5", "call %q ends with an open request", ev.Call)
		case call.subagent != e.Subagent:
			c.fault("E6", "call %q starts in %q and ends in %q", ev.Call, call.subagent, e.Subagent)
		}
		delete(c.calls, ev.Call)
	case contract.PermissionRequest:
		c.summary(ev.Title, ev.Description)
		call := c.calls[ev.Call]
		if call == nil || call.asking || c.turn == "" {
			c.fault("E5", "request for call %q: %+v in turn %q", ev.Call, call, c.turn)
			return
		}
		call.asking = true
	case contract.PermissionResponse:
		call := c.calls[ev.Call]
		if call == nil || !call.asking {
			c.fault("E5", "response for call %q without a request", ev.Call)
			return
		}
		call.asking = false
	case contract.SubagentStart:
		c.fresh("agentId", ev.AgentID)
		c.agents[ev.AgentID] = e.Subagent
		if ev.Call != "" && !c.all[ev.Call] {
			c.fault("E6", "sub-agent names call %q, which never was", ev.Call)
		}
	case contract.SubagentStop:
		if _, open := c.agents[ev.AgentID]; !open {
			c.fault("E6", "stop of sub-agent %q, which is not open", ev.AgentID)
		}
		for id, call := range c.calls {
			if call.subagent == ev.AgentID {
				c.fault("E6", "sub-agent %q stops with open call %q", ev.AgentID, id)
			}
		}
		delete(c.agents, ev.AgentID)
	}
}

func (c *checker) summary(title, description string) {
	if n := uniseg.GraphemeClusterCount(title); n < 1 || n > 120 {
		c.fault("names", "title has %d graphemes", n)
	}
	if n := uniseg.GraphemeClusterCount(description); n < 1 || n > 1000 {
		c.fault("names", "description has %d graphemes", n)
	}
}

// encodable checks E9: what was stamped can be written and read again.
func (c *checker) encodable(e contract.Envelope) {
	line, err := contract.Encode(e)
	if err != nil {
		c.fault("E9", "encoding: %v", err)
		return
	}
	if _, err := contract.Decode(line); err != nil {
		c.fault("E9", "decoding %s: %v", line, err)
	}
}

// done checks that nothing is open.
func (c *checker) done() {
	if c.turn != "" || len(c.calls) > 0 || len(c.agents) > 0 {
		c.fault("E2", "at the end: turn %q, %d calls, %d sub-agents open", c.turn, len(c.calls), len(c.agents))
	}
}
