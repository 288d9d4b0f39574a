package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/contract"
)

// Config is a policy as people write it.
type Config struct {
	Mode        string
	AllowBypass bool
	// Timeout is a duration such as 10m; "" is the default, "0" for ever.
	Timeout string
	// OnAsk is wait, deny, fail, prompt or "".
	OnAsk string
	// Remember is host (default) or agent.
	Remember string
	Rules    []RuleConfig
}

// RuleConfig is one rule: exactly one of Allow, Ask and Deny is set.
type RuleConfig struct {
	Allow, Ask, Deny string
	// Agents, Cwd and Subagent narrow it down. Cwd is a path pattern for the
	// session's directory; Subagent true means sub-agents only, false main agents.
	Agents   []string
	Cwd      string
	Subagent *bool
	// At is where it stands, for messages; rules[i] when empty.
	At string
}

// DefaultTimeout is how long an ask waits when the policy does not say.
const DefaultTimeout = 10 * time.Minute

// Compile makes a policy of c for the machine env. The error joins every fault;
// each names its place, what was wanted and what was found.
func Compile(c Config, env Env) (*Policy, error) {
	p := &Policy{env: env, AllowBypass: c.AllowBypass, Timeout: DefaultTimeout}
	var faults []error
	fault := func(at string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", at, err))
		}
	}
	var err error
	p.Mode, err = ParseMode(c.Mode)
	fault("mode", err)
	if p.Mode == contract.ModeBypassPermissions && !c.AllowBypass {
		fault("mode", errors.New("want allowBypass: true with mode bypassPermissions"))
	}
	if c.Timeout != "" {
		p.Timeout, err = parseTimeout(c.Timeout)
		fault("timeout", err)
	}
	p.OnAsk, err = ParseOnAsk(c.OnAsk)
	fault("onAsk", err)
	p.Remember, err = parseRemember(c.Remember)
	fault("remember", err)
	for i, rc := range c.Rules {
		at := rc.At
		if at == "" {
			at = fmt.Sprintf("rules[%d]", i)
		}
		r, err := compileRule(rc, at, env)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		p.addRule(r)
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	p.index()
	return p, nil
}

// CompilePart makes a policy of c to be joined with others: settings that c does not say are
// not set, so that Join keeps those of the policies before it.
func CompilePart(c Config, env Env) (*Policy, error) {
	p, err := Compile(c, env)
	if err != nil {
		return nil, err
	}
	if c.Mode == "" {
		p.Mode = ""
	}
	if c.Timeout == "" {
		p.Timeout = -1
	}
	if c.Remember == "" {
		p.Remember = ""
	}
	return p, nil
}

func (p *Policy) addRule(r *Rule) {
	switch r.Kind {
	case Deny:
		p.deny = append(p.deny, r)
	case Ask:
		p.ask = append(p.ask, r)
	default:
		p.allow = append(p.allow, r)
	}
}

func parseTimeout(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if s == "0" {
		return 0, nil
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("want a duration such as 10m, or 0 for ever, got %q", s)
	}
	return d, nil
}

// ParseOnAsk reads wait, deny, fail or prompt; "" stays "".
func ParseOnAsk(s string) (OnAsk, error) {
	switch o := OnAsk(s); o {
	case "", OnAskWait, OnAskDeny, OnAskFail, OnAskPrompt:
		return o, nil
	}
	return "", fmt.Errorf("want wait, deny, fail or prompt, got %q", s)
}

func parseRemember(s string) (Remember, error) {
	switch r := Remember(s); r {
	case "":
		return RememberHost, nil
	case RememberHost, RememberAgent:
		return r, nil
	}
	return "", fmt.Errorf("want host or agent, got %q", s)
}

func compileRule(rc RuleConfig, at string, env Env) (*Rule, error) {
	kind, text := Verdict(""), ""
	for _, k := range []struct {
		kind Verdict
		text string
	}{{Allow, rc.Allow}, {Ask, rc.Ask}, {Deny, rc.Deny}} {
		if k.text == "" {
			continue
		}
		if kind != "" {
			return nil, fmt.Errorf("%s: want one of allow, ask and deny, got %s and %s", at, kind, k.kind)
		}
		kind, text = k.kind, k.text
	}
	if kind == "" {
		return nil, fmt.Errorf("%s: want allow, ask or deny, got none", at)
	}
	r, err := parseRule(kind, text, env)
	if err != nil {
		if !strings.HasPrefix(at, "--") { // a flag says its kind
			at += "." + string(kind)
		}
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	r.Where, r.agents, r.subagent = at, rc.Agents, rc.Subagent
	if slices.Contains(rc.Agents, "") || rc.Agents != nil && len(rc.Agents) == 0 {
		return nil, fmt.Errorf("%s.agents: want names of agents, got %q", at, rc.Agents)
	}
	if rc.Cwd != "" {
		if strings.Contains(rc.Cwd, "${cwd}") {
			return nil, fmt.Errorf("%s.cwd: want a path, got %q", at, rc.Cwd)
		}
		c, err := parsePathPattern(rc.Cwd, env)
		if err == nil && c.base == baseCwd {
			err = fmt.Errorf("want a path that begins with /, ~/ or **/, got %q", rc.Cwd)
		}
		if err != nil {
			return nil, fmt.Errorf("%s.cwd: %w", at, err)
		}
		r.cwd = &c
	}
	return r, nil
}

// Flags are the rules of the command line: --allow, --ask, --deny.
type Flags struct {
	Allow, Ask, Deny []string
	// Mode, OnAsk and Timeout are --mode, --on-ask and --timeout per ask; "" when
	// not given. Bypass says that the person at the terminal asked for
	// bypassPermissions: that is the local opt-in.
	Mode, OnAsk, Timeout string
	Bypass               bool
}

// FromFlags makes a part, as CompilePart does, of the command line's rules.
func FromFlags(f Flags, env Env) (*Policy, error) {
	c := Config{
		Mode: f.Mode, AllowBypass: f.Bypass, OnAsk: f.OnAsk, Timeout: f.Timeout,
	}
	for _, s := range f.Allow {
		c.Rules = append(c.Rules, RuleConfig{Allow: orSpace(s), At: "--allow"})
	}
	for _, s := range f.Ask {
		c.Rules = append(c.Rules, RuleConfig{Ask: orSpace(s), At: "--ask"})
	}
	for _, s := range f.Deny {
		c.Rules = append(c.Rules, RuleConfig{Deny: orSpace(s), At: "--deny"})
	}
	return CompilePart(c, env)
}

// orSpace keeps an empty flag from looking like one that is not given.
func orSpace(s string) string {
	if s == "" {
		return " "
	}
	return s
}

// Join makes one policy of several. Rules add up, the strictest kind wins
// wherever it stands; of the settings the last that says something counts. Nil
// policies are left out.
func Join(list ...*Policy) *Policy {
	out := &Policy{Mode: contract.ModeDefault, Timeout: DefaultTimeout, Remember: RememberHost}
	for _, p := range list {
		if p == nil {
			continue
		}
		out.env = p.env
		out.deny = append(out.deny, p.deny...)
		out.ask = append(out.ask, p.ask...)
		out.allow = append(out.allow, p.allow...)
		out.AllowBypass = out.AllowBypass || p.AllowBypass
		if p.Mode != "" {
			out.Mode = p.Mode
		}
		if p.Timeout >= 0 {
			out.Timeout = p.Timeout
		}
		if p.OnAsk != "" {
			out.OnAsk = p.OnAsk
		}
		if p.Remember != "" {
			out.Remember = p.Remember
		}
	}
	out.index()
	return out
}
