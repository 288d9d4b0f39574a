package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call lists a simple command and what it wraps.
func (r *reader) call(c *syntax.CallExpr, redirs []*syntax.Redirect) {
	cmd := &Command{Source: r.source(c)}
	for _, a := range c.Assigns {
		r.assign(cmd, a)
	}
	expanded := false
	cmd.Words = slices.Grow(cmd.Words, len(c.Args))
	for _, w := range c.Args {
		cmd.Words = append(cmd.Words, r.word(w))
		expanded = expanded || hasBraces(w)
	}
	if expanded {
		r.hideBraces(cmd, c)
	}
	r.finish(cmd, redirs)
}

// hideBraces adds the reading of bash's brace expansion.
func (r *reader) hideBraces(cmd *Command, c *syntax.CallExpr) {
	alt := &Command{Source: cmd.Source, Assigns: cmd.Assigns}
	for _, w := range c.Args {
		if more := r.braces(w); more != nil {
			alt.Words = append(alt.Words, more...)
		} else {
			quiet := *r
			quiet.muted = true
			alt.Words = append(alt.Words, quiet.word(w))
		}
	}
	cmd.Hidden = append(cmd.Hidden, alt)
}

func (r *reader) assign(cmd *Command, a *syntax.Assign) {
	name := ""
	if a.Name != nil {
		name = a.Name.Value
	}
	if a.Array != nil || a.Index != nil {
		r.inside(a)
		cmd.blind("an array is set, its index may run a command")
	}
	cmd.Assigns = append(cmd.Assigns, Assign{Name: name, Value: r.word(a.Value)})
}

// finish marks what stands in the words of cmd, follows its wrapper, and lists it.
func (r *reader) finish(cmd *Command, redirs []*syntax.Redirect) {
	if len(cmd.Words) == 0 {
		r.add(cmd)
		return
	}
	r.resolve(cmd, redirs)
	r.add(cmd)
}

// resolve fills in everything that follows from the words of cmd.
func (r *reader) resolve(cmd *Command, redirs []*syntax.Redirect) {
	p := cmd.Words[0]
	switch {
	case p.Kind == Dynamic || p.Kind == Unknown || p.Kind == Glob || p.Home && !strings.Contains(p.Text, "/"):
		cmd.blind("the program is known only when it runs")
	case p.Text == "":
		cmd.blind("the program's name is empty")
	case strings.ContainsRune(p.Text, AnyNumber):
		cmd.blind("the program is known only when it runs")
	}
	for _, w := range cmd.Words[1:] {
		if w.Kind == Dynamic && cmd.Dynamic == "" {
			cmd.Dynamic = "a variable is known only when it runs: " + cut(w.Text)
		}
	}
	if p.Kind != Known {
		return
	}
	name := known(Program(p.Text))
	r.chdir(name, cmd)
	markOptions(name, cmd)
	r.unwrap(name, cmd, redirs)
}

// Program is the name by which a program is known: the last element of its path.
func Program(word string) string {
	return word[strings.LastIndexByte(word, '/')+1:]
}

// known gives the name without a version at its end when it is only known so:
// python3.12, perl5.36, gcc-13.
func known(name string) string {
	isKnown := func(name string) bool {
		_, ok := lookupTool(name)
		return ok || isWrapper(name) || isInterpreter(name)
	}
	if base := strings.TrimRight(name, "0123456789.-"); base != name && !isKnown(name) && isKnown(base) {
		return base
	}
	return name
}

// Trusted reports whether word names a program by its bare name or in a
// directory that belongs to the system, so that it is what its name says.
func Trusted(word string) bool {
	dir := word[:strings.LastIndexByte(word, '/')+1]
	switch dir {
	case "", "/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/":
		return true
	}
	return false
}

func (r *reader) chdir(name string, cmd *Command) {
	if r.muted {
		return
	}
	switch name {
	case "cd", "chdir":
	case "pushd", "popd", "z", "zoxide":
		r.script.Chdirs = append(r.script.Chdirs, Chdir{Dynamic: true})
		return
	default:
		return
	}
	rest := cmd.Words[1:]
	for len(rest) > 0 && rest[0].Kind == Known && (rest[0].Text == "--" || rest[0].Text == "-P" || rest[0].Text == "-L") {
		rest = rest[1:]
	}
	ch := Chdir{}
	switch {
	case len(rest) == 0:
		ch.Dir = Word{Text: "~", Home: true}
	case len(rest) > 1 || rest[0].Kind != Known || strings.HasPrefix(rest[0].Text, "-"),
		strings.ContainsRune(rest[0].Text, AnyNumber), len(cmd.Assigns) > 0:
		ch.Dynamic = true
	default:
		ch.Dir = rest[0]
	}
	r.script.Chdirs = append(r.script.Chdirs, ch)
}

// declare lists export, declare and their kin as a command whose assignments
// have to be spelled.
func (r *reader) declare(c *syntax.DeclClause) {
	cmd := &Command{Source: r.source(c), Words: []Word{{Text: c.Variant.Value}}}
	for _, a := range c.Args {
		switch {
		case a.Array != nil || a.Index != nil:
			r.inside(a)
			cmd.blind("an array is set, its index may run a command")
		case a.Naked && a.Name == nil:
			w := r.word(a.Value)
			if w.Kind != Known && cmd.Dynamic == "" {
				cmd.Dynamic = "a variable is known only when it runs: " + cut(w.Text)
			}
			cmd.Words = append(cmd.Words, w)
		case a.Naked:
			cmd.Words = append(cmd.Words, Word{Text: a.Name.Value})
		default:
			v := r.word(a.Value)
			if v.Kind == Dynamic && cmd.Dynamic == "" {
				cmd.Dynamic = "a variable is known only when it runs: " + cut(v.Text)
			}
			set := a.Name.Value + "="
			cmd.Words = append(cmd.Words, Word{Text: set + v.Text, Kind: v.Kind, Spell: len(set)})
		}
	}
	subscripts(cmd)
	r.add(cmd)
}

// test lists [[ … ]] as a command.
func (r *reader) test(c *syntax.TestClause) {
	cmd := &Command{Source: r.source(c), Words: []Word{{Text: "[["}}}
	var walk func(x syntax.TestExpr)
	walk = func(x syntax.TestExpr) {
		switch x := x.(type) {
		case *syntax.BinaryTest:
			walk(x.X)
			cmd.Words = append(cmd.Words, Word{Text: x.Op.String()})
			switch x.Op {
			case syntax.AndTest, syntax.OrTest:
				cmd.Exact = "a shell without [[ runs what stands after && and ||"
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				r.testNumber(cmd, x.X)
				r.testNumber(cmd, x.Y)
			}
			walk(x.Y)
		case *syntax.UnaryTest:
			cmd.Words = append(cmd.Words, Word{Text: x.Op.String()})
			if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
				cmd.blind("an index may run a command")
			}
			walk(x.X)
		case *syntax.ParenTest:
			walk(x.X)
		case *syntax.Word:
			w := r.word(x)
			if w.Kind == Dynamic && cmd.Dynamic == "" {
				cmd.Dynamic = "a variable is known only when it runs: " + cut(w.Text)
			}
			if w.Kind == Glob {
				w.Kind = Known // a pattern in [[ ]], no file name
			}
			cmd.Words = append(cmd.Words, w)
		}
	}
	walk(c.X)
	cmd.Words = append(cmd.Words, Word{Text: "]]"})
	cmd.Plain = true
	r.add(cmd)
}

// testNumber marks cmd when an operand of -eq and its like is no plain number:
// [[ x -eq 1 ]] evaluates x as arithmetic.
func (r *reader) testNumber(cmd *Command, x syntax.TestExpr) {
	w, ok := x.(*syntax.Word)
	if ok {
		quiet := *r
		quiet.muted = true
		v := quiet.word(w)
		ok = v.Kind == Known && strings.Trim(v.Text, "-0123456789"+string(AnyNumber)) == ""
	}
	if !ok {
		cmd.blind("arithmetic on variables may run a command")
	}
}

// subscripts marks builtins that evaluate the index of an array in a word.
func subscripts(cmd *Command) {
	for _, w := range cmd.Words[1:] {
		if i := strings.IndexByte(w.Text, '['); i >= 0 && strings.ContainsAny(w.Text[i:], "$`") {
			cmd.blind("an index may run a command")
		}
	}
}

// cut shortens text for a reason.
func cut(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
