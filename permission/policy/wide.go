package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/permission/shell"
)

// The wide reading: what an ask or deny rule is about. A command that does at
// least what the pattern says is meant by it, in whatever spelling.

// chance says how sure a match is.
type chance int

const (
	no chance = iota
	maybe
	yes
)

// widePattern is a command pattern taken apart.
type widePattern struct {
	// program is the folded name, empty when it has a wildcard; tokens match it then.
	program string
	tokens  []token
	options []wideOption
	// operands are the words that are no options, without lone *.
	operands []wordPattern
	// anchored: the first operand is a command of the program, not just any word.
	anchored bool
}

// wideOption is one option word of a pattern.
type wideOption struct {
	// word is the whole word without dashes and value, letters the letters of a
	// short cluster, long the folded name of a long option.
	word, letters, long string
}

func widen(p *commandPattern) widePattern {
	var w widePattern
	if len(p.words) == 0 {
		return w
	}
	first := p.words[0]
	if first.isLiteral {
		w.program = programName(first.literal)
	} else {
		w.tokens = foldTokens(first.tokens)
	}
	for _, x := range p.words[1:] {
		switch {
		case x.lone:
		case len(x.prefix) > 1 && x.prefix[0] == '-' && x.prefix != "--":
			w.options = append(w.options, optionOf(x.prefix))
		case x.prefix == "--" && x.isLiteral:
		default:
			x.tokens = foldTokens(x.tokens)
			x.literal, x.prefix = fold(x.literal), fold(x.prefix)
			w.operands = append(w.operands, x)
		}
	}
	w.anchored = hasCommands(w.program) && len(w.operands) > 0 && w.operands[0].isLiteral &&
		!strings.ContainsAny(w.operands[0].literal, "/.")
	return w
}

func foldTokens(in []token) []token {
	out := make([]token, len(in))
	for i, t := range in {
		out[i] = token{text: fold(t.text), deep: t.deep}
	}
	return out
}

// programName is the folded name under which a program is known.
func programName(word string) string {
	if i := strings.LastIndexByte(word, '\\'); i >= 0 {
		word = word[i+1:]
	}
	return strings.TrimSuffix(fold(shell.Program(word)), ".exe")
}

// hasCommands reports whether the first operand of a program is a command of it.
func hasCommands(program string) bool {
	switch program {
	case "git", "go", "npm", "pnpm", "yarn", "cargo", "docker", "podman", "kubectl", "helm", "terraform", "gh", "glab", "aws",
		"gcloud", "az", "apt", "apt-get", "brew", "dnf", "yum", "pacman", "pip", "pip3", "uv", "poetry", "systemctl", "svn", "hg",
		"jj", "rustup", "dotnet", "mvn", "gradle", "bundle", "gem", "composer", "deno", "bun", "flyctl", "heroku", "ip", "conda":
		return true
	}
	return false
}

// clusterMax is the longest word with one dash whose letters are taken one by one;
// longer ones are names, as find and go have them.
const clusterMax = 7

func optionOf(text string) wideOption {
	stem := text
	if i := strings.IndexByte(text, '='); i >= 0 {
		stem = text[:i]
	}
	o := wideOption{word: strings.TrimLeft(stem, "-")}
	if strings.HasPrefix(stem, "--") {
		o.long = fold(stem[2:])
	} else if len(stem) <= clusterMax && letters(stem[1:]) {
		o.letters = stem[1:]
	}
	return o
}

func letters(s string) bool {
	for _, c := range []byte(s) {
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// profile is a command taken apart, once for all patterns.
type profile struct {
	program  string
	words    []string // option words without dashes and values
	letters  string
	longs    []string
	operands []operand
	// open: there may be words that are not known.
	open bool
}

type operand struct {
	// texts are the folded forms in which the operand is compared.
	texts []string
	glob  bool
	// lost: it is relative to a directory that is not known.
	lost bool
	// afterOption: it may be the value of an option.
	afterOption bool
}

func (q *Analysis) profileOf(c *shell.Command) *profile {
	p := &profile{open: c.Tail}
	if len(c.Words) == 0 {
		return p
	}
	p.program = programName(c.Words[0].Text)
	ended, after := false, false
	for i := range c.Words[1:] {
		w := &c.Words[i+1]
		if w.Kind == shell.Unknown || w.Kind == shell.Dynamic {
			p.open, after = true, false
			continue
		}
		if !ended && w.Text == "--" {
			ended = true
			continue
		}
		if !ended && len(w.Text) > 1 && w.Text[0] == '-' {
			o := optionOf(w.Text)
			p.words = append(p.words, o.word)
			p.letters += o.letters
			if o.long != "" {
				p.longs = append(p.longs, o.long)
			}
			after = true
			continue
		}
		p.operands = append(p.operands, operand{texts: q.spellings(w), glob: w.Kind == shell.Glob, lost: q.lost && relative(w.Text), afterOption: after})
		after = false
	}
	return p
}

// spellings are the forms in which an operand is compared with a pattern: as it
// is, cleaned as a path, relative to the session's directory, and absolute when
// it leads out of it.
func (q *Analysis) spellings(w *shell.Word) []string {
	t := w.Text
	out := []string{fold(t)}
	if w.Home && q.env.Home != "" {
		t = q.env.Home + t[1:]
		out = append(out, fold(t))
	}
	if !strings.Contains(t, "/") && t != ".." {
		if q.went == wentNowhere {
			return out
		}
	} else {
		out = addNew(out, fold(path.Clean(t)))
	}
	for _, dir := range q.dirs {
		switch {
		case strings.HasPrefix(t, "/"):
			if rel, ok := below(path.Clean(t), dir); ok {
				out = addNew(out, fold(rel))
			}
		case dir != q.req.Cwd || strings.HasPrefix(path.Clean(t), ".."):
			out = addNew(out, fold(path.Join(dir, t)))
		}
	}
	return out
}

// touches says whether p is about c or anything c runs.
func (p *commandPattern) touches(c *shell.Command, q *Analysis) chance {
	best := p.touchesOne(c, q)
	if c.Blind && best == no {
		best = maybe
	}
	for _, in := range c.Inner {
		if best == yes {
			return yes
		}
		best = max(best, p.touches(in.Command, q))
	}
	for _, h := range c.Hidden {
		if best == yes {
			return yes
		}
		best = max(best, p.touches(h, q))
	}
	return best
}

func (p *commandPattern) touchesOne(c *shell.Command, q *Analysis) chance {
	got := p.touchesAssigns(c)
	if got == no || len(p.words) == 0 {
		return got
	}
	if len(c.Words) == 0 {
		return no
	}
	if c.Words[0].Kind != shell.Known {
		return maybe
	}
	f := q.profile(c)
	w := &p.wide
	if w.program != "" && w.program != f.program {
		return no
	}
	for i := range w.options {
		if !f.has(&w.options[i]) {
			if !f.open {
				return no
			}
			got = maybe
		}
	}
	if w.program == "" && !match(w.tokens, f.program, true) {
		return no
	}
	return min(got, w.touchesOperands(f))
}

func (p *commandPattern) touchesAssigns(c *shell.Command) chance {
	got := yes
	for _, pa := range p.assigns {
		found := no
		for _, a := range c.Assigns {
			if a.Name == pa.name {
				found = max(found, pa.touches(a.Value))
			}
		}
		for _, w := range c.Words {
			if name, value, ok := strings.Cut(w.Text, "="); ok && name == pa.name && w.Spell > 0 {
				found = max(found, pa.touches(shell.Word{Text: value, Kind: w.Kind}))
			}
		}
		got = min(got, found)
	}
	return got
}

func (pa assignPattern) touches(v shell.Word) chance {
	switch {
	case pa.value.lone:
		return yes
	case v.Kind == shell.Unknown || v.Kind == shell.Dynamic:
		return maybe
	case match(pa.value.tokens, v.Text, true):
		return yes
	}
	return no
}

// has reports whether the command has the option o in any spelling.
func (f *profile) has(o *wideOption) bool {
	if slices.Contains(f.words, o.word) {
		return true
	}
	if o.long != "" {
		for _, l := range f.longs {
			// getopt_long takes what is left of a name, as long as it is clear.
			if l != "" && strings.HasPrefix(o.long, l) {
				return true
			}
		}
		return f.hasShortOf(o.long)
	}
	if o.letters == "" {
		return false
	}
	for i := range len(o.letters) {
		if strings.IndexByte(f.letters, o.letters[i]) < 0 && !f.hasLongOf(o.letters[i]) {
			return false
		}
	}
	return true
}

// The options that most programs know by a letter and a name.
func (f *profile) hasShortOf(long string) bool {
	switch long {
	case "recursive":
		return strings.ContainsAny(f.letters, "rR")
	case "force":
		return strings.Contains(f.letters, "f")
	}
	return false
}

func (f *profile) hasLongOf(letter byte) bool {
	name := ""
	switch letter {
	case 'r', 'R':
		if strings.ContainsAny(f.letters, "rR") {
			return true
		}
		name = "recursive"
	case 'f':
		name = "force"
	default:
		return false
	}
	return slices.ContainsFunc(f.longs, func(l string) bool { return l != "" && strings.HasPrefix(name, l) })
}

// touchesOperands says whether the operands of the pattern are among those of the
// command, in their order.
func (w *widePattern) touchesOperands(f *profile) chance {
	got, at := yes, 0
	for i := range w.operands {
		found := no
		for at < len(f.operands) {
			o := &f.operands[at]
			at++
			if found = w.operands[i].touches(o); found > no {
				break
			}
			if i == 0 && w.anchored && !o.afterOption {
				return no
			}
		}
		if found == no {
			if !f.open {
				return no
			}
			found = maybe
		}
		got = min(got, found)
	}
	return got
}

func (w *wordPattern) touches(o *operand) chance {
	for _, t := range o.texts {
		if w.isLiteral && t == w.literal || !w.isLiteral && (match(w.tokens, t, true) || w.dirItself(t)) {
			return yes
		}
		// tar xf, git +main: a word may carry more than the pattern's.
		if w.isLiteral && w.literal != "" && strings.Trim(t, "+:/") == w.literal {
			return yes
		}
	}
	if o.lost && !relative(w.prefix) {
		return maybe
	}
	if !o.glob {
		return no
	}
	for _, t := range o.texts {
		lit, _, _ := strings.Cut(t, string(shell.AnyText))
		if strings.HasPrefix(lit, w.prefix) || strings.HasPrefix(w.prefix, lit) {
			return maybe
		}
	}
	return no
}

// dirItself reports whether the pattern is t/**.
func (w *wordPattern) dirItself(t string) bool {
	n := len(w.tokens)
	return n > 1 && w.tokens[n-1].deep && strings.HasSuffix(w.tokens[n-2].text, "/") && match(w.tokens, t+"/", true)
}
