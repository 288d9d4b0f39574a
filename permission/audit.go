package permission

import (
	"encoding/json/v2"
	"fmt"
	"time"

	"github.com/agenthost/agenthost/contract"
)

// Record is a line of the audit log. It names what was decided about, and never
// holds contents of files, answers or feedback.
type Record struct {
	Time time.Time `json:"time"`
	// Event is decision or mode.
	Event    string `json:"event"`
	Session  string `json:"session,omitzero"`
	Ask      string `json:"ask,omitzero"`
	Call     string `json:"call,omitzero"`
	Agent    string `json:"agent,omitzero"`
	Subagent string `json:"subagent,omitzero"`
	Tool     string `json:"tool,omitzero"`
	Cwd      string `json:"cwd,omitzero"`
	// About are the commands, files, addresses or tools.
	About    []string            `json:"about,omitempty"`
	Question bool                `json:"question,omitzero"`
	Decision contract.Decision   `json:"decision,omitzero"`
	By       contract.DecisionBy `json:"by"`
	// Grant is the grant that answered or that was made, Edited that the person
	// changed the arguments, Envelope the id of the decision.
	Grant    string `json:"grant,omitzero"`
	Edited   bool   `json:"edited,omitzero"`
	Envelope string `json:"envelope,omitzero"`
	// WaitedMS is how long the ask was open, in milliseconds.
	WaitedMS int64 `json:"waitedMs"`
	// Mode is the mode that was set, Refused that it was not.
	Mode    contract.PermissionMode `json:"mode,omitzero"`
	Refused bool                    `json:"refused,omitzero"`
}

// maxAbout bounds the parts that a line names, maxAboutText each of them.
const (
	maxAbout     = 50
	maxAboutText = 1000
)

func (m *Mediator) auditDecision(o *open, a Answer) error {
	if m.o.Audit == nil {
		return nil
	}
	now := m.o.Now()
	r := Record{
		Time: now.UTC(), Event: "decision", Session: o.ask.Session, Ask: o.ask.ID, Call: o.ask.Call, Agent: o.ask.Agent,
		Subagent: o.ask.Subagent, Tool: o.ask.Tool, Cwd: o.ask.Cwd, Question: o.ask.Question != nil,
		Decision: a.Decision, By: a.By, Grant: a.Grant, Edited: a.Args != nil, Envelope: o.envelope,
		WaitedMS: max(0, now.Sub(o.ask.Opened).Milliseconds()),
	}
	for _, p := range o.ask.Verdict.Parts {
		if len(r.About) == maxAbout {
			break
		}
		r.About = append(r.About, cutText(p.Command, maxAboutText))
	}
	return m.audit(r)
}

func (m *Mediator) auditMode(id string, mode contract.PermissionMode, by contract.DecisionBy, refused bool) {
	if m.o.Audit == nil {
		return
	}
	// A mode that cannot be audited still holds: it is the stricter of the two
	// dangers to go on in a mode that a person left.
	_ = m.audit(Record{Time: m.o.Now().UTC(), Event: "mode", Session: id, By: by, Mode: mode, Refused: refused})
}

// audit writes one line in one Write.
func (m *Mediator) audit(r Record) error {
	line, err := json.Marshal(r)
	if err == nil {
		m.auditMu.Lock()
		var n int
		n, err = m.o.Audit.Write(append(line, '\n'))
		m.auditMu.Unlock()
		if err == nil && n != len(line)+1 {
			err = fmt.Errorf("want %d bytes written, got %d", len(line)+1, n)
		}
	}
	if err != nil {
		m.o.Logger.Error("writing the audit log", "session", r.Session, "err", err)
	}
	return err
}

func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}
