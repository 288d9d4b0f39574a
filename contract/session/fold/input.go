package fold

import (
	"encoding/json/jsontext"
	"slices"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// ask is a permission request without a response.
type ask struct {
	scope *scope
	call  string
	input session.InputRequest
}

// request makes an InputRequest with the envelope's id. What the contract has no
// field for is in Metadata: title, description, args, options, nonce, and question (the
// whole form; the InputRequest itself shows the first of its questions).
func (f *Fold) request(s *scope, ev contract.PermissionRequest) {
	in := session.InputRequest{
		ID:            f.id,
		SessionID:     s.session.ID,
		RootSessionID: f.root.session.ID,
		Metadata: map[string]jsontext.Value{
			"title":       encode(ev.Title),
			"description": encode(ev.Description),
			"args":        args(ev.Args),
		},
		Tool: &session.ToolRef{CallID: ev.Call},
	}
	if c := f.calls[ev.Call]; c != nil {
		in.Tool.MessageID = c.scope.messages[c.message].ID
	}
	if ev.Question != nil {
		questionInput(&in, ev)
	} else {
		in.Kind = session.InputPermission
		in.Permission = ev.ToolName
		in.Patterns, in.Always = slices.Clone(ev.Patterns), slices.Clone(ev.Always)
	}
	if len(ev.Options) > 0 {
		in.Metadata["options"] = encode(ev.Options)
	}
	if ev.Nonce != "" {
		in.Metadata["nonce"] = encode(ev.Nonce)
	}
	f.settle(ev.Call, nil) // one open request for each call
	f.asks = append(f.asks, &ask{scope: s, call: ev.Call, input: in})
	f.emit(s, session.Event{Type: session.EventInputRequest, Input: &in})
}

func questionInput(in *session.InputRequest, ev contract.PermissionRequest) {
	in.Kind = session.InputQuestion
	in.Question = ev.Question.Message
	in.Metadata["question"] = encode(*ev.Question)
	if len(ev.Question.Questions) == 0 {
		return
	}
	first := ev.Question.Questions[0]
	in.Header, in.Multiple, in.Custom = first.Header, first.Multiple, first.Custom
	if in.Question == "" || len(ev.Question.Questions) == 1 {
		in.Question = first.Question
	}
	for _, o := range first.Options {
		in.Options = append(in.Options, session.InputOption{Label: o.Label, Description: o.Description})
	}
}

func (f *Fold) response(ev contract.PermissionResponse) {
	if c := f.calls[ev.Call]; c != nil {
		c.rejected = ""
		if !ev.Decision.Allows() {
			if c.rejected = ev.Message; c.rejected == "" {
				c.rejected = "rejected"
			}
		}
	}
	f.settle(ev.Call, &ev)
}

// settle resolves the open request of a call; response is nil when the call
// ended without one. The event's Input is the request with the outcome in
// Metadata: decision, by, message.
func (f *Fold) settle(call string, response *contract.PermissionResponse) {
	i := slices.IndexFunc(f.asks, func(a *ask) bool { return a.call == call })
	if i < 0 {
		return
	}
	s, in := f.asks[i].scope, f.asks[i].input
	f.asks = slices.Delete(f.asks, i, i+1)
	if response != nil {
		outcome := make(map[string]jsontext.Value, len(in.Metadata)+3)
		for k, v := range in.Metadata {
			outcome[k] = v
		}
		outcome["decision"] = encode(response.Decision)
		if response.By != nil {
			outcome["by"] = encode(*response.By)
		}
		if response.Message != "" {
			outcome["message"] = encode(response.Message)
		}
		in.Metadata = outcome
	}
	f.emit(s, session.Event{Type: session.EventInputResolved, Input: &in})
}
