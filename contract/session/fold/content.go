package fold

import (
	"encoding/json/jsontext"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// partFile is the kind of the custom part that stands for a file.
const partFile = "file"

func (f *Fold) text(s *scope, role contract.Role, ev contract.Text) {
	if role == contract.RoleUser {
		m := session.UserMessage(f.id, ev.Text, f.now)
		for i, ref := range ev.Refs {
			m.Parts = append(m.Parts, custom(subID(f.id, "file", i), partFile, encode(ref)))
		}
		f.addMessage(s, m)
		return
	}
	i := f.message(s)
	n := &s.texts
	if ev.Thinking {
		n = &s.reasonings
	}
	*n++
	m := &s.messages[i]
	p := textPart(m.ID, ev.Thinking, *n)
	begun := s.live[ev.Thinking] != nil
	delete(s.live, ev.Thinking)
	if !begun {
		f.part(s, session.EventPartStart, m.ID, p)
	}
	if ev.Thinking {
		p.Reasoning = ev.Text
	} else {
		p.Text = ev.Text
	}
	m.Parts = append(m.Parts, p)
	f.part(s, session.EventPartEnd, m.ID, p)
}

func (f *Fold) file(s *scope, role contract.Role, ev contract.File) {
	if role == contract.RoleUser {
		m := session.UserMessage(f.id, "", f.now)
		m.Parts = []session.Part{custom(subID(f.id, "file", 0), partFile, encode(ev))}
		f.addMessage(s, m)
		return
	}
	f.addPart(s, custom(f.id, partFile, encode(ev)), true)
}

// unknown shows what an agent said in words of a newer protocol as a custom part
// of that kind. A user's is for newer clients.
func (f *Fold) unknown(s *scope, role contract.Role, ev contract.Unknown) {
	if role != contract.RoleAgent || s.open < 0 {
		return
	}
	f.addPart(s, custom(f.id, string(ev.T), compact(ev.Body)), true)
}

func custom(id, kind string, data jsontext.Value) session.Part {
	return session.Part{Type: session.PartCustom, ID: id, Custom: &session.CustomPart{Kind: kind, Data: data}}
}
