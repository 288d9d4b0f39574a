package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The wrappers whose arguments need more than a table.

// shell follows sh, bash and their kin: -c TEXT, a script file, or standard input.
func (r *reader) shell(cmd *Command, redirs []*syntax.Redirect) {
	at, text, clear, ok := shellScript(cmd.Words)
	switch {
	case !ok:
		r.hideAll(cmd)
		cmd.blind("it cannot be told what the shell runs")
	case at >= len(cmd.Words) && cmd.Tail:
		cmd.blind("it cannot be told what the shell runs")
	case at >= len(cmd.Words):
		if onlyTells(cmd.Words) {
			return
		}
		cmd.blind("it runs what comes on standard input")
		for _, rd := range redirs {
			if s, ok := hereText(rd); ok {
				r.hide(cmd, s)
			}
		}
	case !text && fromStream(cmd.Words[at].Text):
		cmd.blind("it runs what comes on standard input")
	case !text:
		// A script file: what it does is unknown, a rule may name it. An option
		// such as --rcfile runs another one.
		if !clear {
			cmd.Exact = "an option changes what the shell runs"
		}
	case cmd.Words[at].Kind != Known || strings.ContainsRune(cmd.Words[at].Text, AnyNumber):
		cmd.blind("it runs text that is not known")
	default:
		r.shellText(cmd, at, clear)
	}
}

func (r *reader) shellText(cmd *Command, at int, clear bool) {
	list, why := r.nested(cmd.Words[at].Text)
	if why != "" {
		cmd.blind("the shell's text: " + why)
		return
	}
	for _, c := range list {
		cmd.Inner = append(cmd.Inner, Inner{Command: c, At: at, Text: true})
	}
	if !clear {
		cmd.Exact = "an option changes what the shell runs"
		return
	}
	cmd.Transparent = len(list) > 0
}

func onlyTells(words []Word) bool {
	return len(words) == 2 && (words[1].Text == "--version" || words[1].Text == "--help")
}

// shellScript finds the word that a shell runs: the text of -c or the name of a
// file. at is len(words) when it reads standard input. clear is false when an
// option makes it run something else as well.
func shellScript(words []Word) (at int, text, clear, ok bool) {
	clear = true
	i := 1
	for ; i < len(words); i++ {
		w := words[i]
		if w.Kind != Known {
			return 0, false, false, false
		}
		t := w.Text
		if t == "--" || t == "-" {
			i++
			break
		}
		if len(t) < 2 || t[0] != '-' && t[0] != '+' {
			break
		}
		if strings.HasPrefix(t, "--") {
			switch t {
			case "--login", "--norc", "--noprofile", "--posix", "--version", "--help":
			case "--rcfile", "--init-file":
				clear = false
				i++
			default:
				clear = false
			}
			continue
		}
		for _, c := range []byte(t[1:]) {
			switch c {
			case 'c':
				text = text || t[0] == '-'
			case 'o':
				i++ // set -o NAME
			case 'O':
				i++
				clear = false // shopt -O expand_aliases
			case 's':
				return len(words), false, false, true
			case 'l', 'e', 'u', 'x', 'v', 'f', 'p', 'C', 'E', 'n', 'b', 'h', 'm', 'B', 'T':
			default:
				clear = false
			}
		}
	}
	if text && i >= len(words) {
		return 0, false, false, false
	}
	return i, text, clear, true
}

// env follows env [options] [NAME=value]... command.
func (r *reader) env(cmd *Command) {
	clear := true
	i := 1
	for ; i < len(cmd.Words); i++ {
		w := cmd.Words[i]
		if w.Kind != Known {
			cmd.blind("it cannot be told what env runs")
			return
		}
		t := w.Text
		if t == "--" {
			i++
			break
		}
		if t == "-" {
			continue
		}
		if len(t) < 2 || t[0] != '-' {
			break
		}
		switch {
		case t == "-i" || t == "--ignore-environment" || t == "-v" || t == "--debug" || t == "-0" || t == "--null" || t == "-iv" || t == "-vi":
		case t == "-u" || t == "--unset" || t == "-C" || t == "--chdir":
			clear = false
			i++
		case strings.HasPrefix(t, "-u") || strings.HasPrefix(t, "--unset=") || strings.HasPrefix(t, "-C") || strings.HasPrefix(t, "--chdir="):
			clear = false
		default:
			// -S splits text by rules of its own.
			r.hideAll(cmd)
			_, s, _ := strings.Cut(t, "S")
			r.hide(cmd, s)
			cmd.Exact = "it cannot be told what env runs"
			return
		}
	}
	var assigns []Assign
	for i < len(cmd.Words) {
		name, value, is := strings.Cut(cmd.Words[i].Text, "=")
		if !is || cmd.Words[i].Kind == Glob {
			break
		}
		// env takes any name, a shell does not.
		cmd.Words[i].Spell = len(name) + 1
		assigns = append(assigns, Assign{Name: name, Value: Word{Text: value, Kind: cmd.Words[i].Kind}})
		i++
	}
	if i >= len(cmd.Words) {
		if cmd.Tail {
			cmd.blind("it cannot be told what env runs")
		}
		return // prints the environment
	}
	r.inner(cmd, i, assigns)
	cmd.Transparent = clear
	if moves(cmd.Words[:i]) {
		r.elsewhere()
	}
}

// xargs follows xargs [options] command, whose last words are not known.
func (r *reader) xargs(cmd *Command) {
	w := wrapper{
		flags: "0rtpxo", valued: "IELnPsda",
		long:       []string{"null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty", "replace", "eof", "max-lines", "show-limits"},
		longValued: []string{"max-args", "max-procs", "max-chars", "delimiter", "arg-file", "process-slot-var"},
	}
	replace := ""
	words := make([]Word, 0, len(cmd.Words))
	for _, x := range cmd.Words {
		// -i, -e and -l take a value only in the same word.
		if x.Kind == Known && len(x.Text) >= 2 && x.Text[0] == '-' && strings.IndexByte("iel", x.Text[1]) >= 0 {
			if x.Text[1] == 'i' {
				replace = x.Text[2:]
				if replace == "" {
					replace = "{}"
				}
			}
			x.Text = "-0"
		}
		words = append(words, x)
	}
	at, _, _, ok := w.find(words)
	if !ok {
		r.hideAll(cmd)
		cmd.Exact = "it cannot be told what xargs runs"
		return
	}
	for i := 1; i < at; i++ {
		switch t := words[i].Text; {
		case strings.HasPrefix(t, "--replace"):
			replace = strings.TrimPrefix(strings.TrimPrefix(t, "--replace"), "=")
			if replace == "" {
				replace = "{}"
			}
		case strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--") && strings.IndexByte(t, 'I') > 0:
			if replace = t[strings.IndexByte(t, 'I')+1:]; replace == "" && i+1 < len(words) {
				replace = words[i+1].Text
			}
		}
	}
	args := append([]Word(nil), cmd.Words[at:]...)
	if len(args) == 0 {
		args = []Word{{Text: "echo"}}
		at = len(cmd.Words)
	}
	for i := range args {
		if replace != "" && strings.Contains(args[i].Text, replace) {
			args[i].Kind = Unknown
		}
	}
	c := &Command{Source: Join(args), Words: args, Tail: replace == ""}
	deeper := *r
	deeper.depth++
	deeper.resolve(c, nil)
	cmd.Inner = append(cmd.Inner, Inner{Command: c, At: min(at, len(cmd.Words)-1)})
	cmd.Transparent = true
}

// find follows -exec, -execdir, -ok and -okdir.
func (r *reader) find(cmd *Command) {
	for i := 1; i < len(cmd.Words); i++ {
		switch cmd.Words[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			continue
		}
		from := i + 1
		to := from
		for to < len(cmd.Words) && cmd.Words[to].Text != ";" && !(cmd.Words[to].Text == "+" && cmd.Words[to-1].Text == "{}") {
			to++
		}
		if from == to {
			continue
		}
		if strings.HasSuffix(cmd.Words[i].Text, "dir") {
			r.elsewhere()
		}
		args := append([]Word(nil), cmd.Words[from:to]...)
		for k := range args {
			args[k].Spell = 0
			if strings.Contains(args[k].Text, "{}") {
				args[k].Kind = Unknown
			}
		}
		c := &Command{Source: Join(args), Words: args}
		deeper := *r
		deeper.depth++
		deeper.resolve(c, nil)
		cmd.Inner = append(cmd.Inner, Inner{Command: c, At: from})
		i = to
	}
}

// trap follows trap TEXT SIGNAL...
func (r *reader) trap(cmd *Command) {
	i := 1
	for i < len(cmd.Words) && (cmd.Words[i].Text == "--" || cmd.Words[i].Text == "-p" || cmd.Words[i].Text == "-l") {
		i++
	}
	if i >= len(cmd.Words)-1 {
		return // lists or resets
	}
	w := cmd.Words[i]
	if w.Kind == Known && (w.Text == "" || w.Text == "-") {
		return
	}
	if w.Kind != Known {
		cmd.blind("it runs text that is not known")
		return
	}
	r.shellText(cmd, i, true)
}
