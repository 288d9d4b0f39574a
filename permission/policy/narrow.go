package policy

import (
	"strings"

	"github.com/agenthost/agenthost/permission/shell"
)

// The narrow reading: what an allow rule covers, and nothing else.

// allows reports whether p covers c itself: its words and the assignments before
// it. What c runs is looked at by the caller.
func (p *commandPattern) allows(c *shell.Command, q *Analysis) bool {
	if c.Dynamic != "" || !p.allowsAssigns(c) {
		return false
	}
	if len(c.Words) == 0 {
		return len(p.words) == 0 && len(c.Assigns) > 0
	}
	if len(p.words) == 0 {
		return false
	}
	if c.Exact != "" && !p.allLiteral() || c.Tail && !p.open {
		return false
	}
	return p.allowsWords(c, q) && p.allowsHere(c, q) && (p.allLiteral() || !q.governs(c))
}

func (p *commandPattern) allLiteral() bool {
	for i := range p.words {
		if !p.words[i].isLiteral {
			return false
		}
	}
	return true
}

func (p *commandPattern) allowsAssigns(c *shell.Command) bool {
	if len(c.Assigns) != len(p.assigns) {
		return false
	}
	for i, a := range c.Assigns {
		pa := p.assigns[i]
		if a.Name != pa.name {
			return false
		}
		switch {
		case a.Value.Kind == shell.Dynamic:
			return false
		case pa.value.lone:
		case a.Value.Kind != shell.Known || a.Value.Home:
			return false
		case dotDot(a.Value.Text) && !pa.value.isLiteral:
			return false
		case !match(pa.value.tokens, a.Value.Text, false):
			return false
		}
	}
	return true
}

func (p *commandPattern) allowsWords(c *shell.Command, q *Analysis) bool {
	for i := range p.words {
		w := &p.words[i]
		if w.lone && i == len(p.words)-1 {
			return coversRest(c, i)
		}
		if i >= len(c.Words) || !w.allows(&c.Words[i], c, q) {
			return false
		}
	}
	return len(c.Words) == len(p.words) && !c.Tail
}

// coversRest reports whether a lone * covers the words of c from at on.
func coversRest(c *shell.Command, at int) bool {
	if c.Tail && !c.Plain {
		return false
	}
	for i := at; i < len(c.Words); i++ {
		if !coverable(&c.Words[i], c) {
			return false
		}
	}
	return true
}

// coverable reports whether a lone * may stand for w: it is no option that has to
// be spelled, and cannot become one when it is expanded.
func coverable(w *shell.Word, c *shell.Command) bool {
	if w.Spell > 0 {
		return false
	}
	switch w.Kind {
	case shell.Known:
		return true
	case shell.Glob:
		return c.Plain || !startsOpen(w.Text)
	case shell.Unknown:
		return c.Plain
	}
	return false
}

// startsOpen reports whether a glob may expand to a word that begins with "-".
func startsOpen(text string) bool {
	return strings.HasPrefix(text, string(shell.AnyText)) || strings.HasPrefix(text, "-")
}

// allows reports whether w covers the word x of c.
func (w *wordPattern) allows(x *shell.Word, c *shell.Command, q *Analysis) bool {
	if x.Kind == shell.Unknown || x.Kind == shell.Dynamic {
		return false
	}
	if w.lone {
		return coverable(x, c)
	}
	if x.Kind == shell.Glob && startsOpen(x.Text) && !c.Plain {
		return false
	}
	if x.Home != w.home {
		return false
	}
	if w.isLiteral {
		return x.Kind == shell.Known && x.Text == w.literal
	}
	if x.Spell > 0 && !strings.HasPrefix(w.prefix, x.Text[:x.Spell]) {
		return false
	}
	if dotDot(x.Text) || !match(w.tokens, x.Text, false) {
		return false
	}
	return w.stays(x, q)
}

// stays reports whether a word that w matches as a path also leads below the
// directory that w names, once symlinks are followed.
func (w *wordPattern) stays(x *shell.Word, q *Analysis) bool {
	dir := w.prefix[:strings.LastIndexByte(w.prefix, '/')+1]
	if dir == "" || strings.Contains(dir, "://") {
		return true
	}
	text := x.Text
	if i := strings.LastIndexByte(dir, '='); i >= 0 {
		dir, text = dir[i+1:], text[i+1:]
	}
	if dir == "" {
		return true
	}
	from, to := q.env.locate(dir, q.req.Cwd), q.env.locate(text, q.req.Cwd)
	if from.why != "" || to.why != "" || len(from.real) == 0 {
		return false
	}
	for _, real := range to.real {
		ok := false
		for _, f := range from.real {
			_, in := below(real, f)
			ok = ok || in
		}
		if !ok {
			return false
		}
	}
	return true
}

// allowsHere reports whether p may speak about c where the script has gone: a
// rule is about the session's directory.
func (p *commandPattern) allowsHere(c *shell.Command, q *Analysis) bool {
	if q.went == wentNowhere || q.firstChdir(c) {
		return true
	}
	asks := false
	programs(c, func(name string) { asks = asks || asksRepository(name) })
	if asks {
		return false
	}
	for i := range p.words {
		w := &p.words[i]
		if w.lone {
			continue
		}
		if relative(w.prefix) && (i == 0 && strings.Contains(w.prefix, "/") || i > 0 && pathLike(w)) {
			return false
		}
	}
	return q.went == wentBelow || c.Plain
}

// asksRepository reports whether even the harmless commands of a program run what the
// settings of the repository say that they find around them: git status runs
// core.fsmonitor, git diff the filters and drivers. Any directory may be a repository:
// a bare one is made of plain files. People know the session's own, and an agent that
// would change its settings has to ask for that.
func asksRepository(program string) bool {
	switch program {
	case "git", "gh", "hub", "tig", "lazygit", "glab", "git-lfs", "hg", "jj", "sl", "svn", "bzr", "fossil", "pre-commit", "lefthook":
		return true
	}
	return strings.HasPrefix(program, "git-")
}

func relative(s string) bool { return !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "~") }

// pathLike reports whether a pattern's word looks like a path.
func pathLike(w *wordPattern) bool {
	for _, t := range w.tokens {
		if strings.Contains(t.text, "/") {
			return true
		}
	}
	return w.isLiteral && (w.literal == "." || w.literal == "..")
}

// coversInner reports whether p spells what c runs, so that no other rule is
// needed for it. shift is where the words of c begin in those p was matched with.
func (p *commandPattern) coversInner(c *shell.Command, shift int) bool {
	for _, in := range c.Inner {
		at := shift + in.At
		if at >= len(p.words) || !p.words[at].isLiteral {
			return false
		}
		if in.Text {
			continue
		}
		if in.Dynamic != "" || !p.coversInner(in.Command, at) {
			return false
		}
	}
	return true
}
