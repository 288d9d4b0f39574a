package fold

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"slices"
	"strconv"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// call is an open tool call and the place of its part.
type call struct {
	scope          *scope
	message, place int
	// shell says that the message is a ShellMessage.
	shell bool
	// rejected is why the call may not run, empty when it may.
	rejected string
}

func (f *Fold) callStart(s *scope, ev contract.ToolCallStart) {
	// A valid stream has no call twice. What starts again has ended before.
	f.callEnd(contract.ToolCallEnd{Call: ev.Call, Result: &contract.ToolResult{Status: contract.ToolCancelled}})
	if ev.Native == contract.NativeUserShell {
		f.shellStart(s, ev)
		return
	}
	message, place := f.addPart(s, session.Part{Type: session.PartTool, ID: f.id, Tool: &session.ToolPart{
		CallID: ev.Call,
		Name:   ev.Name,
		Input:  args(ev.Args),
		State:  session.ToolState{Status: session.ToolStatusRunning, StartedAt: new(f.now)},
	}}, false)
	f.calls[ev.Call] = &call{scope: s, message: message, place: place}
}

func (f *Fold) callEnd(ev contract.ToolCallEnd) {
	c := f.calls[ev.Call]
	if c == nil {
		return
	}
	delete(f.calls, ev.Call)
	f.settle(ev.Call, nil)
	if c.shell {
		f.shellEnd(c, ev.Result)
		return
	}
	m := &c.scope.messages[c.message]
	p := m.Parts[c.place]
	tool := *p.Tool // events hold the old one
	tool.State.CompletedAt = new(f.now)
	tool.State.Status, tool.State.Error = outcome(c, ev.Result)
	if ev.Result != nil {
		tool.Output = compact(ev.Result.Output)
	}
	p.Tool = &tool
	m.Parts[c.place] = p
	f.part(c.scope, session.EventPartEnd, m.ID, p)
	if ev.Result != nil {
		f.changes(c, ev.Result.Files)
	}
}

// outcome maps the three ends of a call to the two of the session contract. A
// stream in the strict profile tells no results; a refusal is still one.
func outcome(c *call, r *contract.ToolResult) (session.ToolStatus, string) {
	switch {
	case r == nil && c.rejected != "":
		return session.ToolStatusError, c.rejected
	case r == nil || r.Status == contract.ToolCompleted:
		return session.ToolStatusCompleted, ""
	case r.Error != "":
		return session.ToolStatusError, r.Error
	}
	return session.ToolStatusError, string(r.Status)
}

// changes adds a part for each file that a call changed, to the message of the
// call, which may have ended.
func (f *Fold) changes(c *call, files []contract.FileDiff) {
	for i, d := range files {
		p := session.Part{Type: session.PartFileChange, ID: subID(f.id, "file", i), FileChange: &session.FileDiff{
			Path: d.Path, OldPath: d.OldPath, Status: session.ChangeStatus(d.Status),
			Patch: d.Patch, Additions: d.Additions, Deletions: d.Deletions,
		}}
		m := &c.scope.messages[c.message]
		m.Parts = append(m.Parts, p)
		f.part(c.scope, session.EventPartStart, m.ID, p)
		f.part(c.scope, session.EventPartEnd, m.ID, p)
	}
}

// endCalls ends what a turn left open, requests too. A valid stream leaves nothing.
func (f *Fold) endCalls() {
	for _, id := range slices.Sorted(maps.Keys(f.calls)) {
		f.callEnd(contract.ToolCallEnd{Call: id, Result: &contract.ToolResult{
			Status: contract.ToolCancelled, Error: "the turn ended",
		}})
	}
	for len(f.asks) > 0 {
		f.settle(f.asks[0].call, nil)
	}
}

// shellStart shows a command that the host ran for the user as a message.
func (f *Fold) shellStart(s *scope, ev contract.ToolCallStart) {
	var in struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(ev.Args, &in, lenient) // no command is shown as an empty one
	m := session.ShellMessage(f.id, in.Command, nil, f.now)
	m.SessionID = s.session.ID
	f.calls[ev.Call] = &call{scope: s, message: len(s.messages), shell: true}
	s.messages = append(s.messages, m)
	f.emit(s, session.Event{Type: session.EventMessageStart, MessageID: m.ID, Message: &m})
}

func (f *Fold) shellEnd(c *call, r *contract.ToolResult) {
	m := &c.scope.messages[c.message]
	if r != nil {
		var out struct {
			ExitCode *int   `json:"exitCode"`
			Output   string `json:"output"`
		}
		_ = json.Unmarshal(r.Output, &out, lenient) // output of another shape has no exit code
		m.ExitCode, m.Text = out.ExitCode, out.Output
		if r.Status != contract.ToolCompleted {
			m.Error = &session.Error{Message: r.Error}
		}
	}
	f.messageEnd(c.scope, *m)
}

// lenient takes what agents write.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// args is a tool's input; none is the empty object, as on the wire.
func args(v jsontext.Value) jsontext.Value {
	if v = compact(v); v == nil || v.Kind() == jsontext.KindNull {
		return jsontext.Value("{}")
	}
	return v
}

// compact copies raw JSON without white space, so that it comes out of a
// snapshot byte for byte. What is no JSON is left out: it could not be written.
func compact(v jsontext.Value) jsontext.Value {
	if v == nil {
		return nil
	}
	clean, ok := contract.CleanJSON(v)
	if !ok {
		return nil
	}
	c := slices.Clone(clean)
	if err := c.Compact(lenient); err != nil {
		return nil
	}
	return c
}

// encode is the JSON of a part of an event, nil if it has none: a member of a
// newer peer that is no JSON, which no stream holds.
func encode(v any) jsontext.Value {
	b, err := json.Marshal(v, lenient)
	if err != nil {
		return nil
	}
	return compact(b)
}

// subID names the i-th of several things of one envelope.
func subID(id, kind string, i int) string {
	return id + "-" + kind + "-" + strconv.Itoa(i+1)
}
