package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/shell"
)

// Policy is a set of rules with its settings. It never changes.
type Policy struct {
	// Mode is what sessions begin with; AllowBypass is the local opt-in to
	// bypassPermissions.
	Mode        contract.PermissionMode
	AllowBypass bool
	// Timeout is how long an ask waits for a person, 0 for ever.
	Timeout time.Duration
	// OnAsk is what becomes of an ask that needs a person, "" when not said.
	OnAsk OnAsk
	// Remember is who remembers allow-always.
	Remember Remember

	env               Env
	deny, ask, allow  []*Rule
	denied, asked, ok commandIndex
	// denies, asks and allows are the same rules by the tools they are about.
	denies, asks, allows toolIndex
	// denyFiles and askFiles: there are such rules for files or addresses.
	denyFiles, askFiles bool
	// scripts are those that were read lately.
	scripts *shell.Cache
}

// OnAsk is what becomes of an ask that needs a person.
type OnAsk string

// The ways.
const (
	// OnAskWait: it is open until a person answers or its time is over.
	OnAskWait OnAsk = "wait"
	// OnAskDeny: nobody will come, it is rejected at once.
	OnAskDeny OnAsk = "deny"
	// OnAskFail: as deny, and the run ends.
	OnAskFail OnAsk = "fail"
	// OnAskPrompt: as wait; the terminal asks.
	OnAskPrompt OnAsk = "prompt"
)

// Remember is who remembers an allow-always.
type Remember string

// The ways to remember.
const (
	// RememberHost: the host makes a grant.
	RememberHost Remember = "host"
	// RememberAgent: the agent is told, and asks no more. That leaves no trace here.
	RememberAgent Remember = "agent"
)

// Env is the machine that the policy was made for.
func (p *Policy) Env() Env { return p.env }

// Analyse takes a request apart for Judge.
func (p *Policy) Analyse(q Request) *Analysis { return p.env.analyse(q, p.scripts) }

// Rules are all rules in their order.
func (p *Policy) Rules() []*Rule {
	out := append(append(append([]*Rule(nil), p.deny...), p.ask...), p.allow...)
	return out
}

// Use is a tool and a pattern of what it is used on, empty for everything; the tool
// "*" is every tool.
type Use struct{ Tool, Pattern string }

// Watched are the uses that deny and ask rules are about, for an agent. An agent that
// runs some of them without asking has to be told to ask.
func (p *Policy) Watched(agent string) []Use {
	var out []Use
	for _, r := range slices.Concat(p.deny, p.ask) {
		if r.agents != nil && !slices.Contains(r.agents, agent) {
			continue
		}
		_, list, hasList, err := splitRule(r.Text)
		patterns, err2 := splitList(list)
		if r.any || !hasList || err != nil || err2 != nil {
			out = append(out, Use{Tool: r.tool})
			continue
		}
		for _, pattern := range patterns {
			out = append(out, Use{Tool: r.tool, Pattern: pattern})
		}
	}
	return out
}

// commandIndex finds the patterns that may be about a program.
type commandIndex struct {
	byProgram map[string][]entry
	general   []entry
}

type entry struct {
	order int
	rule  *Rule
	// pattern is nil when the rule is about every command.
	pattern *commandPattern
}

func (x *commandIndex) add(order int, r *Rule) {
	if !r.covers("bash") {
		return
	}
	if r.any {
		e := entry{order: order, rule: r}
		if r.Kind == Allow {
			e.pattern = &commandPattern{text: "*", words: []wordPattern{{tokens: []token{{}}, lone: true}}, open: true}
		}
		x.general = append(x.general, e)
		return
	}
	for i := range r.commands {
		p := &r.commands[i]
		e := entry{order: order, rule: r, pattern: p}
		if len(p.words) == 0 || !p.words[0].isLiteral {
			x.general = append(x.general, e)
			continue
		}
		name := p.words[0].literal
		if r.Kind != Allow {
			name = p.wide.program
		}
		if x.byProgram == nil {
			x.byProgram = map[string][]entry{}
		}
		x.byProgram[name] = append(x.byProgram[name], e)
	}
}

// index builds what Judge looks things up in.
func (p *Policy) index() {
	p.denyFiles, p.askFiles = aboutFiles(p.deny), aboutFiles(p.ask)
	for i, r := range p.deny {
		p.denied.add(i, r)
	}
	for i, r := range p.ask {
		p.asked.add(i, r)
	}
	for i, r := range p.allow {
		p.ok.add(i, r)
	}
	p.denies, p.asks, p.allows = indexTools(p.deny), indexTools(p.ask), indexTools(p.allow)
	if p.scripts == nil {
		p.scripts = shell.NewCache()
	}
}

// allowing is the first pattern that covers c, one that also spells what c runs
// before others.
func (p *Policy) allowing(c *shell.Command, a *Analysis) (*Rule, *commandPattern) {
	var best *entry
	consider := func(list []entry) {
		for i := range list {
			e := &list[i]
			if best != nil && (best.order <= e.order || best.pattern.coversInner(c, 0)) && (len(c.Inner) == 0 || best.pattern.coversInner(c, 0)) {
				continue
			}
			if !e.rule.applies(a) || !e.pattern.allows(c, a) {
				continue
			}
			if best == nil || e.order < best.order || e.pattern.coversInner(c, 0) {
				best = e
			}
		}
	}
	if len(c.Words) > 0 {
		consider(p.ok.byProgram[c.Words[0].Text])
	}
	consider(p.ok.general)
	if best == nil {
		return nil, nil
	}
	return best.rule, best.pattern
}

// restrict is the first deny or ask rule that is about c or anything it runs.
func (p *Policy) restrict(kind Verdict, c *shell.Command, a *Analysis) (*Rule, chance) {
	x := &p.denied
	if kind == Ask {
		x = &p.asked
	}
	list := x.about(c)
	var first *Rule
	for i := range list {
		e := &list[i]
		if !e.rule.applies(a) {
			continue
		}
		how := yes
		if e.pattern != nil {
			how = e.pattern.touches(c, a)
		}
		if how == yes {
			return e.rule, yes
		}
		if how == maybe && first == nil {
			first = e.rule
		}
	}
	if first != nil {
		return first, maybe
	}
	return nil, no
}

// about are the entries that may be about c, in the order of their rules.
func (x *commandIndex) about(c *shell.Command) []entry {
	if blind(c) {
		// It may run any program: every rule counts.
		list := slices.Clone(x.general)
		for _, es := range x.byProgram {
			list = append(list, es...)
		}
		slices.SortStableFunc(list, byOrder)
		return list
	}
	var names []string
	programs(c, func(name string) {
		if len(x.byProgram[name]) > 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	switch {
	case len(names) == 0:
		return x.general
	case len(names) == 1 && len(x.general) == 0:
		return x.byProgram[names[0]]
	}
	list := slices.Clone(x.general)
	for _, name := range names {
		list = append(list, x.byProgram[name]...)
	}
	slices.SortStableFunc(list, byOrder)
	return list
}

func byOrder(a, b entry) int { return cmp.Compare(a.order, b.order) }

// programs calls f with the folded name of every program in c.
func programs(c *shell.Command, f func(string)) {
	if len(c.Words) > 0 {
		f(programName(c.Words[0].Text))
	}
	for _, in := range c.Inner {
		programs(in.Command, f)
	}
	for _, h := range c.Hidden {
		programs(h, f)
	}
}

// blind reports whether c, or anything it runs, may run what is not known.
func blind(c *shell.Command) bool {
	if c.Blind || len(c.Words) > 0 && c.Words[0].Kind != shell.Known {
		return true
	}
	for _, in := range c.Inner {
		if blind(in.Command) {
			return true
		}
	}
	for _, h := range c.Hidden {
		if blind(h) {
			return true
		}
	}
	return false
}

// innermost is the command in c that r is about.
func (r *Rule) innermost(c *shell.Command, a *Analysis) *shell.Command {
	for _, in := range c.Inner {
		for i := range r.commands {
			if r.commands[i].touches(in.Command, a) == yes {
				return r.innermost(in.Command, a)
			}
		}
	}
	return c
}
