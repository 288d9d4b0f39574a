package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Fault is a PathError at a line of a stream.
type Fault struct {
	Line int
	*PathError
}

// Error is like "12: ev.call: want open call, got \"c9\"".
func (f Fault) Error() string { return fmt.Sprintf("%d: %s", f.Line, f.PathError) }

// Validator checks a whole stream, envelope by envelope, from its first: each
// one by itself (Validate), and the rules of how they follow each other.
//
//	E1  ids are unique, time never decreases
//	E2  turns alternate, one turn-end per turn-start, turn ids are not used again
//	E3  what happens in a turn carries its id
//	E4  calls are unique, ended once and before their turn
//	E5  permission requests name an open call and get one response each
//	E6  sub-agents speak between their start and stop; nested ones stop first
//
// After a fault it goes on with the most likely meaning, so that one mistake is
// told once. It remembers every id of the stream. It is not safe for concurrent
// use.
type Validator struct {
	profile Profile
	line    int
	faults  []Fault

	time      int64
	seen      map[string]int // line by envelope id
	turn      string         // the id of the open turn, else empty
	inTurn    bool
	turns     map[string]bool
	calls     map[string]*callState
	open      map[string]*callState // those that are not ended
	subagents map[string]*subagentState
}

type callState struct {
	ended    bool
	subagent string
	// asked says that a permission request waits for its response.
	asked bool
}

type subagentState struct {
	open   bool
	parent string
}

// NewValidator makes a Validator for a stream of that profile.
func NewValidator(p Profile) *Validator {
	return &Validator{
		profile:   p,
		seen:      make(map[string]int),
		turns:     make(map[string]bool),
		calls:     make(map[string]*callState),
		open:      make(map[string]*callState),
		subagents: make(map[string]*subagentState),
	}
}

// Check takes the next envelope and returns its faults, those of the envelope
// itself first. line is what the faults name.
func (v *Validator) Check(line int, e Envelope) []Fault {
	v.line, v.faults = line, nil
	v.addAll(Validate(e, v.profile))
	v.follow(e)
	return v.faults
}

// CheckLine is Check for an envelope that is still JSON. Of one that does not
// decode, only that is reported; what could be read of it still counts for the
// rest of the stream.
func (v *Validator) CheckLine(line int, text []byte) []Fault {
	e, err := Decode(text)
	if err == nil {
		return v.Check(line, e)
	}
	v.line, v.faults = line, nil
	if e.Event != nil {
		v.follow(e)
	}
	v.faults = nil
	v.addAll(err)
	return v.faults
}

// Finish returns the faults of a stream that ends here: what is still open.
// A stream that is still being written is not finished.
func (v *Validator) Finish(line int) []Fault {
	v.line, v.faults = line, nil
	if v.inTurn {
		v.endCalls()
		v.fault("E2", "turn", "turn-end of turn "+quoted(v.turn), "end of stream")
	}
	for _, id := range slices.Sorted(maps.Keys(v.subagents)) {
		if v.subagents[id].open {
			v.fault("E6", "subagent", "subagent-stop of "+quoted(id), "end of stream")
		}
	}
	return v.faults
}

func (v *Validator) fault(rule, path, want, got string) {
	v.faults = append(v.faults, Fault{v.line, &PathError{Path: path, Want: want, Got: got, Rule: rule}})
}

func (v *Validator) addAll(err error) {
	faults, _ := errors.AsType[Faults](err)
	for _, f := range faults {
		v.faults = append(v.faults, Fault{v.line, f})
	}
}

// follow checks e against what came before it and takes it up.
func (v *Validator) follow(e Envelope) {
	if first, ok := v.seen[e.ID]; ok && e.ID != "" {
		v.fault("E1", "id", "id not used before", quoted(e.ID)+" of line "+strconv.Itoa(first))
	} else {
		v.seen[e.ID] = v.line
	}
	if e.Time < v.time {
		v.fault("E1", "time", "integer >= "+strconv.FormatInt(v.time, 10), strconv.FormatInt(e.Time, 10))
	}
	v.time = max(v.time, e.Time)
	switch e.Event.(type) {
	case nil, Unknown: // a newer peer's rules are not known
		return
	case TurnStart:
		v.turnStart(e)
		return
	}
	v.checkTurn(e)
	v.checkSubagent(e)
	switch ev := e.Event.(type) {
	case TurnEnd:
		v.turnEnd()
	case ToolCallStart:
		v.callStart(e, ev)
	case ToolCallEnd:
		v.callEnd(e, ev)
	case PermissionRequest:
		v.request(ev)
	case PermissionResponse:
		v.response(ev)
	case SubagentStart:
		v.subagentStart(e, ev)
	case SubagentStop:
		v.subagentStop(ev)
	}
}

func (v *Validator) turnStart(e Envelope) {
	if v.inTurn {
		v.endCalls()
		v.fault("E2", "ev.t", "turn-end of turn "+quoted(v.turn)+" first", string(TypeTurnStart))
	}
	if v.turns[e.Turn] {
		v.fault("E2", "turn", "id of a new turn", quoted(e.Turn)+" again")
	}
	v.turn, v.inTurn = e.Turn, true
	v.turns[e.Turn] = true
}

// checkTurn checks the turn of everything but turn-start. Whether an envelope
// must or must not carry any is Validate's.
func (v *Validator) checkTurn(e Envelope) {
	need := turnNeed(e)
	switch {
	case need == forbidden, e.Turn == "" && (need == required || e.Role == RoleUser):
	case !v.inTurn && e.Turn != "":
		v.fault("E3", "turn", "id of an open turn", quoted(e.Turn))
	case v.inTurn && e.Turn == "":
		v.fault("E3", "turn", quoted(v.turn), "nothing")
	case e.Turn != v.turn:
		v.fault("E3", "turn", quoted(v.turn), quoted(e.Turn))
	}
}

func (v *Validator) turnEnd() {
	v.endCalls()
	v.turn, v.inTurn = "", false
}

// endCalls reports and closes the calls that outlive their turn.
func (v *Validator) endCalls() {
	for _, call := range slices.Sorted(maps.Keys(v.open)) {
		v.fault("E4", "ev.call", "tool-call-end of "+quoted(call)+" before the turn's end", "nothing")
		v.close(call)
	}
}

func (v *Validator) close(call string) {
	v.calls[call].ended = true
	v.calls[call].asked = false
	delete(v.open, call)
}

func (v *Validator) checkSubagent(e Envelope) {
	if e.Subagent == "" {
		return
	}
	if s := v.subagents[e.Subagent]; s == nil || !s.open {
		v.fault("E6", "subagent", "sub-agent between its start and stop", quoted(e.Subagent))
	}
}

func (v *Validator) callStart(e Envelope, ev ToolCallStart) {
	if v.calls[ev.Call] != nil {
		v.fault("E4", "ev.call", "call not used before", quoted(ev.Call))
	}
	c := &callState{subagent: e.Subagent}
	v.calls[ev.Call], v.open[ev.Call] = c, c
}

func (v *Validator) callEnd(e Envelope, ev ToolCallEnd) {
	c := v.openCall("E4", ev.Call)
	if c == nil {
		return
	}
	if c.asked {
		v.fault("E5", "ev.call", "permission-response of "+quoted(ev.Call)+" first", string(TypeToolCallEnd))
	}
	if c.subagent != e.Subagent {
		v.fault("E6", "subagent", "that of the call's start, "+quoted(c.subagent), quoted(e.Subagent))
	}
	v.close(ev.Call)
}

// openCall returns the state of an open call, nil after a fault.
func (v *Validator) openCall(rule, call string) *callState {
	c := v.calls[call]
	switch {
	case c == nil:
		v.fault(rule, "ev.call", "open call", quoted(call))
	case c.ended:
		v.fault(rule, "ev.call", "open call", quoted(call)+", which has ended")
		return nil
	}
	return c
}

func (v *Validator) request(ev PermissionRequest) {
	c := v.openCall("E5", ev.Call)
	if c == nil {
		return
	}
	if c.asked {
		v.fault("E5", "ev.call", "permission-response of "+quoted(ev.Call)+" first", string(TypePermissionRequest))
	}
	c.asked = true
}

func (v *Validator) response(ev PermissionResponse) {
	if c := v.calls[ev.Call]; c == nil || !c.asked {
		v.fault("E5", "ev.call", "call whose permission-request is open", quoted(ev.Call))
	} else {
		c.asked = false
	}
}

func (v *Validator) subagentStart(e Envelope, ev SubagentStart) {
	s := v.subagents[ev.AgentID]
	parent := e.Subagent
	switch {
	case ev.AgentID == parent && parent != "":
		v.fault("E6", "subagent", "the sub-agent that started it", quoted(parent)+" itself")
		parent = ""
	case s != nil && s.open:
		v.fault("E6", "ev.agentId", "sub-agent that is not running", quoted(ev.AgentID))
	}
	v.subagents[ev.AgentID] = &subagentState{open: true, parent: parent}
}

func (v *Validator) subagentStop(ev SubagentStop) {
	s := v.subagents[ev.AgentID]
	if s == nil || !s.open {
		v.fault("E6", "ev.agentId", "sub-agent between its start and stop", quoted(ev.AgentID))
		return
	}
	for _, id := range slices.Sorted(maps.Keys(v.subagents)) {
		if child := v.subagents[id]; child.open && child.parent == ev.AgentID {
			v.fault("E6", "ev.agentId", "subagent-stop of the nested "+quoted(id)+" first", quoted(ev.AgentID))
		}
	}
	s.open = false
}
