package adapters

import (
	"encoding/json/jsontext"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// Step is what a Protocol wants done. The host applies it in the order of the
// fields and finishes it before the next call.
type Step struct {
	// Withdraw are asks (Draft.Ask) that the agent took back or that are moot.
	Withdraw []string
	// Emit goes into the stream, in order.
	Emit []Draft
	// Live are deltas for those who watch now; never stored.
	Live []Delta
	// Facts are what the agent told about itself, nil when nothing.
	Facts *Facts
	// Write goes to the child, in order; each is a whole message with its line end.
	Write [][]byte
	// Effects are to be done on this machine.
	Effects []Effect
	// Done are outcomes of commands that carry an ID.
	Done []Outcome
	// WakeAt is when to call Tick, the zero Time for never. It replaces the
	// WakeAt of every earlier Step.
	WakeAt time.Time
	// Stop asks the host to stop the child because the Protocol gave up on it;
	// it says why. Empty for no.
	Stop string
}

// Draft is an envelope before the stamper gave it id, time and turn.
//
// Ids inside the event (call, agentId) are native; host/stamp makes them
// unique in the session and turns agentId into a cuid2.
type Draft struct {
	// Role is agent when empty.
	Role contract.Role
	// Subagent is the native id of the sub-agent that produced it, empty for the main agent.
	Subagent string
	// Origin is the native message or item id, empty when there is none.
	Origin string
	Event  contract.Event
	// Ask is set for a permission-request: the Protocol's own key for the
	// Answer, unique for its life.
	Ask string
	// AskOptions say what the agent takes as an answer to Ask.
	AskOptions AskOptions
	// Key names a user's Text that a person typed in the agent's own interface, so
	// that Prompts can. It is unique for the Protocol's life. An Outcome whose ID is
	// a Key says that the agent gave the text back and no turn will take it up.
	Key string
	// Prompts are set for a turn-start: the ids of the Prompt and Steer commands,
	// and the Keys of what was typed, that the agent takes up with this turn. None
	// means an autonomous turn.
	Prompts []string
	// Background is set for a subagent-start whose sub-agent may outlive its turn:
	// it then stays open until its subagent-stop. Others are stopped with the turn.
	Background bool
}

// AskOptions say what answers the agent understands beyond allow and reject.
type AskOptions struct {
	// EditArgs: Answer.Args is taken. Message: Answer.Message reaches the model.
	EditArgs, Message bool
}

// Delta is a piece of text as it is made.
type Delta struct {
	// Subagent is native, empty for the main agent.
	Subagent string
	// Call is the native tool call whose output it is, empty for the agent's text.
	Call     string
	Thinking bool
	Text     string
}

// Outcome is how a command ended.
type Outcome struct {
	// ID is the command's.
	ID string
	// Result is any JSON, nil when there is none.
	Result jsontext.Value
	// Err is why it failed, nil when it did not.
	Err *contract.Error
}

// Facts are what an agent told about itself and its session. Nil and empty
// fields are unchanged; a non-nil empty slice clears.
type Facts struct {
	// NativeSession is the agent's own session id: what Options.Resume takes.
	NativeSession string              `json:"nativeSession,omitzero"`
	AgentName     string              `json:"agentName,omitzero"`
	AgentVersion  string              `json:"agentVersion,omitzero"`
	Title         string              `json:"title,omitzero"`
	Model         string              `json:"model,omitzero"`
	Mode          string              `json:"mode,omitzero"`
	Thinking      string              `json:"thinking,omitzero"`
	Models        []session.ModelInfo `json:"models,omitempty"`
	Modes         []Choice            `json:"modes,omitempty"`
	Thinkings     []Choice            `json:"thinkings,omitempty"`
	Commands      []SlashCommand      `json:"commands,omitempty"`
	// Agents are the kinds of sub-agents that the agent can start.
	Agents      []Choice     `json:"agents,omitempty"`
	Plan        []PlanEntry  `json:"plan,omitempty"`
	AuthMethods []AuthMethod `json:"authMethods,omitempty"`
	// ContextUsed and ContextSize are tokens, 0 when not known.
	ContextUsed int64 `json:"contextUsed,omitzero"`
	ContextSize int64 `json:"contextSize,omitzero"`
}

// Choice is one value of a setting.
type Choice struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitzero"`
	Description string `json:"description,omitzero"`
}

// SlashCommand is a command that a prompt may start with.
type SlashCommand struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Hint        string `json:"hint,omitzero"`
}

// PlanEntry is one step of the agent's plan or todo list.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority,omitzero"`
	// Status is pending, in_progress or completed.
	Status string `json:"status"`
}

// AuthMethod is a way to log in.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitzero"`
	Description string `json:"description,omitzero"`
}
