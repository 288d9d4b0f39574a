package replay

import (
	"fmt"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// drafts checks what a Protocol says before the stamper mends it: the stamper
// keeps a stream valid whatever comes, so it would hide the Protocol's faults.
type drafts struct {
	turn    bool
	calls   map[string]bool // open, "subagent/call"
	agents  map[string]bool // open, true when in the background
	asks    map[string]bool // every ask there was; true while open
	prompts map[string]bool // submitted; true until taken up or refused
	owed    map[string]bool // accepted commands that owe an Outcome; false when they gave it
	// typed says that what is written are keys or messages of a socket, not lines.
	typed bool
}

func newDrafts(face adapters.Face) drafts {
	return drafts{
		typed: face == adapters.FaceTerminal,
		calls: map[string]bool{}, agents: map[string]bool{}, asks: map[string]bool{},
		prompts: map[string]bool{}, owed: map[string]bool{},
	}
}

// submitted is told each command before Submit.
func (d *drafts) submitted(c adapters.Command) {
	switch c := c.(type) {
	case adapters.Prompt:
		d.prompts[c.ID] = true
	case adapters.Steer:
		d.prompts[c.ID] = true
	case adapters.Answer:
		d.asks[c.Ask] = false
	}
}

// accepted is told each command that Submit took, before its Step.
func (d *drafts) accepted(c adapters.Command) {
	switch c := c.(type) {
	case adapters.Open:
		d.owed[c.ID] = true
	case adapters.Configure:
		d.owed[c.ID] = true
	case adapters.Op:
		d.owed[c.ID] = true
	}
}

// step checks one Step.
func (d *drafts) step(s adapters.Step) (faults []string) {
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, key := range s.Withdraw {
		if _, known := d.asks[key]; !known {
			bad("withdrew ask %q, which never was", key)
		}
		d.asks[key] = false
	}
	for _, draft := range s.Emit {
		if fault := d.draft(draft); fault != "" {
			bad("%s", fault)
		}
	}
	for _, w := range s.Write {
		if len(w) == 0 || !d.typed && w[len(w)-1] != '\n' {
			bad("wrote %.60q: want a whole message with its line end", w)
		}
	}
	for _, o := range s.Done {
		if owes, known := d.owed[o.ID]; known && !owes {
			bad("gave a second outcome to command %q", o.ID)
		}
		d.owed[o.ID] = false
	}
	return faults
}

// draft checks one draft and returns a fault, empty for none.
func (d *drafts) draft(draft adapters.Draft) string {
	if draft.Event == nil {
		return "emitted a draft without an event"
	}
	if draft.Ask != "" && draft.Event.EventType() != contract.TypePermissionRequest {
		return fmt.Sprintf("gave ask %q to a %s", draft.Ask, draft.Event.EventType())
	}
	if draft.Key != "" {
		if _, used := d.prompts[draft.Key]; used {
			return fmt.Sprintf("used key %q before", draft.Key)
		}
		d.prompts[draft.Key] = true
	}
	switch ev := draft.Event.(type) {
	case contract.TurnStart:
		return d.turnStart(draft)
	case contract.TurnEnd:
		if !d.turn {
			return "turn-end without a turn"
		}
		// What is still open is ended by the stamper.
		d.turn = false
		clear(d.calls)
		for id, background := range d.agents {
			if !background {
				delete(d.agents, id)
			}
		}
		for key := range d.asks {
			d.asks[key] = false
		}
	case contract.ToolCallStart:
		key := draft.Subagent + "/" + ev.Call
		if d.calls[key] {
			return fmt.Sprintf("tool-call-start of call %q, which is open", ev.Call)
		}
		d.calls[key] = true
	case contract.ToolCallEnd:
		if !d.end(draft.Subagent, ev.Call) {
			return fmt.Sprintf("tool-call-end of call %q, which is not open", ev.Call)
		}
	case contract.PermissionRequest:
		return d.request(draft, ev)
	case contract.SubagentStart:
		if _, open := d.agents[ev.AgentID]; open {
			return fmt.Sprintf("subagent-start of %q, which is open", ev.AgentID)
		}
		d.agents[ev.AgentID] = draft.Background
	case contract.SubagentStop:
		if _, open := d.agents[ev.AgentID]; !open {
			return fmt.Sprintf("subagent-stop of %q, which is not open", ev.AgentID)
		}
		delete(d.agents, ev.AgentID)
	case contract.Text:
		if ev.Text == "" && len(ev.Refs) == 0 {
			return "emitted an empty text"
		}
	}
	return ""
}

func (d *drafts) turnStart(draft adapters.Draft) string {
	if d.turn {
		return "turn-start while a turn is open"
	}
	d.turn = true
	for _, id := range draft.Prompts {
		if !d.prompts[id] {
			return fmt.Sprintf("turn-start takes up prompt %q, which does not wait", id)
		}
		d.prompts[id] = false
	}
	return ""
}

// end closes a call; native ids that name one open call are enough.
func (d *drafts) end(subagent, call string) bool {
	if key := subagent + "/" + call; d.calls[key] {
		delete(d.calls, key)
		return true
	}
	return false
}

func (d *drafts) request(draft adapters.Draft, ev contract.PermissionRequest) string {
	if !d.calls[draft.Subagent+"/"+ev.Call] {
		return fmt.Sprintf("permission-request for call %q, which is not open", ev.Call)
	}
	if draft.Ask == "" {
		return fmt.Sprintf("permission-request for call %q without an ask", ev.Call)
	}
	if _, used := d.asks[draft.Ask]; used {
		return fmt.Sprintf("ask %q was used before", draft.Ask)
	}
	d.asks[draft.Ask] = true
	return ""
}

// atExit returns what Exit should have ended.
func (d *drafts) atExit() (faults []string) {
	if d.turn {
		faults = append(faults, "the turn is open")
	}
	for call := range d.calls {
		faults = append(faults, fmt.Sprintf("call %q is open", call))
	}
	for id := range d.agents {
		faults = append(faults, fmt.Sprintf("sub-agent %q is open", id))
	}
	for id, owes := range d.owed {
		if owes {
			faults = append(faults, fmt.Sprintf("command %q has no outcome", id))
		}
	}
	slices.Sort(faults)
	return faults
}
