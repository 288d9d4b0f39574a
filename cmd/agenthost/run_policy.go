package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/grant"
	"github.com/agenthost/agenthost/permission/policy"
)

// sessionMediator makes the mediator of one run: the config's rules, a policy
// file, the rules of the command line, remembered grants, the audit log.
func sessionMediator(st *streams, cfg configuration, f *runFlags, hc *host.Config, cl *closers) (*permission.Mediator, error) {
	env := policy.HostEnv()
	base, err := basePolicy(cfg, env)
	if err != nil {
		return nil, err
	}
	if f.policy != "" {
		file, err := policyFile(f.policy, env)
		if err != nil {
			return nil, err
		}
		warnOf(st, file, runnable(agentSet(cfg)))
		base = policy.Join(base, file)
	}
	rules, err := policy.FromFlags(policy.Flags{
		Allow: f.allow, Ask: f.ask, Deny: f.deny, Mode: f.mode, Bypass: f.allowBypass,
	}, env)
	if err != nil {
		return nil, usage("see docs/permissions.md for the rules", "%v", err)
	}
	warnOf(st, rules, nil)
	if f.onAsk == string(policy.OnAskPrompt) && f.output != outputTUI && (!asksHere(st) || f.input != "text") {
		return nil, usage("use --on-ask wait, deny or fail", "--on-ask prompt: there is no terminal to ask at")
	}
	grants, audit, err := openRecords(cfg.StateDir, cl)
	if err != nil {
		return nil, err
	}
	m := permission.New(permission.Options{Policy: base, Grants: grants, Audit: audit})
	cl.add(m)
	err = m.StartSession(hc.ID, permission.SessionOptions{
		OnAsk: onAsk(st, f, base), Rules: rules,
		Mode: contract.PermissionMode(hc.Options.Mode), By: contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientCLI},
	})
	if err != nil {
		return nil, usage("see agenthost run --help", "%v", err)
	}
	hc.Options.AskFirst = watched(policy.Join(base, rules), hc.Adapter.Name())
	if mode := m.Mode(hc.ID); hc.Options.Mode == "" && mode != contract.ModeDefault {
		hc.Options.Mode = string(mode) // a policy file's: the agent is held to it, too
	}
	return m, nil
}

// warnOf tells of rules that hardly say what was meant.
func warnOf(st *streams, p *policy.Policy, agents []string) {
	for _, w := range policy.Check(p, agents).Warnings {
		fmt.Fprintln(st.err, "agenthost: warning:", w)
	}
}

// watched are the uses that the rules of p are about, for an agent.
func watched(p *policy.Policy, agent string) []adapters.Use {
	var uses []adapters.Use
	for _, u := range p.Watched(agent) {
		uses = append(uses, adapters.Use(u))
	}
	return uses
}

// policyFile reads a policy file. It adds to the config's rules; of the settings it
// changes those that it says.
func policyFile(path string, env policy.Env) (*policy.Policy, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("name a readable policy file", "%v", err)
	}
	c, err := policy.ParseConfig(data)
	if err != nil {
		return nil, usage("see docs/permissions.md for its form", "policy %s: %v", path, err)
	}
	p, err := policy.CompilePart(c, env)
	if err != nil {
		return nil, usage("see docs/permissions.md for its form", "policy %s: %v", path, err)
	}
	return p, nil
}

// onAsk is what an ask does that no rule decides: what the flag or the policy
// says; else a person is asked where there can be one, and nobody is elsewhere.
func onAsk(st *streams, f *runFlags, base *policy.Policy) policy.OnAsk {
	if f.output == outputTUI {
		// The agent asks on its own screen, and elsewhere.
		o := policy.OnAsk(f.onAsk)
		if o == "" && base != nil {
			o = base.OnAsk
		}
		if o == "" || o == policy.OnAskPrompt {
			o = policy.OnAskWait
		}
		return o
	}
	switch {
	case f.onAsk != "":
		return policy.OnAsk(f.onAsk)
	case base != nil && base.OnAsk != "":
		return base.OnAsk
	case f.input == "envelopes":
		return policy.OnAskWait
	case asksHere(st):
		return policy.OnAskPrompt
	}
	return policy.OnAskDeny
}

// asksHere reports whether a person sits at a terminal that can be asked.
func asksHere(st *streams) bool {
	in, closer := terminalInput(st)
	if closer != nil {
		_ = closer.Close()
	}
	return in != nil
}

// openRecords opens the remembered grants and the audit log.
func openRecords(stateDir string, cl *closers) (*grant.Store, *os.File, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, nil, usage("make it writable, or set stateDir", "state directory: %v", err)
	}
	grants, err := openGrants(stateDir)
	if err != nil {
		return nil, nil, err
	}
	cl.add(grants)
	audit, err := os.OpenFile(filepath.Join(stateDir, "audit.ndjson"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, usage("make it writable", "audit log: %v", err)
	}
	cl.add(audit)
	return grants, audit, nil
}

func openGrants(stateDir string) (*grant.Store, error) {
	g, err := grant.Open(filepath.Join(stateDir, "grants.ndjson"), grant.Options{})
	if err != nil {
		return nil, &problem{code: exitUsage, what: "remembered grants: " + err.Error(), mend: "move the file away to forget them"}
	}
	return g, nil
}
