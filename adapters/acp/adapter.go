package acp

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract/session"
)

// Adapter runs one kind of ACP agent. It is a value without state and safe for
// concurrent use.
type Adapter struct{ spec AgentSpec }

var _ adapters.Adapter = Adapter{}

// New makes an adapter of a spec. It takes the spec as it is; Known has those of
// this package.
func New(spec AgentSpec) Adapter { return Adapter{spec} }

// Custom makes an adapter for any command that speaks ACP on its standard input
// and output: agenthost run acp -- CMD…
func Custom(argv []string) Adapter {
	title := "ACP agent"
	if len(argv) > 0 {
		title = path.Base(argv[0])
	}
	return Adapter{AgentSpec{Name: "acp", Title: title, Command: slices.Clone(argv)}}
}

// Spec returns the adapter's spec.
func (a Adapter) Spec() AgentSpec { return a.spec }

// Name implements adapters.Adapter.
func (a Adapter) Name() string { return a.spec.Name }

// Describe implements adapters.Adapter.
func (a Adapter) Describe() adapters.Description {
	s := a.spec
	return adapters.Description{
		Title: s.Title, Command: slices.Clone(s.Command), Install: s.Install, Login: s.Login, Credentials: slices.Clone(s.Credentials),
		VersionArgs: slices.Clone(s.VersionArgs), Tested: slices.Clone(s.Tested), Claims: claims(s.Quirks),
	}
}

// Launch implements adapters.Adapter.
func (a Adapter) Launch(req adapters.LaunchRequest) (adapters.Launch, error) {
	s := a.spec
	if err := refusedOptions(s, req.Options); err != nil {
		return adapters.Launch{}, err
	}
	argv := s.Command
	if req.Command != nil {
		argv = req.Command
	}
	if len(argv) == 0 && s.Name == "acp" {
		argv, req.Args = req.Args, nil // agenthost run acp -- CMD…
	}
	if len(argv) == 0 {
		return adapters.Launch{}, fmt.Errorf("%s has no command: want one after --, as in: agenthost run acp -- CMD", s.Name)
	}
	l := adapters.Launch{
		Argv: slices.Concat(argv, req.Args),
		Env:  slices.Clone(s.Env),
		Pass: slices.Clone(s.Pass),
	}
	if s.Hooks.Launch != nil {
		if err := s.Hooks.Launch(req, &l); err != nil {
			return adapters.Launch{}, err
		}
	}
	return l, nil
}

// NewProtocol implements adapters.Adapter.
func (a Adapter) NewProtocol(info adapters.SessionInfo) adapters.Protocol {
	return newProtocol(a.spec, info)
}

// claims says what is claimed of an agent before its handshake. What only the
// handshake can tell is claimed with that as the reason.
func claims(q Quirks) []adapters.Claim {
	steer := adapters.Claim{Capability: session.CapSteer, Supported: true}
	switch q.Steer {
	case SteerAdvertised:
		steer.Reason = "if the agent advertises _session/steering in its handshake"
	case SteerDrain:
		steer.Reason = "the agent takes messages up after its running batch of tools" + from(q.Since)
	case SteerNever:
		steer.Supported, steer.Reason = false, "a message in the middle of a turn ends the turn"
	}
	fork := adapters.Claim{Capability: session.CapFork, Supported: true}
	switch q.Fork {
	case ForkAdvertised:
		fork.Reason = "if the agent advertises session/fork in its handshake"
	case ForkBranch:
		fork.Reason = strings.TrimPrefix(from(q.Since), ", ")
	case ForkNever:
		fork.Supported, fork.Reason = false, "the agent has no fork over ACP"
	}
	rewind := adapters.Claim{Capability: session.CapRewind, Supported: q.Rewind, Reason: strings.TrimPrefix(from(q.Since), ", ")}
	if !q.Rewind {
		rewind.Reason = "ACP has no rewind"
	}
	return []adapters.Claim{
		steer,
		{Capability: session.CapQueue, Reason: "the host queues for every agent; ACP has no queue of its own"},
		rewind,
		fork,
		{Capability: session.CapStash, Reason: "ACP has no stash"},
		{Capability: session.CapDiff, Supported: true},
		{Capability: session.CapReasoning, Supported: true},
	}
}

func from(version string) string {
	if version == "" {
		return ""
	}
	return ", from version " + version + " on"
}

// Capabilities implements adapters.Protocol.
func (p *Protocol) Capabilities() []session.Capability {
	list := []session.Capability{session.CapDiff, session.CapReasoning}
	for _, c := range []struct {
		capability session.Capability
		has        bool
	}{{session.CapSteer, p.steers()}, {session.CapRewind, p.rewinds()}, {session.CapFork, p.forks()}} {
		if c.has {
			list = append(list, c.capability)
		}
	}
	return list
}

// setting returns an adapter-specific setting of the session.
func (p *Protocol) setting(name string) string {
	return strings.TrimSpace(p.info.Options.Settings[name])
}
