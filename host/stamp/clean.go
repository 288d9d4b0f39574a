package stamp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"math"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
)

// lenient takes what the encoder mends: broken UTF-8 and repeated names.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// object returns v when it is one JSON object, else nil.
func object(v jsontext.Value) jsontext.Value {
	if v.Kind() != '{' || !valid(v) {
		return nil
	}
	return v
}

// maxDepth bounds the nesting of a raw value. The encoder refuses whole envelopes
// beyond 9,000 levels; a value beyond this one is kept as text.
const maxDepth = 1000

// valid reports whether v is JSON that the encoder takes.
func valid(v jsontext.Value) bool {
	if !v.IsValid(lenient()) {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

// value returns v when it is JSON, nil when it is empty, and the text of v as a
// JSON string when it is neither: a value JSON cannot hold never reaches a writer.
func value(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return nil
	}
	if valid(v) {
		return v
	}
	return quote(string(v))
}

// quote makes a JSON string.
func quote(s string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return jsontext.Value(`""`)
	}
	return b
}

// args makes a JSON object of a tool's input; what is none goes under "input".
func args(v jsontext.Value) jsontext.Value {
	if o := object(v); o != nil {
		return o
	}
	if v = value(v); len(v) == 0 || v.Kind() == 'n' {
		return jsontext.Value(`{}`)
	}
	return slices.Concat(jsontext.Value(`{"input":`), v, jsontext.Value(`}`))
}

// maxOrigin bounds an origin in bytes: native ids are short.
const maxOrigin = 256

func cleanOrigin(s string) string {
	s, _ = present.CutBytes(present.Line(s), maxOrigin)
	return s
}

func cleanText(ev contract.Text) (contract.Text, bool) {
	ev.Extra = object(ev.Extra)
	return ev, ev.Text != "" || len(ev.Refs) > 0 || ev.Extra != nil
}

func cleanFile(ev contract.File) contract.File {
	ev.Extra = object(ev.Extra)
	ev.Size = max(ev.Size, 0)
	if ev.Name == "" {
		ev.Name = ev.Ref
	}
	if ev.Image != nil && (ev.Image.Width < 0 || ev.Image.Height < 0) {
		ev.Image = nil
	}
	return ev
}

func cleanTurnStart(ev contract.TurnStart) contract.TurnStart {
	ev.Extra = object(ev.Extra)
	return ev
}

func cleanTurnEnd(ev contract.TurnEnd) contract.TurnEnd {
	ev.Extra = object(ev.Extra)
	switch ev.Status {
	case contract.TurnCompleted, contract.TurnFailed, contract.TurnCancelled:
	default:
		ev.Status = contract.TurnFailed // the one outcome nobody builds on
	}
	if ev.Error != nil && ev.Error.Message == "" {
		e := *ev.Error
		e.Message = string(e.Code)
		ev.Error = &e
	}
	if ev.Usage != nil {
		ev.Usage = cleanUsage(*ev.Usage)
	}
	return ev
}

func cleanUsage(u contract.Usage) *contract.Usage {
	u.Extra = object(u.Extra)
	for _, n := range []*int64{
		&u.InputTokens, &u.OutputTokens, &u.ReasoningTokens, &u.CacheReadTokens, &u.CacheWriteTokens,
	} {
		*n = max(*n, 0)
	}
	if u.Cost != nil && (math.IsNaN(*u.Cost) || math.IsInf(*u.Cost, 0) || *u.Cost < 0) {
		u.Cost = nil
	}
	return &u
}

func cleanCallStart(ev contract.ToolCallStart) contract.ToolCallStart {
	ev.Extra = object(ev.Extra)
	ev.Name = toolName(ev.Name, ev.Native)
	ev.Title, ev.Description = summaries(ev.Title, ev.Description, ev.Name)
	ev.Args = args(ev.Args)
	return ev
}

// toolName is the canonical form of a name, of the native name when it has none.
func toolName(name, native string) string {
	if name == "" {
		name = native
	}
	if name = strings.ToLower(strings.ReplaceAll(present.Line(name), " ", "-")); name == "" {
		return "tool"
	}
	return name
}

// summaries cuts a title and a description and fills the one that is missing:
// neither is ever empty.
func summaries(title, description, name string) (string, string) {
	title, description = present.Title(title), present.Description(description)
	if title == "" {
		title = present.Title(description)
	}
	if title == "" {
		title = present.Title(present.Escape(name))
	}
	if description == "" {
		description = title
	}
	return title, description
}

func cleanCallEnd(ev contract.ToolCallEnd) contract.ToolCallEnd {
	ev.Extra = object(ev.Extra)
	if ev.Result == nil {
		return ev
	}
	r := *ev.Result
	r.Extra = object(r.Extra)
	r.Output = value(r.Output)
	switch r.Status {
	case contract.ToolCompleted, contract.ToolError, contract.ToolCancelled:
	default:
		r.Status = contract.ToolCompleted
		if r.Error != "" {
			r.Status = contract.ToolError
		}
	}
	if len(r.Files) > 0 {
		r.Files = cleanFiles(r.Files)
	}
	ev.Result = &r
	return ev
}

func cleanFiles(files []contract.FileDiff) []contract.FileDiff {
	files = slices.Clone(files)
	for i := range files {
		f := &files[i]
		f.Additions, f.Deletions = max(f.Additions, 0), max(f.Deletions, 0)
		switch f.Status {
		case contract.ChangeAdded, contract.ChangeModified, contract.ChangeDeleted, contract.ChangeRenamed:
		default:
			f.Status = contract.ChangeModified
		}
	}
	return files
}

func cleanService(ev contract.Service) contract.Service {
	ev.Extra = object(ev.Extra)
	switch ev.Kind {
	case "", contract.ServiceNotice, contract.ServiceError, contract.ServiceRetry, contract.ServiceReconnect,
		contract.ServiceCompaction:
	default:
		ev.Kind = contract.ServiceNotice
	}
	for _, text := range []string{string(ev.Code), string(ev.Kind), "notice"} {
		if ev.Text == "" {
			ev.Text = text
		}
	}
	return ev
}

func cleanSubagentStart(ev contract.SubagentStart) contract.SubagentStart {
	ev.Extra = object(ev.Extra)
	ev.Title = present.Title(ev.Title)
	return ev
}

func cleanSubagentStop(ev contract.SubagentStop) contract.SubagentStop {
	ev.Extra = object(ev.Extra)
	return ev
}

func cleanControl(ev contract.SessionControlChanged) contract.SessionControlChanged {
	ev.Extra = object(ev.Extra)
	switch ev.ClientType {
	case contract.ClientCLI, contract.ClientPhone, contract.ClientBrowser, contract.ClientDaemon:
	default:
		ev.ClientType = contract.ClientDaemon
	}
	return ev
}

func cleanConfiguration(ev contract.AgentConfigurationChanged) contract.AgentConfigurationChanged {
	ev.Extra = object(ev.Extra)
	return ev
}

func cleanAbort(ev contract.Abort) contract.Abort {
	ev.Extra = object(ev.Extra)
	return ev
}

// cleanUnknown checks that the body is the object it claims to be.
func cleanUnknown(ev contract.Unknown) (contract.Unknown, bool) {
	var head struct {
		T *contract.EventType `json:"t"`
	}
	if ev.T == "" || object(ev.Body) == nil {
		return ev, false
	}
	err := json.Unmarshal(ev.Body, &head, lenient())
	if err != nil || head.T == nil || *head.T != ev.T || slices.Contains(contract.EventTypes(), ev.T) {
		return ev, false
	}
	return ev, true
}

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
	ev.Options = slices.DeleteFunc(slices.Clone(ev.Options), func(o contract.PermissionOption) bool {
		return o.Decision != contract.AllowOnce && o.Decision != contract.AllowAlways &&
			o.Decision != contract.RejectOnce && o.Decision != contract.RejectAlways
	})
	if ev.Question != nil {
		q := *ev.Question
		q.Questions = slices.Clone(q.Questions)
		for i := range q.Questions {
			q.Questions[i].Schema = value(q.Questions[i].Schema)
		}
		ev.Question = &q
	}
	return ev
}

// cleanResponse checks the values of a response and takes out the answers to
// secret questions, which are never journaled.
func cleanResponse(r contract.PermissionResponse, q *contract.Question) contract.PermissionResponse {
	r.Extra = object(r.Extra)
	r.Args = object(r.Args)
	r.Answers = object(r.Answers)
	if q == nil || r.Answers == nil {
		return r
	}
	var secret []string
	for _, f := range q.Questions {
		if f.Secret {
			secret = append(secret, f.ID)
		}
	}
	if len(secret) == 0 {
		return r
	}
	var answers map[string]jsontext.Value
	if err := json.Unmarshal(r.Answers, &answers, lenient()); err != nil {
		r.Answers = nil
		return r
	}
	for _, id := range secret {
		delete(answers, id)
	}
	b, err := json.Marshal(answers, lenient(), json.Deterministic(true))
	if err != nil {
		b = nil
	}
	r.Answers = b
	return r
}
