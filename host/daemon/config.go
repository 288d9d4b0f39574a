package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/relay/wire"
)

// Config describes a daemon.
type Config struct {
	// StateDir is the host's state directory, absolute.
	StateDir string
	// RuntimeDir is where sockets belong, XDG_RUNTIME_DIR as a rule; empty for none.
	RuntimeDir string
	// Host is what is told of this host. Its ID is made and kept when it is empty.
	Host wire.Host
	// Agents are those that it can run, asked for when somebody wants to know. Nil
	// is none.
	Agents func(context.Context) []wire.AgentInfo
	// Mediator decides for all sessions. It is the caller's to close, after Close.
	Mediator *permission.Mediator
	// Prepare makes the configuration of a session that is about to start.
	Prepare func(context.Context, Request) (Prepared, error)
	// Journal is for journals that are settled without a session.
	Journal journal.Options
	Limits  Limits
	// Resume starts the agents again that a crash or a stop of the host ended.
	Resume bool
	// Restart starts an agent that died again by itself, with a back-off; else the
	// next message does.
	Restart bool
	// Hosts and Origins are names and pages that requests to loopback addresses may
	// come for and from, besides this machine's own; HostSetting and OriginSetting
	// say to whom was refused how to add one (gateway.Options).
	Hosts, Origins             []string
	HostSetting, OriginSetting string
	// Logger gets facts, never what people or agents said. Nil is silent.
	Logger *slog.Logger
	// Machine tells this machine from others; nil is the system's.
	Machine *Machine
}

// Limits bound a daemon. A zero field means its default.
type Limits struct {
	// Sessions is how many agents may run at once; a further one is CodeBusy.
	// Default 64.
	Sessions int
	// Idle is after how long without a turn and a viewer an agent is stopped; its
	// session stays. 0 is never.
	Idle time.Duration
	// FilesBytes bounds the uploaded files; the oldest go for new ones, and one
	// that has no room is CodeTooLarge. Default 1 GiB.
	FilesBytes int64
	// Stop bounds a polite stop of one session; its agent is killed then. Default
	// 1 min.
	Stop time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Sessions == 0 {
		l.Sessions = 64
	}
	if l.FilesBytes == 0 {
		l.FilesBytes = 1 << 30
	}
	if l.Stop == 0 {
		l.Stop = time.Minute
	}
	return l
}

// Request asks for the configuration of a session that is about to start.
type Request struct {
	ID string
	// Spawn is what it was started with, and what was changed since: model, mode,
	// thinking level.
	Spawn wire.SpawnParams
	// Env is the environment that it was given, nil for the host's own. Lost are names of
	// the one that it was given and that an earlier daemon had.
	Env  *wire.Environment
	Lost []string
	// Native is the agent's own session to go on with, empty for a new one.
	Native string
	// Branch is what the session is branched off, nil for nothing. It is set for the
	// first start only.
	Branch *host.Branch
	// Caller is who wants it; the zero Caller is the daemon itself.
	Caller wire.Caller
	// Again is set when the session was there before.
	Again bool
}

// Prepared is a session that can be started. The daemon sets the ID, the state
// directory, the title, the mediator and Changed of Host.
type Prepared struct {
	Host host.Config
	// Session is what the mediator is told of it.
	Session permission.SessionOptions
	// Close releases what the preparation opened, when the session is over. Nil for
	// nothing.
	Close func()
}
