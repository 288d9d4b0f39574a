package permission

import (
	"encoding/json/jsontext"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/policy"
)

// Ask is one permission request or question of an agent.
type Ask struct {
	// ID is the host's, never used twice.
	ID string
	// Nonce is fresh for each showing of the ask; a Response that names another
	// one is stale. The Mediator makes one when it is empty.
	Nonce string
	// Session and Call name the request in the stream.
	Session, Call string
	// Agent is the adapter's name. Subagent is the sub-agent's id, empty for the
	// main agent.
	Agent, Subagent string
	// Tool is the canonical tool name, Args its input.
	Tool string
	Args jsontext.Value
	// Title and Description are for people.
	Title, Description string
	// Cwd is the session's directory, absolute. Project is what grants of scope
	// project are tied to; Cwd when empty.
	Cwd, Project string
	// Options are the decisions that the agent offers, Patterns and Always what
	// the ask and allow-always cover. The Mediator fills the last two from the
	// arguments when they are empty.
	Options          []contract.PermissionOption
	Patterns, Always []string
	// Question is set when the agent asks something: no rule and no mode answers.
	Question *contract.Question
	// CanEditArgs and CanMessage say whether the agent takes edited arguments and
	// feedback.
	CanEditArgs, CanMessage bool
	// Opened is when the agent asked; now when zero. Deadline is when the ask is
	// rejected, zero for the policy's timeout.
	Opened, Deadline time.Time
	// Verdict says why people are asked. The Mediator sets it.
	Verdict policy.Explanation
}

// Response is one party's decision.
type Response struct {
	// EnvelopeID makes the decision idempotent: sent again it is no error. Empty
	// never matches.
	EnvelopeID string
	// Nonce is that of the Ask the person saw. Empty is taken as "the one with
	// this id": a client of plain v2 knows of none.
	Nonce    string
	Decision contract.Decision
	By       contract.DecisionBy
	// Message is feedback to the agent, Args replace the tool's input, Answers are
	// by question id; each is an error when the ask does not take it.
	Message string
	Args    jsontext.Value
	Answers jsontext.Value
	// Scope is what allow-always is remembered for, Project when empty. TTL is for
	// how long, 0 for ever.
	Scope Scope
	TTL   time.Duration
}

// Answer is what was decided.
type Answer struct {
	// EnvelopeID is that of the Response that decided, empty when none did.
	EnvelopeID string
	// Decision is what was decided, as the stream records it.
	Decision contract.Decision
	// AgentDecision is what the agent is told: allow-once for an allow-always that
	// the host remembers, because what an agent remembers itself leaves no trace.
	AgentDecision contract.Decision
	By            contract.DecisionBy
	Message       string
	// Args replace the tool's input when not nil.
	Args jsontext.Value
	// Answers are for the agent. They may hold secrets.
	Answers jsontext.Value
	// Recorded is what may be journaled of Answers: secrets are null in it.
	Recorded jsontext.Value
	// Grant is the id of the grant that allow-always made, empty for none: a
	// decision that cannot be remembered counts once.
	Grant string
	// Mode is the session's new mode when the decision changed it: leaving plan
	// mode restores the one before.
	Mode contract.PermissionMode
	// Fail says that the run is to end: a person was needed and none will come
	// (on-ask fail).
	Fail bool
}
