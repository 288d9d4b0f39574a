package transcript

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// command is every adapters.Command on the wire; "cmd" says which.
type command struct {
	Cmd       string                  `json:"cmd"`
	ID        string                  `json:"id,omitzero"`
	Text      string                  `json:"text,omitzero"`
	Files     []attachment            `json:"files,omitempty"`
	Ask       string                  `json:"ask,omitzero"`
	Decision  contract.Decision       `json:"decision,omitzero"`
	Cancelled bool                    `json:"cancelled,omitzero"`
	Message   string                  `json:"message,omitzero"`
	Args      jsontext.Value          `json:"args,omitzero"`
	Answers   jsontext.Value          `json:"answers,omitzero"`
	Mode      contract.PermissionMode `json:"mode,omitzero"`
	Model     string                  `json:"model,omitzero"`
	Thinking  string                  `json:"thinking,omitzero"`
	Sandbox   *bool                   `json:"sandbox,omitzero"`
	Name      string                  `json:"name,omitzero"`
	Params    jsontext.Value          `json:"params,omitzero"`
	Uses      []use                   `json:"uses,omitempty"`
	Content   string                  `json:"content,omitzero"`
	Terminal  string                  `json:"terminal,omitzero"`
	Output    string                  `json:"output,omitzero"`
	Truncated bool                    `json:"truncated,omitzero"`
	Exit      *terminalExit           `json:"exit,omitzero"`
	Err       *effectError            `json:"err,omitzero"`
}

type use struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern,omitzero"`
}

type attachment struct {
	Name string `json:"name,omitzero"`
	MIME string `json:"mime,omitzero"`
	Path string `json:"path,omitzero"`
	Data []byte `json:"data,omitzero"`
}

type terminalExit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitzero"`
}

type effectError struct {
	NotFound bool   `json:"notFound,omitzero"`
	Refused  bool   `json:"refused,omitzero"`
	Message  string `json:"message"`
}

// CommandRecord makes the record of a command. Raw JSON inside a command that is
// not valid JSON is left out: no Protocol takes it.
func CommandRecord(t int64, c adapters.Command) Record {
	return Record{T: t, Dir: Cmd, Data: mustJSON(encodeCommand(c))}
}

func encodeCommand(c adapters.Command) command {
	switch c := c.(type) {
	case adapters.Open:
		return command{Cmd: "open", ID: c.ID}
	case adapters.Prompt:
		return command{Cmd: "prompt", ID: c.ID, Text: c.Text, Files: encodeFiles(c.Files)}
	case adapters.Steer:
		return command{Cmd: "steer", ID: c.ID, Text: c.Text, Files: encodeFiles(c.Files)}
	case adapters.Abort:
		return command{Cmd: "abort"}
	case adapters.Answer:
		return command{
			Cmd: "answer", Ask: c.Ask, Decision: c.Decision, Cancelled: c.Cancelled, Message: c.Message,
			Args: validJSON(c.Args), Answers: validJSON(c.Answers),
		}
	case adapters.Configure:
		return command{
			Cmd: "configure", ID: c.ID, Mode: c.Mode, Model: c.Model, Thinking: c.ThinkingLevel, Sandbox: c.Sandbox,
		}
	case adapters.Op:
		return command{Cmd: "op", ID: c.ID, Name: c.Name, Params: validJSON(c.Params)}
	case adapters.AskFirst:
		x := command{Cmd: "ask-first", ID: c.ID}
		for _, u := range c.Uses {
			x.Uses = append(x.Uses, use(u))
		}
		return x
	case adapters.EffectDone:
		return command{
			Cmd: "effect-done", ID: c.ID, Content: c.Content, Terminal: c.Terminal, Output: c.Output,
			Truncated: c.Truncated, Exit: (*terminalExit)(c.Exit), Err: (*effectError)(c.Err),
		}
	case adapters.Close:
		return command{Cmd: "close", ID: c.ID}
	default:
		return command{Cmd: fmt.Sprintf("%T", c)}
	}
}

// Command returns the command of a Cmd record.
func (r Record) Command() (adapters.Command, error) {
	if r.Dir != Cmd {
		return nil, fmt.Errorf("want a record of direction %q, got %q", Cmd, r.Dir)
	}
	var c command
	if err := json.Unmarshal(r.Data, &c, lenient()); err != nil {
		return nil, fmt.Errorf("decoding command: %w", err)
	}
	switch c.Cmd {
	case "open":
		return adapters.Open{ID: c.ID}, nil
	case "prompt":
		return adapters.Prompt{ID: c.ID, Text: c.Text, Files: decodeFiles(c.Files)}, nil
	case "steer":
		return adapters.Steer{ID: c.ID, Text: c.Text, Files: decodeFiles(c.Files)}, nil
	case "abort":
		return adapters.Abort{}, nil
	case "answer":
		return adapters.Answer{
			Ask: c.Ask, Decision: c.Decision, Cancelled: c.Cancelled, Message: c.Message, Args: c.Args, Answers: c.Answers,
		}, nil
	case "configure":
		return adapters.Configure{
			ID: c.ID, Mode: c.Mode, Model: c.Model, ThinkingLevel: c.Thinking, Sandbox: c.Sandbox,
		}, nil
	case "op":
		return adapters.Op{ID: c.ID, Name: c.Name, Params: c.Params}, nil
	case "ask-first":
		x := adapters.AskFirst{ID: c.ID}
		for _, u := range c.Uses {
			x.Uses = append(x.Uses, adapters.Use(u))
		}
		return x, nil
	case "effect-done":
		return adapters.EffectDone{
			ID: c.ID, Content: c.Content, Terminal: c.Terminal, Output: c.Output,
			Truncated: c.Truncated, Exit: (*adapters.TerminalExit)(c.Exit), Err: (*adapters.EffectError)(c.Err),
		}, nil
	case "close":
		return adapters.Close{ID: c.ID}, nil
	default:
		return nil, fmt.Errorf("want a command of this version, got %q", c.Cmd)
	}
}

func encodeFiles(in []adapters.Attachment) []attachment {
	var out []attachment
	for _, a := range in {
		out = append(out, attachment(a))
	}
	return out
}

func decodeFiles(in []attachment) []adapters.Attachment {
	var out []adapters.Attachment
	for _, a := range in {
		out = append(out, adapters.Attachment(a))
	}
	return out
}

func validJSON(v jsontext.Value) jsontext.Value {
	if v.IsValid() {
		return v
	}
	return nil
}
