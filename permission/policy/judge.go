package policy

import (
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/shell"
)

// Judge says what p makes of a in a session of the given mode: deny rules first,
// then the mode, then allow and ask rules. Verdict Ask with Stage ByRule means
// that a rule demands a person; with ByDefault grants may answer.
func (p *Policy) Judge(a *Analysis, mode contract.PermissionMode) Explanation {
	e := Explanation{Verdict: Allow, Stage: ByDefault, Parts: make([]Part, 0, len(a.items))}
	judged := a.memory.judged[:0]
	defer func() { a.memory.judged = judged }()
	for i := range a.items {
		j := judgement{parts: &e.Parts}
		p.judgeItem(&a.items[i], a, &j)
		judged = append(judged, j)
	}
	if r := p.denyWhole(a); r != nil {
		e.Verdict, e.Rule, e.Stage = Deny, r.String(), ByRule
		return e
	}
	risky := a.unclear != "" && p.mayDeny(a)
	for _, j := range judged {
		if j.verdict == Deny {
			e.Verdict, e.Rule, e.Stage = Deny, j.rule, ByRule
			return e
		}
		risky = risky || j.risky
	}
	if done := byMode(&e, a, mode, risky); done {
		return e
	}
	p.combine(&e, a, judged)
	if mode == contract.ModePlan && LeavesPlan(a.req.Tool) {
		e.Verdict, e.Rule, e.Stage, e.Why = Ask, "", ByRule, "leaving plan mode is a person's decision"
	}
	return e
}

// combine makes one verdict of those of the parts: any ask is an ask.
func (p *Policy) combine(e *Explanation, a *Analysis, judged []judgement) {
	for _, j := range judged {
		if j.verdict == Allow {
			if e.Verdict == Allow && e.Rule == "" {
				e.Rule, e.Stage = j.rule, ByRule
			}
			continue
		}
		if e.Verdict == Allow {
			e.Rule, e.Stage = "", ByDefault
		}
		e.Verdict = Ask
		if j.demanded && e.Stage != ByRule {
			e.Rule, e.Stage = j.rule, ByRule
		}
	}
	switch {
	case a.unclear != "":
		e.Why = a.unclear
	case a.req.Question:
		e.Why = "it is a question to a person"
	case len(judged) == 0:
		e.Why = "there is nothing in it to judge"
	default:
		return
	}
	if e.Verdict == Allow {
		e.Verdict, e.Rule, e.Stage = Ask, "", ByDefault
	}
}

// judgement is what rules say about one item.
type judgement struct {
	verdict Verdict
	// rule is the one that decided.
	rule string
	// demanded: an ask rule matched.
	demanded bool
	// risky: a deny rule may match, it cannot be told.
	risky bool
	// parts are those of the whole request.
	parts *[]Part
}

func (j *judgement) part(text string, v Verdict, rule, why string) {
	*j.parts = append(*j.parts, Part{Command: show(text), Verdict: v, Rule: rule, Why: why})
}

func (p *Policy) judgeItem(it *item, a *Analysis, j *judgement) {
	if it.command != nil {
		p.judgeCommand(it.command, a, j)
		return
	}
	p.judgeThing(it, a, j)
}

// judgeCommand judges a simple command and what it runs.
func (p *Policy) judgeCommand(c *shell.Command, a *Analysis, j *judgement) {
	deny, how := p.restrict(Deny, c, a)
	if how == yes {
		j.verdict, j.rule = Deny, deny.String()
		j.part(deny.innermost(c, a).Source, Deny, j.rule, "")
		return
	}
	if r, at, sure := p.fileRule(Deny, c, a); sure == yes {
		j.verdict, j.rule = Deny, r.String()
		j.part(at.Source, Deny, j.rule, "it names a file or an address that the rule is about")
		return
	} else if how == no && sure == maybe {
		deny, how = r, maybe
	}
	text := c.Source
	ask, asks := p.restrict(Ask, c, a)
	if asks == yes {
		j.verdict, j.rule, j.demanded, j.risky = Ask, ask.String(), true, how == maybe
		j.part(ask.innermost(c, a).Source, Ask, j.rule, "")
		return
	}
	if r, at, sure := p.fileRule(Ask, c, a); sure == yes {
		j.verdict, j.rule, j.demanded, j.risky = Ask, r.String(), true, how == maybe
		j.part(at.Source, Ask, j.rule, "it names a file or an address that the rule is about")
		return
	} else if asks == no && sure == maybe {
		ask, asks = r, maybe
	}
	if how == maybe {
		j.verdict, j.risky = Ask, true
		j.part(text, Ask, "", fmt.Sprintf("%s may match, it cannot be told", deny))
		return
	}
	if asks == maybe {
		j.verdict = Ask
		j.part(text, Ask, "", fmt.Sprintf("%s may match, it cannot be told", ask))
		return
	}
	p.allowCommand(c, a, 0, j)
}

// allowCommand looks for allow rules for c and all it runs.
func (p *Policy) allowCommand(c *shell.Command, a *Analysis, depth int, j *judgement) {
	if j.verdict == "" {
		j.verdict = Allow
	}
	refuse := func(why string) {
		j.verdict = Ask
		j.part(c.Source, Ask, "", why)
	}
	if a.unclear != "" {
		refuse(a.unclear)
		return
	}
	if c.Dynamic != "" {
		refuse(c.Dynamic)
		return
	}
	rule, pat := p.allowing(c, a)
	switch {
	case pat != nil && (len(c.Inner) == 0 || pat.coversInner(c, 0)):
		j.allowed(c.Source, rule, pat.text)
	case len(c.Inner) > 0 && (c.Transparent || pat != nil):
		if pat != nil && !c.Transparent {
			j.allowed(c.Source, rule, pat.text)
		}
		for _, in := range c.Inner {
			p.allowCommand(in.Command, a, depth+1, j)
		}
	default:
		refuse(p.whyNot(c, a))
	}
}

func (j *judgement) allowed(text string, r *Rule, pattern string) {
	if j.rule == "" {
		j.rule = r.String()
	}
	why := ""
	if pattern != "" && len(r.commands) > 1 {
		why = "it matches " + pattern
	}
	j.part(text, Allow, r.String(), why)
}

// whyNot says what keeps c from being allowed.
func (p *Policy) whyNot(c *shell.Command, a *Analysis) string {
	if c.Exact != "" {
		return c.Exact + ": only a rule that spells the whole command allows it"
	}
	if len(c.Words) == 0 {
		return "no rule allows to set " + assignNames(c)
	}
	bare := *c
	bare.Assigns = nil
	bare.Words = append([]shell.Word(nil), c.Words...)
	spelled := ""
	for i := range bare.Words {
		if w := &bare.Words[i]; w.Spell > 0 {
			spelled = w.Text[:w.Spell]
			w.Spell = 0
		}
	}
	if r, _ := p.allowing(&bare, a); r != nil {
		if len(c.Assigns) > 0 {
			return "no rule allows to set " + assignNames(c) + " for it"
		}
		if spelled != "" {
			return fmt.Sprintf("%s would allow it, but * does not cover %s: a rule has to spell it", r, spelled)
		}
	}
	if a.went != wentNowhere {
		elsewhere := *a
		elsewhere.went = wentNowhere
		if r, _ := p.allowing(c, &elsewhere); r != nil {
			return fmt.Sprintf("%s would allow it in the session's directory, but the script goes elsewhere", r)
		}
	}
	return "no rule allows it"
}

func assignNames(c *shell.Command) string {
	names := make([]string, len(c.Assigns))
	for i, x := range c.Assigns {
		names[i] = x.Name
	}
	return strings.Join(names, ", ")
}

// judgeThing judges a file, an address or a tool.
func (p *Policy) judgeThing(it *item, a *Analysis, j *judgement) {
	deny := p.thingRule(Deny, it, a)
	if deny != nil {
		j.verdict, j.rule = Deny, deny.String()
		j.part(it.text, Deny, j.rule, "")
		return
	}
	implied, how := p.impliedRule(Deny, it, a)
	if how == yes {
		j.verdict, j.rule = Deny, implied.String()
		j.part(it.text, Deny, j.rule, "it amounts to what the rule is about")
		return
	}
	j.risky = it.why != "" && p.mayDenyTool(it.tool, a) || how == maybe || p.reaches(it, a)
	if ask := p.thingRule(Ask, it, a); ask != nil {
		j.verdict, j.rule, j.demanded = Ask, ask.String(), true
		j.part(it.text, Ask, j.rule, "")
		return
	}
	if ask, how := p.impliedRule(Ask, it, a); how == yes {
		j.verdict, j.rule, j.demanded = Ask, ask.String(), true
		j.part(it.text, Ask, j.rule, "it amounts to what the rule is about")
		return
	} else if how == maybe {
		implied = ask
	}
	why := it.why
	if why == "" {
		why = a.unclear
	}
	if why == "" && implied != nil {
		why = fmt.Sprintf("%s may match, it cannot be told", implied)
	}
	if why == "" {
		r, but := p.allowThing(it, a)
		if r != nil {
			j.verdict = Allow
			j.allowed(it.text, r, "")
			return
		}
		why = but
	}
	j.verdict = Ask
	j.part(it.text, Ask, "", why)
}

// allowThing is the rule that allows it, or why none does.
func (p *Policy) allowThing(it *item, a *Analysis) (*Rule, string) {
	if it.place != nil && changes(it.tool) {
		it.governors = a.governors(it.place)
	}
	if r := p.thingRule(Allow, it, a); r != nil {
		return r, ""
	}
	if len(it.governors) == 0 {
		return nil, "no rule allows it"
	}
	element := it.governors[0]
	it.governors = nil
	if r := p.thingRule(Allow, it, a); r != nil {
		return nil, fmt.Sprintf("%s would allow it, but * does not cover %s, which makes programs run something: a rule has to spell it", r, element)
	}
	return nil, "no rule allows it"
}

// thingRule is the first rule of a kind that matches it.
func (p *Policy) thingRule(kind Verdict, it *item, a *Analysis) *Rule {
	return p.listed(kind, it.tool).first(it, a)
}

func (r *Rule) matchesThing(it *item, a *Analysis) bool {
	if r.any {
		return r.Kind != Allow || len(it.governors) == 0
	}
	narrow := r.Kind == Allow
	switch {
	case it.place != nil:
		for i := range r.paths {
			if narrow && r.paths[i].names(it.governors) && r.paths[i].allows(*it.place, a) || !narrow && r.paths[i].touches(*it.place, a) {
				return true
			}
		}
	case it.address != nil:
		for i := range r.urls {
			u := &r.urls[i]
			if narrow && u.allows(*it.address) || !narrow && u.touches(*it.address) {
				return true
			}
		}
	default:
		for i := range r.names {
			n := &r.names[i]
			if narrow && n.allows(it.text) || !narrow && n.touches(it.text, it.wide) {
				return true
			}
		}
	}
	return false
}

// denyWhole is a deny rule that is about every use of the tool, whatever could be
// read of it.
func (p *Policy) denyWhole(a *Analysis) *Rule {
	for _, r := range p.listed(Deny, a.req.Tool).whole {
		if r.applies(a) {
			return r
		}
	}
	return nil
}

// mayDeny reports whether some deny rule could be about a if more were known.
func (p *Policy) mayDeny(a *Analysis) bool {
	if a.about == aboutCommand {
		return p.mayDenyTool("bash", a) || p.mayDenyTool("write", a) || p.mayDenyTool("read", a)
	}
	return p.mayDenyTool(a.req.Tool, a)
}

func (p *Policy) mayDenyTool(tool string, a *Analysis) bool {
	for _, r := range p.things(Deny, tool) {
		if r.applies(a) {
			return true
		}
	}
	return false
}

// show makes text fit for one line of a person's screen.
func show(text string) string {
	const most = 1000
	if len(text) <= most && plainText(text) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if b.Len() > most {
			b.WriteString("…")
			break
		}
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteByte(' ')
		case c < ' ' || c >= 0x7f && c < 0xa0 || invisible(c):
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// plainText reports whether text is what show makes of it: printable ASCII.
func plainText(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// invisible reports whether c hides or reorders what stands around it.
func invisible(c rune) bool {
	return c >= 0x200B && c <= 0x200F || c >= 0x202A && c <= 0x202E || c >= 0x2060 && c <= 0x206F ||
		c == 0xFEFF || c == 0x00AD || c >= 0xFDD0 && c <= 0xFDEF
}
