package acp

import (
	"encoding/json/jsontext"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// form is an elicitation that waits for its answer.
type form struct {
	elicitation string // the agent's id of a visit to a page
	fields      []formField
	own         bool // its call is ours, and ends with the answer
}

// formField is one property of a requested schema.
type formField struct {
	id, kind string // kind is the JSON Schema type
	values   []string
	custom   string // the property for a free text beside the choices
}

// elicit asks people what an agent wants to know. The question hangs on the tool
// call that it names, else on one made for it.
func (p *Protocol) elicit(m jsonrpc.Message) {
	mode := m.Params.Get("mode").Text()
	if p.phase != ready || mode != "form" && mode != "url" || p.turn.cancelled {
		p.respond(m.ID, []byte(`{"action":"cancel"}`))
		return
	}
	question := contract.Question{Message: m.Params.Get("message").Text(), Questions: []contract.QuestionField{}}
	f := &form{}
	title := "Answer a question"
	if mode == "url" {
		title = "Open a page"
		f.elicitation = m.Params.Get("elicitationId").Text()
		question.Message = strings.TrimSpace(question.Message + "\n\n" + m.Params.Get("url").Text())
	} else {
		question.Questions, f.fields = readForm(m.Params.Get("requestedSchema"))
		if q := question.Questions; len(q) == 1 && q[0].Question == q[0].Header && question.Message != "" {
			q[0].Question = question.Message // which is the question then
		}
	}
	sid := m.Params.Get("sessionId").Text()
	if !p.agents.isSession(sid) {
		sid = ""
	}
	c := p.calls.find(m.Params.Get("toolCallId").Text())
	if c == nil {
		f.own = true
		c = p.newCall("question-"+strconv.Itoa(p.asks.last+1), sid, nil)
		c.native, c.title, c.kind = "ask_user", title, "other"
		c.input = rawjson.Value(m.Params.Get("requestedSchema").Clean())
	}
	p.startCall(c)
	a := p.asks.add(&ask{request: rawjson.Value(m.ID.Clean()), call: c.id, form: f})
	t := p.described(c, p.args(c), question.Message)
	p.ask(c, a, contract.PermissionRequest{
		Call: c.id, ToolName: "ask-user", Title: t.Title, Description: t.Description, Args: t.Args,
		Options: []contract.PermissionOption{
			{Decision: contract.AllowOnce, Label: "Answer"}, {Decision: contract.RejectOnce, Label: "Decline"},
		},
		Question: &question,
	})
}

// readForm makes questions of a flat JSON Schema.
func readForm(schema rawjson.Value) ([]contract.QuestionField, []formField) {
	questions, fields := []contract.QuestionField{}, []formField(nil)
	var required []string
	for r := range schema.Get("required").Elements() {
		required = append(required, r.Text())
	}
	properties := schema.Get("properties")
	for id, prop := range properties.Members() {
		if base, ok := strings.CutSuffix(id, "_custom"); ok && len(choices(properties.Get(base))) > 0 {
			continue // the free text beside the choices of another property
		}
		q := contract.QuestionField{
			ID: id, Header: prop.Get("title").Text(), Question: prop.Get("description").Text(),
			Options: choices(prop), Schema: prop.Clean(), Required: slices.Contains(required, id),
			Secret: prop.Get("format").Text() == "password" || prop.Get("writeOnly").True(),
		}
		if q.Question == "" {
			if q.Question = q.Header; q.Question == "" {
				q.Question = id
			}
		}
		f := formField{id: id, kind: prop.Get("type").Text()}
		for _, o := range q.Options {
			f.values = append(f.values, o.Value)
		}
		q.Multiple = f.kind == "array"
		q.Custom = len(q.Options) == 0
		if len(q.Options) > 0 && properties.Get(id+"_custom").Given() {
			q.Custom, f.custom = true, id+"_custom"
		}
		questions, fields = append(questions, q), append(fields, f)
	}
	return questions, fields
}

// choices are the values a property allows.
func choices(prop rawjson.Value) []contract.QuestionOption {
	var out []contract.QuestionOption
	if prop.Get("type").Text() == "boolean" {
		return []contract.QuestionOption{{Label: "Yes", Value: "true"}, {Label: "No", Value: "false"}}
	}
	if prop.Get("type").Text() == "array" {
		prop = prop.Get("items")
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		for o := range prop.Get(name).Elements() {
			value := o.Get("const").Text()
			out = append(out, contract.QuestionOption{
				Label: label(o.Get("title").Text(), value), Description: o.Get("description").Text(), Value: value,
			})
		}
	}
	for v := range prop.Get("enum").Elements() {
		out = append(out, contract.QuestionOption{Label: v.Text(), Value: v.Text()})
	}
	return out
}

// answerForm answers an elicitation.
func (p *Protocol) answerForm(a *ask, c adapters.Answer) {
	status := contract.ToolCompleted
	switch {
	case c.Cancelled:
		status = contract.ToolCancelled
		p.respond(a.request, []byte(`{"action":"cancel"}`))
	case !c.Decision.Allows():
		status = contract.ToolCancelled
		p.respond(a.request, []byte(`{"action":"decline"}`))
	case len(a.form.fields) == 0:
		p.respond(a.request, []byte(`{"action":"accept"}`))
	default:
		content := a.form.content(rawjson.Value(c.Answers))
		p.respond(a.request, append(append([]byte(`{"action":"accept","content":`), content...), '}'))
	}
	p.endForm(a, status)
}

// endForm ends the call that was made for a question. The answers are not in it:
// they may be secret.
func (p *Protocol) endForm(a *ask, status contract.ToolStatus) {
	if x := p.calls.find(a.call); x != nil && a.form.own {
		p.endCall(x, &contract.ToolResult{Status: status})
	}
}

// content makes the agent's content of the answers, in the types of its schema.
func (f *form) content(answers rawjson.Value) jsontext.Value {
	var members []member
	for _, field := range f.fields {
		v := answers.Get(field.id)
		if !v.Given() {
			continue
		}
		members = append(members, field.typed(v)...)
	}
	return withMembers(rawjson.Value("{}"), members)
}

// typed brings an answer into the type of its property. What is not among the
// choices goes to the free text beside them.
func (f formField) typed(v rawjson.Value) []member {
	text := v.Text()
	switch f.kind {
	case "boolean":
		if v.Kind() == rawjson.Bool {
			return []member{{f.id, v.Clean()}}
		}
		yes := strings.EqualFold(text, "true") || strings.EqualFold(text, "yes")
		return []member{{f.id, strconv.AppendBool(nil, yes)}}
	case "number", "integer":
		if n, err := rawjson.Parse([]byte(text)); err == nil && n.Kind() == rawjson.Number {
			return []member{{f.id, n}}
		}
		return []member{{f.id, v.Clean()}}
	}
	var picked, other []string
	add := func(s string) {
		if f.custom != "" && !slices.Contains(f.values, s) {
			other = append(other, s)
		} else {
			picked = append(picked, s)
		}
	}
	if v.Kind() == rawjson.Array {
		for e := range v.Elements() {
			add(e.Text())
		}
	} else {
		add(text)
	}
	var out []member
	switch {
	case len(picked) == 0:
	case f.kind == "array":
		out = append(out, member{f.id, stringList(picked)})
	default:
		out = append(out, member{f.id, rawjson.AppendString(nil, picked[0])})
	}
	if len(other) > 0 {
		out = append(out, member{f.custom, rawjson.AppendString(nil, strings.Join(other, ", "))})
	}
	return out
}

// elicitationComplete: the person did on the page what was asked.
func (p *Protocol) elicitationComplete(id string) {
	for _, a := range p.asks.list {
		if a.form != nil && a.form.elicitation == id && id != "" {
			p.withdraw(a, false)
			p.respond(a.request, []byte(`{"action":"accept"}`))
			p.endForm(a, contract.ToolCompleted)
			return
		}
	}
}
