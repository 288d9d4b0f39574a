package transcript

import (
	"fmt"

	"github.com/agenthost/agenthost/adapters"
)

// effect is every adapters.Effect on the wire; "effect" says which.
type effect struct {
	Effect   string   `json:"effect"`
	ID       string   `json:"id"`
	Path     string   `json:"path,omitzero"`
	Line     int      `json:"line,omitzero"`
	Limit    int64    `json:"limit,omitzero"`
	Content  string   `json:"content,omitzero"`
	Command  string   `json:"command,omitzero"`
	Args     []string `json:"args,omitempty"`
	Env      []Pair   `json:"env,omitempty"`
	Dir      string   `json:"dir,omitzero"`
	Terminal string   `json:"terminal,omitzero"`
	From     int64    `json:"from,omitzero"`
	Output   string   `json:"output,omitzero"`
	Code     int      `json:"code,omitzero"`
}

// EffectRecord makes the record of an effect. Values of the environment of a
// terminal are Masked.
func EffectRecord(t int64, e adapters.Effect) Record {
	return Record{T: t, Dir: Effect, Data: mustJSON(encodeEffect(e))}
}

func encodeEffect(e adapters.Effect) effect {
	switch e := e.(type) {
	case adapters.ReadFile:
		return effect{Effect: "read-file", ID: e.ID, Path: e.Path, Line: e.Line, Limit: int64(e.Limit)}
	case adapters.WriteFile:
		return effect{Effect: "write-file", ID: e.ID, Path: e.Path, Content: e.Content}
	case adapters.TerminalCreate:
		return effect{
			Effect: "terminal-create", ID: e.ID, Command: e.Command, Args: e.Args, Env: masked(e.Env), Dir: e.Dir, Limit: e.Limit,
		}
	case adapters.TerminalOutput:
		return effect{Effect: "terminal-output", ID: e.ID, Terminal: e.Terminal}
	case adapters.TerminalWait:
		return effect{Effect: "terminal-wait", ID: e.ID, Terminal: e.Terminal}
	case adapters.TerminalKill:
		return effect{Effect: "terminal-kill", ID: e.ID, Terminal: e.Terminal}
	case adapters.TerminalRelease:
		return effect{Effect: "terminal-release", ID: e.ID, Terminal: e.Terminal}
	case adapters.Follow:
		return effect{Effect: "follow", ID: e.ID, Path: e.Path, From: e.From}
	case adapters.Unfollow:
		return effect{Effect: "unfollow", ID: e.ID}
	case adapters.Look:
		return effect{Effect: "look", ID: e.ID}
	case adapters.StartScreen:
		return effect{Effect: "start-screen", ID: e.ID, Args: e.Args}
	case adapters.HookReply:
		return effect{Effect: "hook-reply", ID: e.ID, Output: string(e.Output), Code: e.Code}
	default:
		return effect{Effect: fmt.Sprintf("%T", e), ID: e.EffectID()}
	}
}
