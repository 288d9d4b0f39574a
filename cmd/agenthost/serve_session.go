package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/host/daemon"
	"github.com/agenthost/agenthost/internal/childenv"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/internal/redact"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/policy"
	"github.com/agenthost/agenthost/relay/wire"
)

// prepare makes the configuration of a session that is about to start: that of the
// file as it is now, and what was asked for.
func (s *server) prepare(_ context.Context, r daemon.Request) (daemon.Prepared, error) {
	cfg, p := s.live.Config(), r.Spawn
	adapter, err := agentNamed(cfg, p.Agent)
	if err != nil {
		return daemon.Prepared{}, wire.Errorf(wire.CodeNotFound, "%v", err)
	}
	set := &setup{config: cfg, host: host.Config{
		ID: r.ID, Dir: p.Dir, StateDir: cfg.StateDir, Adapter: adapter, Args: slices.Clone(p.Args),
		Options: adapters.Options{
			Model: p.Model, Mode: p.Mode, Thinking: p.Thinking, Sandbox: p.Sandbox, Dirs: slices.Clone(p.Dirs),
			SystemPrompt: p.SystemPrompt, MaxTurns: p.MaxTurns, BudgetUSD: p.BudgetUSD, Resume: r.Native,
		},
		Client: adapters.ClientInfo{Name: "agenthost", Title: "agenthost", Version: version},
	}}
	hc := &set.host
	if p.Face == wire.FaceTerminal {
		hc.Face, hc.Cols, hc.Rows, hc.Term, hc.ColorTerm = adapters.FaceTerminal, p.Cols, p.Rows, p.Term, p.ColorTerm
	}
	hc.Options.AskFirst = watched(s.mediator.Policy(), adapter.Name())
	own := inherits(hc, r.Env)
	applyConfig(hc, cfg)
	hc.Env = append(hc.Env, own...)
	hc.Notices = lost(hc, r)
	set.secrets = newRedactor(cfg, hc.Env, secretsOf(hc.Environ)...)
	hc.Logger = slog.New(redact.Handler(s.log.Handler(), set.secrets))
	if err := set.record(cfg, ""); err != nil {
		set.close()
		return daemon.Prepared{}, err
	}
	opts := permission.SessionOptions{
		Mode: contract.PermissionMode(hc.Options.Mode),
		By:   contract.DecisionBy{Resolver: contract.ByClient, ClientType: r.Caller.ClientType, TokenID: r.Caller.TokenID},
	}
	if r.Caller.Scope == "" {
		opts.By = contract.DecisionBy{Resolver: contract.ByHost}
	}
	if o := s.mediator.Policy().OnAsk; o == policy.OnAskPrompt {
		opts.OnAsk = policy.OnAskWait // there is no terminal here, but people elsewhere
	}
	return daemon.Prepared{Host: *hc, Session: opts, Close: set.close}, nil
}

// agents lists what this host can run, for those who choose.
func (s *server) agents(context.Context) []wire.AgentInfo {
	cfg := s.live.Config()
	set := agentSet(cfg)
	var list []wire.AgentInfo
	for _, name := range set.Names() {
		a, _ := set.Get(name)
		d := a.Describe()
		info := wire.AgentInfo{Name: name, Title: d.Title, Missing: map[session.Capability]string{}}
		for _, c := range d.Claims {
			if c.Supported || c.Capability == session.CapQueue { // the host queues for every agent
				info.Capabilities = append(info.Capabilities, c.Capability)
			} else {
				info.Missing[c.Capability] = c.Reason
			}
		}
		info.Installed = installed(cfg, name, d)
		list = append(list, info)
	}
	return list
}

// installed reports whether the agent's command is found where sessions look.
func installed(cfg configuration, name string, d adapters.Description) bool {
	command := cfg.Agent(name).Command
	if command == nil {
		command = d.Command
	}
	if len(command) == 0 {
		return false
	}
	path, _ := childenv.Get(environ(), "PATH")
	_, err := proc.Resolve(command[0], path)
	return err == nil
}

// tokenOf reads a token file. Its mode is the user's affair, but a file that all can
// read is worth a word.
func tokenOf(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", usage("name a readable file with the token", "--token-file: %v", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", usage("put the token alone into the file", "--token-file %s: %v", file, errors.New("want one word, got none or several"))
	}
	return token, nil
}
