package stamp

import (
	"cmp"
	"encoding/json/v2"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
)

// maxOrigin bounds an origin in bytes: native ids are short.
const maxOrigin = 256

func cleanOrigin(s string) string {
	s, _ = present.CutBytes(s, 4*maxOrigin) // cleaning makes it shorter, or three times longer
	s, _ = present.CutBytes(present.Line(s), maxOrigin)
	return s
}

// cleanText is false for a text that says nothing.
func cleanText(ev contract.Text) (contract.Text, bool) {
	ev.Extra = object(ev.Extra)
	ev.Refs = slices.Clone(ev.Refs)
	ev.Refs = slices.DeleteFunc(ev.Refs, func(r contract.FileRef) bool { return r.Ref == "" })
	for i := range ev.Refs {
		ev.Refs[i].Size = max(ev.Refs[i].Size, 0)
	}
	return ev, ev.Text != "" || len(ev.Refs) > 0 || ev.Extra != nil
}

// cleanFile is false for a file that nothing names.
func cleanFile(ev contract.File) (contract.File, bool) {
	ev.Extra = object(ev.Extra)
	ev.Size = max(ev.Size, 0)
	ev.Name, ev.Ref = cmp.Or(ev.Name, ev.Ref), cmp.Or(ev.Ref, ev.Name)
	if ev.Image != nil && (ev.Image.Width < 0 || ev.Image.Height < 0) {
		ev.Image = nil
	}
	return ev, ev.Ref != ""
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

// toolName is the canonical form of a name, of the native name when it has none:
// lower case with hyphens. The server and tool of an MCP name stay as they are.
func toolName(name, native string) string {
	name = strings.ReplaceAll(present.Line(cmp.Or(name, native)), " ", "-")
	if !strings.HasPrefix(name, "mcp/") {
		name = strings.Map(canonical, name)
	}
	return cmp.Or(name, "tool")
}

func canonical(r rune) rune {
	r = unicode.ToLower(r)
	if r == '_' || unicode.IsUpper(r) { // some capitals have no small letter
		return '-'
	}
	return r
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
	files = slices.DeleteFunc(slices.Clone(files), func(f contract.FileDiff) bool { return f.Path == "" })
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
