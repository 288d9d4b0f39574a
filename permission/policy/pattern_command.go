package policy

import (
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/permission/shell"
)

// commandPattern matches one simple command word by word.
type commandPattern struct {
	text    string
	assigns []assignPattern
	words   []wordPattern
	// open: the last word is a lone *, any further words.
	open bool
	// wide is what the pattern says when it is read widely.
	wide widePattern
}

// assignPattern is NAME=value before a command.
type assignPattern struct {
	name  string
	value wordPattern
}

// wordPattern matches one word.
type wordPattern struct {
	// tokens are literal texts and wildcards in turn.
	tokens []token
	// literal is the text when there is no wildcard.
	literal   string
	isLiteral bool
	// lone: the word is nothing but *.
	lone bool
	// home: it begins with an unquoted ~ or ~/.
	home bool
	// prefix is the literal text before the first wildcard.
	prefix string
}

// token is literal text, or a wildcard when text is empty.
type token struct {
	text string
	// deep is ** rather than *.
	deep bool
}

// parseCommandPattern reads a pattern of one simple command.
func parseCommandPattern(text string) (commandPattern, error) {
	p := commandPattern{text: text}
	rest := text
	for {
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" {
			break
		}
		w, tail, err := parseWordPattern(rest)
		if err != nil {
			return p, err
		}
		rest = tail
		if name, value, ok := w.assignment(); ok && len(p.words) == 0 {
			p.assigns = append(p.assigns, assignPattern{name: name, value: value})
			continue
		}
		p.words = append(p.words, w)
	}
	if n := len(p.words); n > 0 && p.words[n-1].lone {
		p.open = true
	}
	p.wide = widen(&p)
	return p, nil
}

// parseWordPattern takes a word off s, resolves its quotes and finds its
// wildcards.
func parseWordPattern(s string) (w wordPattern, rest string, err error) {
	var b tokenBuilder
	bare := true
	i := 0
loop:
	for i < len(s) {
		switch c := s[i]; c {
		case ' ', '\t':
			break loop
		case '\\':
			if i++; i >= len(s) {
				return w, "", fmt.Errorf("want a character after the last \\, got none")
			}
			b.literal(s[i : i+1])
			bare = false
		case '\'', '"':
			n, text, err := quoted(s[i:], c)
			if err != nil {
				return w, "", err
			}
			b.literal(text)
			bare = false
			i += n
			continue
		case '*':
			deep := strings.HasPrefix(s[i:], "**")
			b.wildcard(deep)
			if deep {
				i++
			}
		case ';', '|', '&', '<', '>', '`', '\n', '$':
			return w, "", fmt.Errorf("want one simple command, got %q at %q: give each command its own rule, and quote the character if it is meant", c, cutText(s[i:]))
		default:
			b.literal(s[i : i+1])
		}
		i++
	}
	w = b.word()
	w.home = (s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, "~ ")) && strings.HasPrefix(w.prefix, "~")
	w.lone = bare && s[:i] == "*"
	return w, s[i:], nil
}

// quoted reads a quoted text at the start of s and returns how long it is.
func quoted(s string, q byte) (n int, text string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == q:
			return i + 1, b.String(), nil
		case s[i] == '\\' && q == '"' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0:
			i++
		}
		b.WriteByte(s[i])
	}
	return 0, "", fmt.Errorf("want a closing %c, got %q", q, s)
}

// tokenBuilder joins literal text.
type tokenBuilder struct {
	tokens []token
}

func (b *tokenBuilder) literal(s string) {
	if s == "" {
		return
	}
	if n := len(b.tokens); n > 0 && b.tokens[n-1].text != "" {
		b.tokens[n-1].text += s
		return
	}
	b.tokens = append(b.tokens, token{text: s})
}

func (b *tokenBuilder) wildcard(deep bool) {
	if n := len(b.tokens); n > 0 && b.tokens[n-1].text == "" {
		b.tokens[n-1].deep = true
		return
	}
	b.tokens = append(b.tokens, token{deep: deep})
}

func (b *tokenBuilder) word() wordPattern {
	w := wordPattern{tokens: b.tokens}
	switch {
	case len(b.tokens) == 0:
		w.isLiteral = true
	case len(b.tokens) == 1 && b.tokens[0].text != "":
		w.isLiteral, w.literal = true, b.tokens[0].text
	}
	if len(b.tokens) > 0 {
		w.prefix = b.tokens[0].text
	}
	return w
}

// assignment cuts NAME=value.
func (w wordPattern) assignment() (name string, value wordPattern, ok bool) {
	name, rest, found := strings.Cut(w.prefix, "=")
	if !found || !isName(name) {
		return "", w, false
	}
	var b tokenBuilder
	b.literal(rest)
	for _, t := range w.tokens[1:] {
		if t.text == "" {
			b.wildcard(t.deep)
		} else {
			b.literal(t.text)
		}
	}
	value = b.word()
	value.lone = len(value.tokens) == 1 && value.tokens[0].text == ""
	return name, value, true
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		if !(c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// match reports whether the tokens match s; narrow wildcards stop at "/".
func match(tokens []token, s string, wide bool) bool {
	// Greedy with one point to go back to for each wildcard: the last deep one and
	// the last shallow one.
	type mark struct{ token, at int }
	deep, shallow := mark{-1, 0}, mark{-1, 0}
	t, at := 0, 0
	if !wide && len(s) > maxMixed && mixed(tokens) {
		return false
	}
	for {
		switch {
		case t < len(tokens) && tokens[t].text == "":
			if tokens[t].deep || wide {
				deep, shallow = mark{t, at}, mark{-1, 0}
			} else {
				shallow = mark{t, at}
			}
			t++
			continue
		case t < len(tokens) && strings.HasPrefix(s[at:], tokens[t].text):
			at += len(tokens[t].text)
			t++
			continue
		case t == len(tokens) && at == len(s):
			return true
		}
		switch {
		case shallow.token >= 0 && shallow.at < len(s) && s[shallow.at] != '/':
			shallow.at++
			t, at = shallow.token+1, shallow.at
		case deep.token >= 0 && deep.at < len(s):
			deep.at++
			shallow = mark{-1, 0}
			t, at = deep.token+1, deep.at
		default:
			return false
		}
	}
}

// maxMixed is the longest word that a narrow pattern with both * and ** is
// matched with: that takes quadratic time.
const maxMixed = 16 << 10

func mixed(tokens []token) bool {
	deep, shallow := false, false
	for _, t := range tokens {
		deep = deep || t.deep
		shallow = shallow || t.text == "" && !t.deep
	}
	return deep && shallow
}

// dotDot reports whether s has a segment "..", or one that a glob of the shell
// may fill in as "..".
func dotDot(s string) bool {
	for len(s) > 0 {
		i := strings.IndexAny(s, "/=:,\\")
		seg := s
		if i >= 0 {
			seg, s = s[:i], s[i+1:]
		} else {
			s = ""
		}
		if seg == ".." || strings.HasPrefix(seg, ".") && strings.ContainsRune(seg, shell.AnyText) {
			return true
		}
	}
	return false
}

func cutText(s string) string {
	if len(s) > 20 {
		return s[:20] + "…"
	}
	return s
}
