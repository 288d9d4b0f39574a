package claude

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// form is a question to people and how its answers go back.
type form struct {
	question *contract.Question
	// names are the CLI's keys of the answers, by the field's place.
	names []string
	// types are the JSON types that an elicitation wants, by the field's place.
	types []string
}

// questionForm reads the input of AskUserQuestion.
func questionForm(input rawjson.Value) form {
	f := form{question: &contract.Question{}}
	for q := range input.Get("questions").Elements() {
		field := contract.QuestionField{
			ID:       "q" + strconv.Itoa(len(f.names)+1),
			Header:   q.Get("header").Text(),
			Question: q.Get("question").Text(),
			Multiple: q.Get("multiSelect").True(),
			Custom:   true,
		}
		for o := range q.Get("options").Elements() {
			field.Options = append(field.Options, contract.QuestionOption{
				Label: o.Get("label").Text(), Description: o.Get("description").Text(),
			})
		}
		f.names = append(f.names, field.Question)
		f.question.Questions = append(f.question.Questions, field)
	}
	return f
}

// answered is the input of AskUserQuestion with the answers: the original bytes
// and one more member.
func (f form) answered(input rawjson.Value, c adapters.Answer) ([]byte, error) {
	answers := new(object)
	given, err := f.given(c)
	if err != nil {
		return nil, err
	}
	for i, v := range given {
		if v.Given() {
			answers.str(f.names[i], answerText(v))
		}
	}
	more := new(object).raw("answers", answers.value())
	if len(answers.b) == 0 && c.Message != "" {
		// The CLI takes a free answer to all questions at once.
		more.str("response", c.Message)
	}
	return splice(input, more), nil
}

// splice adds members to an object and keeps its bytes.
func splice(o rawjson.Value, more *object) []byte {
	if o.Empty() {
		return more.value()
	}
	head := slices.Clone([]byte(o[:len(o)-1]))
	return append(append(head, ','), more.value()[1:]...)
}

// given are the answers by the field's place; a key is the field's ID or, as
// older clients send it, the question itself.
func (f form) given(c adapters.Answer) ([]rawjson.Value, error) {
	list := make([]rawjson.Value, len(f.names))
	if len(c.Answers) == 0 {
		return list, nil
	}
	v, err := rawjson.Parse(c.Answers)
	if err != nil || v.Kind() != rawjson.Object {
		return nil, fmt.Errorf("claude: answer to %q: answers: want an object from question id to answer", c.Ask)
	}
	for key, answer := range v.Members() {
		i := slices.IndexFunc(f.question.Questions, func(q contract.QuestionField) bool { return q.ID == key })
		if i < 0 {
			i = slices.Index(f.names, key)
		}
		if i < 0 {
			return nil, fmt.Errorf("claude: answer to %q: answers.%s: want one of %q", c.Ask, key, f.ids())
		}
		list[i] = answer
	}
	return list, nil
}

func (f form) ids() []string {
	var ids []string
	for _, q := range f.question.Questions {
		ids = append(ids, q.ID)
	}
	return ids
}

// answerText is an answer as the CLI wants it: several choices joined by commas.
func answerText(v rawjson.Value) string {
	if v.Kind() == rawjson.Array {
		return strings.Join(texts(v), ", ")
	}
	if v.Kind() == rawjson.String {
		return v.Text()
	}
	return string(v)
}

// elicit takes a question that an MCP server asks through the CLI.
func (p *protocol) elicit(id string, req rawjson.Value) {
	if id == "" {
		return
	}
	p.enterMain(nil)
	server := req.Get("mcp_server_name").Text()
	a := &ask{request: id, elicitation: true, form: elicitationForm(req)}
	if c := p.mcpCall(server); c != nil {
		a.call, a.agent = c.id, c.agent
	} else {
		a.call, a.own = "elicitation-"+id, true
	}
	c := p.announce(a.call, a.agent, "Elicitation", req, "")
	t := p.describe("Elicitation", req)
	a.draft = adapters.Draft{Subagent: a.agent, Event: contract.PermissionRequest{
		Call: a.call, ToolName: t.name, Title: t.title, Description: t.description, Args: c.input.Clean(),
		Options: []contract.PermissionOption{
			{Decision: contract.AllowOnce, Label: "Answer"}, {Decision: contract.RejectOnce, Label: "Decline"},
		},
		Question: a.form.question,
	}}
	p.asks = append(p.asks, a)
	p.putAsk(a)
}

// mcpCall is the newest open call of an MCP server, nil when there is none.
func (p *protocol) mcpCall(server string) *call {
	var found *call
	for _, c := range p.calls {
		if s, _, ok := mcpName(c.native); ok && s == server && !c.ended && (found == nil || c.seq > found.seq) {
			found = c
		}
	}
	return found
}

// elicitationForm reads an elicitation of MCP: a flat object schema, or a URL to
// be opened.
func elicitationForm(req rawjson.Value) form {
	f := form{question: &contract.Question{Message: req.Get("message").Text()}}
	if url := req.Get("url").Text(); url != "" {
		f.question.Message = strings.TrimSpace(f.question.Message + "\n" + url)
	}
	var required []string
	for e := range req.Get("requested_schema", "required").Elements() {
		required = append(required, e.Text())
	}
	for name, schema := range req.Get("requested_schema", "properties").Members() {
		field := contract.QuestionField{
			ID: name, Header: schema.Get("title").Text(), Question: schema.Get("description").Text(),
			Required: slices.Contains(required, name), Schema: schema.Clean(),
		}
		if field.Question == "" {
			field.Question = name
		}
		field.Options, field.Multiple = schemaOptions(schema)
		field.Custom = len(field.Options) == 0
		f.names = append(f.names, name)
		f.types = append(f.types, schema.Get("type").Text())
		f.question.Questions = append(f.question.Questions, field)
	}
	return f
}

// schemaOptions are the choices of a property.
func schemaOptions(schema rawjson.Value) (options []contract.QuestionOption, multiple bool) {
	if schema.Get("type").Text() == "boolean" {
		return []contract.QuestionOption{{Label: "Yes", Value: "true"}, {Label: "No", Value: "false"}}, false
	}
	if items := schema.Get("items"); items.Given() {
		options, _ = schemaOptions(items)
		return options, true
	}
	names := texts(schema.Get("enumNames"))
	for i, v := range slices.Collect(schema.Get("enum").Elements()) {
		o := contract.QuestionOption{Label: v.Text(), Value: v.Text()}
		if i < len(names) {
			o.Label = names[i]
		}
		options = append(options, o)
	}
	for _, list := range []string{"oneOf", "anyOf"} {
		for v := range schema.Get(list).Elements() {
			if c := v.Get("const").Text(); c != "" {
				label := v.Get("title").Text()
				if label == "" {
					label = c
				}
				options = append(options, contract.QuestionOption{Label: label, Value: c})
			}
		}
	}
	return options, false
}

// elicited is the answer to an elicitation.
func (f form) elicited(allowed bool, c adapters.Answer) ([]byte, error) {
	if !allowed {
		action := "decline"
		if c.Cancelled {
			action = "cancel"
		}
		return new(object).str("action", action).value(), nil
	}
	given, err := f.given(c)
	if err != nil {
		return nil, err
	}
	content := new(object)
	for i, v := range given {
		if v.Given() {
			content.raw(f.names[i], typed(v, f.types[i]))
		}
	}
	return new(object).str("action", "accept").raw("content", content.value()).value(), nil
}

// typed gives an answer the type that the schema wants, when its text allows.
func typed(v rawjson.Value, want string) []byte {
	text := jsontext.Value(strings.TrimSpace(v.Text()))
	switch {
	case v.Kind() != rawjson.String:
		return v.Clean()
	case want == "boolean" && (string(text) == "true" || string(text) == "false"):
		return text
	case (want == "number" || want == "integer") && text.IsValid() && text.Kind() == '0':
		return text
	case want == "array":
		return array(v.Clean())
	}
	return v.Clean()
}
