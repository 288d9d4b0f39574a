package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxBraces bounds the words that one brace expansion is read as. Words beyond
// it are not looked at; the command is not allowed in any case.
const maxBraces = 256

// value builds a Word from the parts of a syntax word.
type value struct {
	text strings.Builder
	// unknown and dynamic raise the kind.
	unknown, dynamic, glob bool
	// bracket says that a [ was met that is no glob by itself.
	bracket bool
}

// word resolves w and reads the commands inside it.
func (r *reader) word(w *syntax.Word) Word {
	if w == nil {
		return Word{}
	}
	var v value
	home := false
	for i, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && i == 0 {
			home = r.tilde(lit.Value, len(w.Parts) == 1, &v)
		}
		r.part(p, false, &v)
	}
	out := Word{Text: v.text.String(), Home: home}
	switch {
	case v.dynamic:
		out.Kind, out.Text = Dynamic, r.source(w)
	case v.unknown || hasBraces(w) || v.bracket && w.Lit() != "[":
		out.Kind, out.Text = Unknown, r.source(w)
	case v.glob:
		out.Kind = Glob
	}
	return out
}

// tilde reports whether lit begins with a ~ that means the home directory.
// ~user and ~+ mean something that is not known here.
func (r *reader) tilde(lit string, whole bool, v *value) bool {
	if !strings.HasPrefix(lit, "~") {
		return false
	}
	if strings.HasPrefix(lit, "~/") || whole && lit == "~" {
		return true
	}
	v.unknown = true
	return false
}

func (r *reader) part(p syntax.WordPart, inQuotes bool, v *value) {
	switch p := p.(type) {
	case *syntax.Lit:
		if inQuotes {
			quotedLit(p.Value, v)
		} else {
			bareLit(p.Value, v)
		}
	case *syntax.SglQuoted:
		if !p.Dollar {
			v.text.WriteString(p.Value)
		} else if s, ok := ansiC(p.Value); ok {
			v.text.WriteString(s)
		} else {
			v.unknown = true
		}
	case *syntax.DblQuoted:
		// $"…" is translated by a catalogue that the environment names.
		v.dynamic = v.dynamic || p.Dollar
		for _, q := range p.Parts {
			r.part(q, true, v)
		}
	case *syntax.ParamExp:
		if isNumber(p) {
			v.text.WriteRune(AnyNumber)
			return
		}
		v.dynamic = true
		r.inside(p)
	case *syntax.ArithmExp:
		v.text.WriteRune(AnyNumber)
		v.dynamic = v.dynamic || !r.constant(p.X)
	case *syntax.CmdSubst:
		if text, ok := r.heredocText(p); ok && inQuotes {
			v.text.WriteString(text)
		} else {
			v.unknown = true
		}
		r.stmts(p.Stmts)
	case *syntax.ProcSubst:
		v.text.WriteString("/dev/fd/")
		v.text.WriteRune(AnyNumber)
		r.stmts(p.Stmts)
	default:
		// Extended globs are code in zsh: *(e:'command':).
		v.dynamic = true
	}
}

// bareLit adds unquoted text: \x is x, and glob characters match anything.
func bareLit(s string, v *value) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) {
				v.text.WriteByte(s[i])
			}
		case '*', '?':
			// Some shells let ** match "/".
			v.unknown = v.unknown || strings.HasPrefix(s[i:], "**")
			v.glob = true
			v.text.WriteRune(AnyText)
		case '[':
			if end := strings.IndexByte(s[i+1:], ']'); end > 0 && !strings.ContainsAny(s[i+1:i+1+end], "/\\") {
				v.glob = true
				v.text.WriteRune(AnyText)
				i += end + 1
				continue
			}
			// Shells do not agree on what this bracket matches, or it finds its end
			// in a later part of the word.
			v.bracket = true
			v.text.WriteByte(c)
		default:
			v.text.WriteByte(c)
		}
	}
}

// quotedLit adds text from inside double quotes.
func quotedLit(s string, v *value) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
			i++
		}
		v.text.WriteByte(s[i])
	}
}

// ansiC decodes the escapes of $'…' on which all shells that have it agree, and
// reports false for any other.
func ansiC(s string) (string, bool) {
	const from, to = `abefnrtv\'"?`, "\a\b\x1b\f\n\r\t\v\\'\"?"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", false
		}
		if k := strings.IndexByte(from, s[i]); k >= 0 {
			b.WriteByte(to[k])
			continue
		}
		c, n := ansiNumber(s[i:])
		if n == 0 || c < 0x20 || c > 0x7e {
			return "", false
		}
		b.WriteByte(byte(c))
		i += n - 1
	}
	return b.String(), true
}

// ansiNumber reads \NNN, \xHH, \uHHHH or \UHHHHHHHH without its backslash and
// returns the code and how many bytes it took, 0 for none.
func ansiNumber(s string) (code, n int) {
	base, skip, digits := 8, 0, 3
	switch s[0] {
	case 'x':
		base, skip, digits = 16, 1, 2
	case 'u':
		base, skip, digits = 16, 1, 4
	case 'U':
		base, skip, digits = 16, 1, 8
	}
	for n = skip; n < len(s) && n < skip+digits; n++ {
		d := strings.IndexByte("0123456789abcdef", s[n]|0x20)
		if s[n] >= '0' && s[n] <= '9' {
			d = int(s[n] - '0')
		}
		if d < 0 || d >= base {
			break
		}
		code = code*base + d
	}
	if n == skip {
		return 0, 0
	}
	return code, n
}

// isNumber reports whether p is a parameter that holds digits and nothing else,
// whatever anybody did: $?, $#, $$, $!.
func isNumber(p *syntax.ParamExp) bool {
	if p.Param == nil || !simple(p) {
		return false
	}
	switch p.Param.Value {
	case "?", "#", "$", "!":
		return true
	}
	return false
}

// simple reports whether p is $name or ${name} and nothing more.
func simple(p *syntax.ParamExp) bool {
	return p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet &&
		p.Split == syntax.OptUnset && p.GlobSubst == syntax.OptUnset && p.RcExpand == syntax.OptUnset &&
		p.NestedParam == nil && p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil &&
		p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// constant reports whether x is arithmetic over numbers alone. A name in it may
// hold an expression that runs a command: x='a[$(rm y)]'; ((x)).
func (r *reader) constant(x syntax.ArithmExpr) bool {
	ok := true
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			ok = ok && strings.Trim(n.Value, "0123456789") == ""
		case *syntax.CmdSubst:
			ok = false
			r.stmts(n.Stmts)
			return false
		case nil, *syntax.Word, *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm:
		default:
			ok = false
		}
		return true
	})
	return ok
}

// inside reads the commands in an expansion whose value is not needed.
func (r *reader) inside(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			r.stmts(n.Stmts)
			return false
		case *syntax.ProcSubst:
			r.stmts(n.Stmts)
			return false
		}
		return true
	})
}

// heredocText gives the text of $(cat <<'EOF' … EOF), the way agents write long
// messages: known, when nothing in it is expanded.
func (r *reader) heredocText(p *syntax.CmdSubst) (string, bool) {
	if len(p.Stmts) != 1 || p.TempFile || p.ReplyVar {
		return "", false
	}
	s := p.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || len(call.Assigns) > 0 || len(call.Args) != 1 ||
		call.Args[0].Lit() != "cat" || len(s.Redirs) != 1 || s.Redirs[0].N != nil {
		return "", false
	}
	text, ok := hereText(s.Redirs[0])
	return strings.TrimRight(text, "\n"), ok
}

// hereText gives the text of a here-document or here-string in which nothing is
// expanded.
func hereText(rd *syntax.Redirect) (string, bool) {
	body := rd.Hdoc
	switch rd.Op {
	case syntax.WordHdoc:
		body = rd.Word
	case syntax.Hdoc:
	default:
		return "", false
	}
	if body == nil {
		return "", rd.Op != syntax.WordHdoc
	}
	var v value
	for _, p := range body.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			switch {
			case rd.Op == syntax.WordHdoc:
				bareLit(p.Value, &v)
			case quotedDelimiter(rd.Word):
				v.text.WriteString(p.Value)
			default:
				quotedLit(p.Value, &v)
			}
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			v.text.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					return "", false
				}
				quotedLit(lit.Value, &v)
			}
		default:
			return "", false
		}
	}
	return v.text.String(), !v.glob && !v.unknown && !v.bracket
}

func quotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// hasBraces reports whether a shell may expand braces in w. Shells do not agree
// on the details, so that the results count as unknown.
func hasBraces(w *syntax.Word) bool {
	open := 0
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		for i, c := range []byte(lit.Value) {
			switch {
			case c == '{':
				open++
			case c == '}' && open > 0:
				open--
			case open > 0 && (c == ',' || strings.HasPrefix(lit.Value[i:], "..")):
				return true
			}
		}
	}
	return false
}

// braces gives the words that bash makes of w, for forbidding.
func (r *reader) braces(w *syntax.Word) []Word {
	dup := *w
	if !syntax.SplitBraces(&dup) {
		return nil
	}
	var out []Word
	for x, err := range expand.BracesSeq(nil, &dup) {
		if err != nil || len(out) == maxBraces {
			return out
		}
		quiet := *r
		quiet.muted = true
		out = append(out, quiet.word(x))
	}
	return out
}
