package codex

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// form is a question to people and how its answers go back.
type form struct {
	question *contract.Question
	// types are the JSON types that an elicitation wants, by the field's place.
	types []string
}

// elicits prepares an elicitation; false for a kind that nobody here can answer.
func (p *protocol) elicits(a *ask) bool {
	switch a.params.Get("mode").Text() {
	case "form", "", "openai/form", "openaiForm":
		a.form = elicitationForm(a.params)
	case "url":
		// There is nothing to fill in: it is allowed or not.
	default:
		return false
	}
	return true
}

// mcpCall is the open MCP call that an elicitation belongs to, nil when there is
// none: the newest of its tool, else of its server.
func (p *protocol) mcpCall(a *ask) *call {
	server, tool := a.params.Get("serverName").Text(), a.params.Get("_meta", "tool_name").Text()
	var found *call
	for _, c := range p.openCalls(a.th) {
		if c.native != itemMCP || c.server != server {
			continue
		}
		if tool == "" || c.tool == tool {
			return c
		}
		if found == nil {
			found = c
		}
	}
	return found
}

// userForm reads the questions of request_user_input.
func userForm(params rawjson.Value) form {
	f := form{question: &contract.Question{}}
	for q := range params.Get("questions").Elements() {
		field := contract.QuestionField{
			ID: q.Get("id").Text(), Header: q.Get("header").Text(), Question: q.Get("question").Text(),
			Secret: q.Get("isSecret").True(), Custom: q.Get("isOther").True(),
		}
		for o := range q.Get("options").Elements() {
			field.Options = append(field.Options, contract.QuestionOption{
				Label: o.Get("label").Text(), Description: o.Get("description").Text(),
			})
		}
		field.Custom = field.Custom || len(field.Options) == 0
		f.question.Questions = append(f.question.Questions, field)
	}
	if len(f.question.Questions) == 0 {
		f.question = nil
	}
	return f
}

// elicitationForm reads an elicitation of MCP: a flat object schema. One without
// a field is a plain permission.
func elicitationForm(params rawjson.Value) form {
	f := form{question: &contract.Question{Message: params.Get("message").Text()}}
	schema := params.Get("requestedSchema")
	var required []string
	for e := range schema.Get("required").Elements() {
		required = append(required, e.Text())
	}
	for name, s := range schema.Get("properties").Members() {
		field := contract.QuestionField{
			ID: name, Header: s.Get("title").Text(), Question: orElse(s.Get("description").Text(), name),
			Required: slices.Contains(required, name), Schema: s.Clean(),
		}
		field.Options, field.Multiple = schemaOptions(s)
		field.Custom = len(field.Options) == 0
		f.types = append(f.types, s.Get("type").Text())
		f.question.Questions = append(f.question.Questions, field)
	}
	if len(f.question.Questions) == 0 {
		f.question = nil
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
	names := slices.Collect(schema.Get("enumNames").Elements())
	for i, v := range slices.Collect(schema.Get("enum").Elements()) {
		o := contract.QuestionOption{Label: v.Text(), Value: v.Text()}
		if i < len(names) {
			o.Label = orElse(names[i].Text(), o.Label)
		}
		options = append(options, o)
	}
	for _, list := range []string{"oneOf", "anyOf"} {
		for v := range schema.Get(list).Elements() {
			if c := v.Get("const").Text(); c != "" {
				options = append(options, contract.QuestionOption{Label: orElse(v.Get("title").Text(), c), Value: c})
			}
		}
	}
	return options, false
}

// given are the answers by the field's place; a key is the field's ID or the
// question itself.
func (f form) given(c adapters.Answer) ([]rawjson.Value, error) {
	if f.question == nil {
		return nil, nil
	}
	list := make([]rawjson.Value, len(f.question.Questions))
	if len(c.Answers) == 0 {
		return list, nil
	}
	v, err := rawjson.Parse(c.Answers)
	if err != nil || v.Kind() != rawjson.Object {
		return nil, fmt.Errorf("codex: answer to %q: answers: want an object from question id to answer", c.Ask)
	}
	for key, answer := range v.Members() {
		i := slices.IndexFunc(f.question.Questions, func(q contract.QuestionField) bool { return q.ID == key || q.Question == key })
		if i < 0 {
			return nil, fmt.Errorf("codex: answer to %q: answers.%s: want one of the form's questions", c.Ask, key)
		}
		list[i] = answer
	}
	return list, nil
}

// userInput answers request_user_input. No answers tell the model that there are
// none.
func (f form) userInput(allowed bool, c adapters.Answer) ([]byte, error) {
	answers := new(object)
	if allowed {
		given, err := f.given(c)
		if err != nil {
			return nil, err
		}
		for i, v := range given {
			if list := answerList(v); len(list) > 0 {
				answers.raw(f.question.Questions[i].ID, new(object).raw("answers", quoted(list)).value())
			}
		}
	}
	return new(object).raw("answers", answers.value()).value(), nil
}

// answerList is an answer as texts.
func answerList(v rawjson.Value) []string {
	switch {
	case !v.Given():
		return nil
	case v.Kind() == rawjson.Array:
		var list []string
		for e := range v.Elements() {
			list = append(list, answerList(e)...)
		}
		return list
	case v.Kind() == rawjson.String:
		return []string{v.Text()}
	}
	return []string{string(v.Clean())}
}

// elicited answers an elicitation. Both refusals let the turn go on.
func (f form) elicited(allowed, session bool, c adapters.Answer) ([]byte, error) {
	if !allowed {
		action := "decline"
		if c.Cancelled {
			action = "cancel"
		}
		return []byte(`{"action":"` + action + `","content":null,"_meta":null}`), nil
	}
	given, err := f.given(c)
	if err != nil {
		return nil, err
	}
	content := new(object)
	for i, v := range given {
		if v.Given() {
			content.raw(f.question.Questions[i].ID, typed(v, f.types[i]))
		}
	}
	meta := []byte("null")
	if session {
		meta = []byte(`{"persist":"session"}`)
	}
	return new(object).str("action", "accept").raw("content", content.value()).raw("_meta", meta).value(), nil
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
