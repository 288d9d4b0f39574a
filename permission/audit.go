package permission

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strconv"
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
	r.About = make([]string, 0, min(maxAbout, len(o.ask.Verdict.Parts)))
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
	m.auditMu.Lock()
	defer m.auditMu.Unlock()
	line, err := r.appendTo(m.auditLine[:0])
	if err == nil {
		line = append(line, '\n')
		var n int
		n, err = m.o.Audit.Write(line)
		if err == nil && n != len(line) {
			err = fmt.Errorf("want %d bytes written, got %d", len(line), n)
		}
	}
	if cap(line) <= maxAuditLine {
		m.auditLine = line
	}
	if err != nil {
		m.o.Logger.Error("writing the audit log", "session", r.Session, "err", err)
	}
	return err
}

// maxAuditLine is the longest line whose memory is kept for the next one.
const maxAuditLine = 64 << 10

// appendTo appends r as JSON, the same that json.Marshal gives: every decision
// waits for it. Bytes that are no UTF-8 become U+FFFD.
func (r *Record) appendTo(b []byte) ([]byte, error) {
	b = append(b, `{"time":"`...)
	b = r.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","event":`...)
	b = appendText(b, r.Event)
	b = appendMember(b, "session", r.Session)
	b = appendMember(b, "ask", r.Ask)
	b = appendMember(b, "call", r.Call)
	b = appendMember(b, "agent", r.Agent)
	b = appendMember(b, "subagent", r.Subagent)
	b = appendMember(b, "tool", r.Tool)
	b = appendMember(b, "cwd", r.Cwd)
	for i, s := range r.About {
		if i == 0 {
			b = append(b, `,"about":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendText(b, s)
	}
	if len(r.About) > 0 {
		b = append(b, ']')
	}
	b = appendFlag(b, "question", r.Question)
	b = appendMember(b, "decision", string(r.Decision))
	b = append(b, `,"by":`...)
	b, err := appendBy(b, r.By)
	if err != nil {
		return b, err
	}
	b = appendMember(b, "grant", r.Grant)
	b = appendFlag(b, "edited", r.Edited)
	b = appendMember(b, "envelope", r.Envelope)
	b = append(b, `,"waitedMs":`...)
	b = strconv.AppendInt(b, r.WaitedMS, 10)
	b = appendMember(b, "mode", string(r.Mode))
	b = appendFlag(b, "refused", r.Refused)
	return append(b, '}'), nil
}

func appendBy(b []byte, by contract.DecisionBy) ([]byte, error) {
	if len(by.Extra) > 0 {
		// Members of a newer version's.
		v, err := json.Marshal(by)
		return append(b, v...), err
	}
	b = append(b, `{"resolver":`...)
	b = appendText(b, string(by.Resolver))
	b = appendMember(b, "rule", by.Rule)
	b = appendMember(b, "clientType", string(by.ClientType))
	b = appendMember(b, "tokenId", by.TokenID)
	return append(b, '}'), nil
}

// appendMember appends ,"name":"value" unless value is empty.
func appendMember(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return appendText(b, value)
}

func appendFlag(b []byte, name string, set bool) []byte {
	if !set {
		return b
	}
	return append(append(append(b, `,"`...), name...), `":true`...)
}

// appendText appends s as a JSON string.
func appendText(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, s)
	_ = err // says that bytes were replaced
	return b
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
