package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/acp"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/adapters/codex"
	"github.com/agenthost/agenthost/adapters/gemini"
	"github.com/agenthost/agenthost/adapters/pty"
	"github.com/agenthost/agenthost/config"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/redact"
	"github.com/agenthost/agenthost/internal/slip"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/permission/policy"
)

// configuration is the loaded config.
type configuration = config.Config

func loadConfig(cmd *cobra.Command) (configuration, error) {
	file, err := cmd.Flags().GetString("config")
	if err != nil {
		return configuration{}, err
	}
	return loadConfigFile(file)
}

func loadConfigFile(file string) (configuration, error) {
	cfg, err := config.Load(loadOptions(file))
	if err != nil {
		return configuration{}, usage("agenthost config schema lists every key", "%v", err)
	}
	return cfg, nil
}

func loadOptions(file string) config.LoadOptions {
	return config.LoadOptions{File: file, Environ: environ(), KnownEnv: hostsOwn(), KnownAgents: runnable(agentSet(configuration{}))}
}

// hostsOwn are the variables of the processes that a host starts, which are no settings:
// a shell under agenthost has agenthost, too.
func hostsOwn() []string {
	return []string{"AGENTHOST_CHILD", "AGENTHOST_SHIM", "AGENTHOST_GEMINI_CHATS"}
}

// warnings are what a person should know of the config.
func warnings(cfg configuration) []string {
	return cfg.Warnings
}

// prune removes sessions that are older than the config keeps them.
func prune(cfg configuration, log *slog.Logger) {
	if cfg.Journal.Retention <= 0 {
		return
	}
	removed, err := host.Prune(cfg.StateDir, time.Now().Add(-cfg.Journal.Retention))
	if err != nil {
		log.Warn("removing old sessions", "err", err)
	}
	log.Info("old sessions removed", "sessions", len(removed))
}

// agentSet has every agent: those with an adapter of their own, the known ones
// that speak ACP, and those that the config adds.
func agentSet(cfg configuration) adapters.Set {
	var list []adapters.Adapter
	for _, spec := range acp.Known() {
		list = append(list, acp.New(spec))
	}
	list = append(list, gemini.New(), claude.New(), codex.New())
	for _, c := range cfg.Custom {
		list = append(list, acp.New(customSpec(c)))
	}
	return adapters.NewSet(list...)
}

// agentNamed is an agent that can be run by its name: one of the set, or pty, which is
// none that can be listed, as it is whatever stands behind --.
func agentNamed(cfg configuration, name string) (adapters.Adapter, error) {
	switch name {
	case ptyAgent:
		return pty.New(), nil
	case anyACP:
		return nil, errors.New("acp is a command behind --, and stands in no configuration")
	}
	set := agentSet(cfg)
	if a, ok := set.Get(name); ok {
		return a, nil
	}
	return nil, unknownAgent(name, runnable(set))
}

// runnable are the names that an agent is run by: those of the set, and the two that
// take a command.
func runnable(set adapters.Set) []string { return append(set.Names(), anyACP, ptyAgent) }

// unknownAgent says that no agent has a name: which one was probably meant, or else
// which there are.
func unknownAgent(name string, known []string) error {
	if near := slip.Nearest(name, known); near != "" {
		return fmt.Errorf("unknown agent %q, did you mean %q?", name, near)
	}
	return fmt.Errorf("unknown agent %q: want one of %s", name, strings.Join(known, ", "))
}

// ptyAgent is the name of the agent that is any program of the terminal, anyACP of the
// one that is any program that speaks ACP.
const (
	ptyAgent = "pty"
	anyACP   = "acp"
)

func customACP(command []string) adapters.Adapter { return acp.Custom(command) }

// customSpec is an agent of the config as the ACP adapter takes it.
func customSpec(c config.CustomAgent) acp.AgentSpec {
	q := c.Quirks
	return acp.AgentSpec{
		Name: c.Name, Title: cmp.Or(c.Title, c.Name), Command: c.Command, Install: c.Install, Login: c.Login,
		VersionArgs: c.VersionArgs, Env: pairs(c.Env), Pass: c.PassEnv,
		Quirks: acp.Quirks{
			Client: acp.ClientFeatures{
				ReadFile: q.ReadFile, WriteFile: q.WriteFile, Terminal: q.Terminal, MissingReadsEmpty: q.MissingReadsEmpty,
				NoElicitation: q.NoElicitation, Subagents: q.Subagents,
			},
			Modes: modes(q.Modes), StartMode: q.StartMode, FreeModes: q.FreeModes, Tools: q.Tools,
			NameFromTitle: q.NameFromTitle, NameFromID: q.NameFromID, TitleIsCommand: q.TitleIsCommand, StubWait: q.StubWait,
			Usage:  map[string]acp.UsageKind{"session": acp.UsageSession, "last-request": acp.UsageLastRequest}[q.Usage],
			Steer:  map[string]acp.SteerKind{"prompt": acp.SteerPrompt, "drain": acp.SteerDrain, "never": acp.SteerNever}[q.Steer],
			Fork:   map[string]acp.ForkKind{"branch": acp.ForkBranch, "never": acp.ForkNever}[q.Fork],
			Rewind: q.Rewind, Since: q.Since, ReplaySettle: q.ReplaySettle, NoResume: q.NoResume, NoLoad: q.NoLoad,
			ImagesAlone: q.ImagesAlone, NarrowOptions: q.NarrowOptions, ErrorText: q.ErrorText, LaunchTakes: q.LaunchTakes,
		},
	}
}

func modes(m map[string]string) map[contract.PermissionMode]string {
	if m == nil {
		return nil
	}
	out := make(map[contract.PermissionMode]string, len(m))
	for k, v := range m {
		out[contract.PermissionMode(k)] = v
	}
	return out
}

func pairs(list []config.Pair) []adapters.Pair {
	var out []adapters.Pair
	for _, p := range list {
		out = append(out, adapters.Pair{Name: p.Name, Value: p.Value})
	}
	return out
}

// applyConfig fills in what the config says and no flag said.
func applyConfig(hc *host.Config, cfg configuration) {
	a := cfg.Agent(hc.Adapter.Name())
	if hc.Command == nil {
		hc.Command = a.Command
	}
	hc.Args = append(a.Args[:len(a.Args):len(a.Args)], hc.Args...)
	hc.Env = pairs(a.Env)
	hc.PassEnv = append(a.PassEnv[:len(a.PassEnv):len(a.PassEnv)], hc.PassEnv...)
	o := &hc.Options
	o.Model, o.Thinking = cmp.Or(o.Model, a.Model), cmp.Or(o.Thinking, a.Thinking)
	o.Mode = cmp.Or(o.Mode, a.Mode)
	if o.Mode == "" && cfg.Origin("permissions.mode") != "default" {
		// An adapter that is told no mode begins in the one that asks.
		o.Mode = cfg.Permissions.Mode
	}
	o.AllowBypass = o.AllowBypass || cfg.Permissions.AllowBypass
	o.Settings = settings(hc.Adapter, a, cfg)
	l := cfg.Limits
	hc.Limits = host.Limits{
		LineBytes: int(l.LineBytes), OutputBytes: int(l.OutputBytes), StderrBytes: int(l.StderrBytes), Start: l.Start,
		Abort: l.Abort, Stop: l.Stop, Quiet: l.Quiet, Restarts: restarts(l.Restarts),
	}
	hc.Journal = journalOptions(cfg)
	hc.Price = func(model string, u contract.Usage) (float64, bool) {
		p, ok := cfg.Price(model)
		return p.Cost(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens), ok
	}
}

func journalOptions(cfg configuration) journal.Options {
	return journal.Options{
		Sync:     map[string]journal.SyncPolicy{"off": journal.SyncOff, "always": journal.SyncAlways}[cfg.Journal.Sync],
		Interval: cfg.Journal.Interval, SegmentBytes: cfg.Journal.SegmentBytes,
	}
}

// restarts: the host takes 0 as its default.
func restarts(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// settings are the adapter's own settings, and what the config says for all
// agents that the adapter takes as a setting.
func settings(a adapters.Adapter, c config.Agent, cfg configuration) map[string]string {
	s := maps.Clone(c.Settings)
	if s == nil {
		s = map[string]string{}
	}
	if _, set := s["remember"]; !set && cfg.Permissions.Remember != "" {
		s["remember"] = cfg.Permissions.Remember
	}
	switch a.(type) {
	case acp.Adapter, gemini.Adapter, claude.Adapter, codex.Adapter:
		if _, set := s["stall"]; !set {
			s["stall"] = cfg.Limits.Stall.String()
		}
	}
	return s
}

// basePolicy is the config's policy.
func basePolicy(cfg configuration, env policy.Env) (*policy.Policy, error) {
	p := cfg.Permissions
	c := policy.Config{
		Mode: p.Mode, AllowBypass: p.AllowBypass, Timeout: p.Timeout.String(), OnAsk: p.OnAsk, Remember: p.Remember,
	}
	for _, r := range p.Rules {
		c.Rules = append(c.Rules, policy.RuleConfig{
			Allow: r.Allow, Ask: r.Ask, Deny: r.Deny, Agents: r.Agents, Cwd: r.Cwd, Subagent: r.Subagent, At: r.At,
		})
	}
	compiled, err := policy.Compile(c, env)
	if err != nil {
		return nil, usage("see docs/permissions.md for the rules", "%v", err)
	}
	return compiled, nil
}

// newLogger logs to w as the config says. A command whose output people read
// says only what went wrong, unless somebody asked for more.
func newLogger(w io.Writer, cfg configuration, secrets *redact.Redactor) *slog.Logger {
	level := slog.LevelWarn
	if cfg.Origin("log.level") != "default" {
		// An unknown level was refused when the config was loaded.
		_ = level.UnmarshalText([]byte(strings.ToUpper(cfg.Log.Level)))
	}
	o := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if cfg.Log.Format == "json" {
		h = slog.NewJSONHandler(w, o)
	}
	return slog.New(redact.Handler(h, secrets))
}

// newRedactor knows the secrets of the config, of this process's environment and
// of the agent's, and more.
func newRedactor(cfg configuration, agent []adapters.Pair, more ...string) *redact.Redactor {
	secrets := append(cfg.Secrets(), secretsOf(environ())...)
	secrets = append(secrets, more...)
	for _, p := range agent {
		if redact.SecretName(p.Name) {
			secrets = append(secrets, p.Value)
		}
	}
	return redact.New(secrets...)
}
