package stamp

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strconv"

	"github.com/agenthost/agenthost/contract"
)

// cleanRequest fills what a request lacks from the start of its call.
func cleanRequest(ev contract.PermissionRequest, start contract.ToolCallStart) contract.PermissionRequest {
	ev.Extra = object(ev.Extra)
	if ev.ToolName = toolName(ev.ToolName, start.Name); len(ev.Args) == 0 {
		ev.Args = start.Args
	}
	ev.Args = args(ev.Args)
	if ev.Title == "" {
		ev.Title = start.Title
	}
	if ev.Description == "" {
		ev.Description = start.Description
	}
	ev.Title, ev.Description = summaries(ev.Title, ev.Description, ev.ToolName)
	ev.Options = slices.DeleteFunc(slices.Clone(ev.Options), func(o contract.PermissionOption) bool { return !decides(o.Decision) })
	for i := range ev.Options {
		o := &ev.Options[i]
		o.Label = cmp.Or(o.Label, string(o.Decision))
	}
	ev.Question = cleanQuestion(ev.Question)
	return ev
}

// decides reports whether d is one of the four decisions.
func decides(d contract.Decision) bool {
	switch d {
	case contract.AllowOnce, contract.AllowAlways, contract.RejectOnce, contract.RejectAlways:
		return true
	}
	return false
}

// cleanQuestion gives every field an id of its own and every option a label. A
// form without fields is none.
func cleanQuestion(q *contract.Question) *contract.Question {
	if q == nil || len(q.Questions) == 0 {
		return nil
	}
	fields := slices.Clone(q.Questions)
	ids := map[string]bool{}
	for i := range fields {
		f := &fields[i]
		for n := 1; f.ID == "" || ids[f.ID]; n++ {
			f.ID = fmt.Sprintf("%s~%d", q.Questions[i].ID, n)
		}
		ids[f.ID] = true
		f.Schema = value(f.Schema)
		f.Options = slices.Clone(f.Options)
		for k := range f.Options {
			o := &f.Options[k]
			o.Label = cmp.Or(o.Label, o.Value, strconv.Itoa(k+1))
		}
	}
	return &contract.Question{Message: q.Message, Questions: fields}
}

// cleanResponse checks the values of a response and takes out the answers to
// secret questions, which are never journaled.
func cleanResponse(r contract.PermissionResponse, q *contract.Question) contract.PermissionResponse {
	r.Extra = object(r.Extra)
	r.Args = object(r.Args)
	r.By = cleanBy(r.By)
	if r.Answers = object(r.Answers); r.Answers != nil && q != nil {
		r.Answers = withoutSecrets(r.Answers, q.Questions)
	}
	return r
}

func cleanBy(by *contract.DecisionBy) *contract.DecisionBy {
	if by == nil {
		return nil
	}
	clean := *by
	switch by.Resolver {
	case contract.ByPolicy, contract.ByRemembered, contract.ByClient, contract.ByTimeout, contract.ByTurnEnd, contract.ByExit, contract.ByHost:
	default:
		clean.Resolver = contract.ByHost
	}
	switch by.ClientType {
	case contract.ClientCLI, contract.ClientPhone, contract.ClientBrowser, contract.ClientDaemon:
	default:
		clean.ClientType = ""
	}
	return &clean
}

// withoutSecrets takes the secret fields out of an object of answers; when that
// fails nothing is left of it.
func withoutSecrets(answers jsontext.Value, fields []contract.QuestionField) jsontext.Value {
	if !slices.ContainsFunc(fields, func(f contract.QuestionField) bool { return f.Secret }) {
		return answers
	}
	var left map[string]jsontext.Value
	if err := json.Unmarshal(answers, &left, lenient()); err != nil {
		return nil
	}
	for _, f := range fields {
		if f.Secret {
			delete(left, f.ID)
		}
	}
	b, err := json.Marshal(left, lenient(), json.Deterministic(true))
	if err != nil {
		return nil
	}
	return b
}
