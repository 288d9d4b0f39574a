package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/permission"
)

// Config describes one session.
type Config struct {
	// ID is the session's id, a cuid2; one is made when it is empty. An ID whose
	// journal exists in StateDir is gone on with.
	ID string
	// Dir is the working directory, absolute.
	Dir string
	// StateDir is the host's state directory; the session keeps its files in
	// sessions/ID below it.
	StateDir string
	Adapter  adapters.Adapter
	Options  adapters.Options
	// Face is how the agent shows itself at first. A session that is gone on with has
	// the face that is set here; Meta.Face tells the last one, and goes on to do so on the
	// disk until the agent has opened its session in the new one. Cols and Rows are the
	// size of its screen, 80 and 24 when 0.
	Face       adapters.Face
	Cols, Rows int
	// Term and ColorTerm are TERM and COLORTERM of the person's terminal that shows
	// the screen from the start; empty are those of a good one.
	Term, ColorTerm string
	// Hook are the words of the command that hooks of the agent run, which ends up in
	// hook.Run. Nil is this program's, with "hook" behind it.
	Hook []string
	// Command replaces the agent's own command when not nil; Args follow it.
	Command, Args []string
	// Env is set in the child's environment, PassEnv are globs of further
	// variables of Environ to pass through.
	Env     []adapters.Pair
	PassEnv []string
	// Environ is the host's environment, as "K=V".
	Environ []string
	// Requeue runs the prompts that an earlier run of the session accepted and that
	// no turn took up. Without it a notice says that they are not run.
	Requeue bool
	// Notices are put into the stream before the agent is started.
	Notices []string
	// Title is a person's name for the session, may be empty.
	Title string
	// Parent and Origin say what the session is branched off, see Branch.
	Parent, Origin string
	// Control is what starts the session, for its first session-control-changed.
	// Empty writes none.
	Control contract.ClientType
	Client  adapters.ClientInfo
	Limits  Limits
	Journal journal.Options
	// Mediator decides asks. Nil rejects every ask.
	Mediator Mediator
	// Price gives the cost in USD of what a model used, false when not known.
	// Nil knows none.
	Price func(model string, u contract.Usage) (float64, bool)
	// Record gets every frame, write and command, in order. Nil records nothing.
	Record Recorder
	// Logger gets facts about the session, never what people or agents said
	// above Debug. Nil is silent.
	Logger *slog.Logger
	// Changed is called when what Status tells may have changed, from the loop: it
	// must not block. Nil is nobody.
	Changed func()
	// Start starts children; nil is Processes(nil). Resolve finds a command's
	// executable on a PATH; nil is proc.Resolve.
	Start   Starter
	Resolve func(command, path string) (string, error)
	// NewID makes ids; nil makes cuid2s.
	NewID func() string
}

// Mediator decides what an agent may do. *permission.Mediator is the real one.
type Mediator interface {
	// Open puts an ask before all who may decide. settle is called exactly once,
	// from any goroutine, also before Open returns; it must not block.
	Open(ask permission.Ask, settle func(permission.Answer)) error
	// Resolve gives a person's decision.
	Resolve(ctx context.Context, id string, r permission.Response) error
	// Withdraw closes an ask without a decision. When it returns the ask is settled.
	Withdraw(id string, cause contract.Resolver)
	// SetMode changes the mode of a session. permission.ErrBypass refuses
	// bypassPermissions without the local opt-in.
	SetMode(session string, mode contract.PermissionMode, by contract.DecisionBy) error
	// Decided closes an ask that was answered in the agent's own terminal. When it
	// returns the ask is settled, by this answer or one that came first.
	Decided(id string, d contract.Decision, by contract.DecisionBy)
	// Mode is the mode that holds for a session; Permits says whether it may be
	// switched to one, and audits a try that may not.
	Mode(session string) contract.PermissionMode
	// Preview is the ask with what the policy says of it (Verdict); it opens nothing.
	Preview(ask permission.Ask) permission.Ask
	Permits(session string, mode contract.PermissionMode, by contract.DecisionBy) error
}

var _ Mediator = (*permission.Mediator)(nil)

// Limits bound what a session takes and waits for. A zero field means its default.
type Limits struct {
	// LineBytes is the longest line of an agent's output; longer ones are
	// dropped with a service envelope. Default 64 MiB.
	LineBytes int
	// OutputBytes is the longest tool output in an envelope; longer ones are cut
	// and marked. Default 256 KiB.
	OutputBytes int
	// StderrBytes is how much of the end of an agent's stderr is kept for error
	// reports. Default 64 KiB.
	StderrBytes int
	// Start is how long an agent may take until its session is open. Default 2 min.
	Start time.Duration
	// Abort is how long an agent may take to end an aborted turn before it is
	// stopped. Default 20 s.
	Abort time.Duration
	// Stop is the grace of each step of stopping an agent. Default 3 s.
	Stop time.Duration
	// Quiet is how long an agent that spoke without a prompt may be silent, with
	// nothing open, until its turn is taken as ended. Default 2 s.
	Quiet time.Duration
	// Restarts is how often in a row an agent that died is started again for the
	// next prompt. Default 3; negative for never.
	Restarts int
}

func (l Limits) withDefaults() Limits {
	def := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	if l.LineBytes == 0 {
		l.LineBytes = 64 << 20
	}
	if l.OutputBytes == 0 {
		l.OutputBytes = 256 << 10
	}
	if l.Restarts == 0 {
		l.Restarts = 3
	}
	def(&l.Start, 2*time.Minute)
	def(&l.Abort, 20*time.Second)
	def(&l.Stop, 3*time.Second)
	def(&l.Quiet, 2*time.Second)
	return l
}
