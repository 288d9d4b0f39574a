package adapters

import (
	"encoding/json/jsontext"

	"github.com/agenthost/agenthost/contract"
)

// Command is one thing a person or the host wants of the agent: one of the
// structs of this file.
type Command interface{ command() }

// Open performs the handshake and opens the session that SessionInfo.Options
// describe. It is the first command and comes once. Its Outcome says that the
// session is ready for prompts, or why it is not.
type Open struct{ ID string }

// Prompt starts a turn. The host sends one only when no prompt is under way.
type Prompt struct {
	// ID is the envelope id of the user's text.
	ID    string
	Text  string
	Files []Attachment
}

// Steer gives a message to the running turn.
type Steer struct {
	ID    string
	Text  string
	Files []Attachment
}

// Attachment is a file that goes with a prompt.
type Attachment struct {
	Name string
	MIME string
	// Path is absolute when the file lies on this machine, else empty.
	Path string
	// Data is the content when it was read, else nil.
	Data []byte
}

// Abort stops the running turn. The Protocol answers pending asks itself where
// the agent waits for that; the host has already settled them.
type Abort struct{}

// Answer settles an ask (Draft.Ask). There is one for each ask, unless the
// agent withdrew it (Step.Withdraw).
type Answer struct {
	// Ask is the Draft's Ask.
	Ask      string
	Decision contract.Decision
	// Cancelled says that nobody decided: the turn is aborted or the host stops.
	Cancelled bool
	// Message is feedback to the agent, empty when none.
	Message string
	// Args replace the tool's input when not nil.
	Args jsontext.Value
	// Answers are the answers to a question, by QuestionField.ID.
	Answers jsontext.Value
}

// Configure changes the configuration; only what is set. Its Outcome comes when
// the agent confirmed or refused.
type Configure struct {
	ID            string
	Mode          contract.PermissionMode
	Model         string
	ThinkingLevel string
	Sandbox       *bool
}

// Op is an agent-specific operation (rewind, fork, stash, compact, list …) that
// is passed through: session.op {name, params} -> raw JSON in its Outcome.
type Op struct {
	ID     string
	Name   string
	Params jsontext.Value
}

// AskFirst says anew what Options.AskFirst said at the start: the rules changed. Its
// Outcome comes when the agent confirmed or refused. An agent that cannot be told while
// it runs gives ErrUnsupported.
type AskFirst struct {
	ID   string
	Uses []Use
}

// EffectDone reports what became of an Effect.
type EffectDone struct {
	// ID is the Effect's.
	ID string
	// Content is what ReadFile read.
	Content string
	// Terminal is the id that TerminalCreate made.
	Terminal string
	// Output, Truncated and Exit belong to the terminal effects; Exit is nil
	// while the command runs.
	Output    string
	Truncated bool
	Exit      *TerminalExit
	// Err says why it failed, nil when it did not.
	Err *EffectError
}

// Close says that the session ends: a protocol-level goodbye. Its Outcome says that
// the agent answered it, at once when no answer is awaited; nothing of it is read but
// that it came, and without an ID none is wanted. The host closes the child's input
// then, or when that takes too long.
type Close struct{ ID string }

func (Open) command()       {}
func (Prompt) command()     {}
func (Steer) command()      {}
func (Abort) command()      {}
func (Answer) command()     {}
func (Configure) command()  {}
func (Op) command()         {}
func (AskFirst) command()   {}
func (EffectDone) command() {}
func (Close) command()      {}
