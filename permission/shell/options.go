package shell

import "strings"

// tool is what is known about the options of a program: those that write a file,
// run a program, or load something that does. A wildcard never covers them.
type tool struct {
	// plain: no option of it does any of that.
	plain bool
	// short are one-letter options, found anywhere in a cluster: -uo is -o.
	short string
	// long are names of --options; a prefix of one counts, as getopt_long takes it.
	long []string
	// single are names of options with one dash or two, complete: go's and find's.
	single []string
	// words are arguments that act as such an option wherever they stand.
	words []string
	// prefixes are beginnings of such arguments.
	prefixes []string
	// names: every argument that is no option names a variable to set.
	names bool
	// settings: NAME=value sets a variable that may name a program.
	settings bool
	// output is the position of an operand that is a file to write, 0 for none.
	output int
	// subs are commands of the tool with options of their own; the tool's count too.
	subs map[string]tool
	// valued are options before the command that take the next word.
	valued []string
	// check looks at the words after the program for what the fields cannot say.
	check func(words []Word)
}

// markOptions sets Spell on the words of cmd that a pattern has to spell.
func markOptions(name string, cmd *Command) {
	if isBuiltinWithNames(name) {
		subscripts(cmd)
	}
	t, ok := lookupTool(name)
	if !ok {
		return
	}
	cmd.Plain = t.plain && Trusted(cmd.Words[0].Text)
	rest := cmd.Words[1:]
	t.mark(rest, 0)
	if len(t.subs) == 0 {
		return
	}
	at := t.command(rest)
	if at < 0 {
		return
	}
	if sub, ok := t.subs[rest[at].Text]; ok {
		if len(sub.words) > 0 && sub.words[0] == anyUse {
			rest[at].Spell = len(rest[at].Text)
		}
		sub.mark(rest[at+1:], at+1)
	}
}

// anyUse in the words of a sub-command says that the command itself has to be
// spelled.
const anyUse = "\x00any"

// isBuiltinWithNames reports whether a builtin of bash evaluates array indexes in
// the names it is given.
func isBuiltinWithNames(name string) bool {
	switch name {
	case "test", "[", "printf", "read", "unset", "mapfile", "readarray", "getopts", "wait", "let", "exit", "return", "shift", "break",
		"continue", "ulimit", "umask", "declare", "typeset", "local", "export", "readonly", "print", "integer", "float", "vared":
		return true
	}
	return false
}

// command finds the tool's command among words, -1 for none.
func (t tool) command(words []Word) int {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.Kind != Known || !strings.HasPrefix(w.Text, "-") {
			return i
		}
		for _, v := range t.valued {
			if w.Text == v {
				i++
				break
			}
		}
	}
	return -1
}

func (t tool) mark(words []Word, before int) {
	operand := before
	for i := range words {
		w := &words[i]
		if w.Spell == 0 {
			w.Spell = t.spell(w.Text)
		}
		if strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 {
			continue
		}
		operand++
		if t.names && w.Spell == 0 {
			w.Spell = len(w.Text)
		}
		if t.output > 0 && operand >= t.output && w.Spell == 0 {
			w.Spell = len(w.Text)
		}
	}
	if t.check != nil {
		t.check(words)
	}
}

// spell says how much of text a pattern has to spell, 0 for nothing.
func (t tool) spell(text string) int {
	for _, w := range t.words {
		if text == w {
			return len(text)
		}
	}
	for _, p := range t.prefixes {
		if len(text) >= len(p) && strings.EqualFold(text[:len(p)], p) {
			return len(p)
		}
	}
	if len(text) < 2 || text[0] != '-' {
		if t.settings {
			return settingName(text)
		}
		return 0
	}
	name, stem := optionName(text)
	for _, s := range t.single {
		if name == s {
			return stem
		}
	}
	if strings.HasPrefix(text, "--") {
		for _, l := range t.long {
			if name != "" && strings.HasPrefix(l, name) {
				return stem
			}
		}
		return 0
	}
	if i := strings.IndexAny(text[1:], t.short); i >= 0 && t.short != "" {
		return i + 2
	}
	return 0
}

// optionName is the name in --name=value or -name=value, and how long the part
// before the value is.
func optionName(text string) (name string, stem int) {
	stem = len(text)
	if i := strings.IndexByte(text, '='); i >= 0 {
		stem = i
	}
	// Some programs take --a_b for --a-b.
	return strings.ReplaceAll(strings.TrimLeft(text[:stem], "-"), "_", "-"), stem
}

// settingName is the length of "NAME=" at the start of text, 0 when there is none.
func settingName(text string) int {
	i := strings.IndexByte(text, '=')
	if i <= 0 {
		return 0
	}
	for j, c := range []byte(strings.TrimRight(text[:i], ":+?!")) {
		if !(c == '_' || c == '.' || c == '-' || c|0x20 >= 'a' && c|0x20 <= 'z' || j > 0 && c >= '0' && c <= '9') {
			return 0
		}
	}
	return i + 1
}
