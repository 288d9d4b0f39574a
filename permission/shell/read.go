package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits. A script beyond one is opaque: it is for a person to read.
const (
	// maxBytes is the longest script. Parsing takes about 0.2 s per MiB at worst.
	maxBytes = 2 << 20
	// maxOpeners bounds what may nest: brackets, backticks and compound keywords.
	// The parser recurses on each with up to 6 KiB of stack, and reads "((((" in
	// quadratic time: 0.1 s and 6 MiB at worst. Code in a here-document counts, too.
	maxOpeners = 1000
	// maxBreaks bounds the statements: each costs the parser about 300 bytes.
	maxBreaks = 20000
	// maxCommands bounds what is listed, nested scripts included.
	maxCommands = 10000
	// maxDepth bounds scripts in scripts: sh -c "sh -c …".
	maxDepth = 8
	// maxNested bounds the text of all scripts in scripts, which one text may be
	// in several ways.
	maxNested = 2 * maxBytes
)

// Empty is the Opaque of a script without any text.
const Empty = "it is empty"

// Read lists what src would run. It is pure and safe for concurrent use.
func Read(src string) Script { return read(src, nil) }

func read(src string, kits *kits) (s Script) {
	if why := unreadable(src); why != "" {
		return Script{Opaque: why}
	}
	// The parser is not ours: its fault must not become ours.
	defer func() {
		if p := recover(); p != nil {
			s = Script{Opaque: fmt.Sprintf("the parser failed: %v", p)}
		}
	}()
	kit := kits.take()
	file, err := kit.parse(src)
	if err != nil {
		kits.give(kit, len(src))
		return Script{Opaque: "it cannot be parsed: " + err.Error()}
	}
	budget := maxNested
	r := reader{src: src, script: &s, sink: &s.Commands, budget: &budget, kit: kit}
	r.stmts(file.Stmts)
	kits.give(kit, len(src))
	s.normal = &normal{file: file, src: src, kits: kits}
	markFirstChdir(file, &s)
	return s
}

// unreadable says why src must not even be parsed, "" when it may. Characters
// that shells read differently, or that show a person something else than what
// runs, are reasons.
func unreadable(src string) string {
	if len(src) > maxBytes {
		return fmt.Sprintf("it is too long to read: %d bytes", len(src))
	}
	if strings.TrimSpace(src) == "" {
		return Empty
	}
	openers, breaks := 0, 0
	for i, c := range src {
		switch c {
		case '(', '{', '[', '`', '!':
			openers++
		case ';', '&', '|', '\n':
			breaks++
		case '\t':
		case utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(src[i:]); n == 1 {
				return fmt.Sprintf("byte %d is no UTF-8", i)
			}
		default:
			if c < ' ' || c == 0x7f {
				return fmt.Sprintf("it holds the control character U+%04X", c)
			}
			if c > 0x7f && odd(c) {
				return fmt.Sprintf("it holds the invisible character U+%04X", c)
			}
		}
	}
	if strings.Contains(src, `\`) {
		if why := oddBackslash(src); why != "" {
			return why
		}
	}
	if len(src) > maxOpeners {
		for _, k := range []string{"if", "while", "until", "for", "case", "select", "time", "coproc", "function"} {
			openers += strings.Count(src, k)
		}
	}
	switch {
	case openers > maxOpeners:
		return "it may be nested too deeply to read"
	case breaks > maxBreaks:
		return "it has too many commands to read"
	}
	return ""
}

// oddBackslash says where a backslash ends a line, or the script, in a way that our
// parser and the shells read differently: a comment does not go on after it, and
// one at the very end is an ordinary character.
func oddBackslash(src string) string {
	for line := range strings.Lines(src) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case !strings.HasSuffix(text, `\`):
		case len(text) == len(line):
			return "it ends in a backslash"
		case strings.HasSuffix(text, `\\`):
			return "a line ends in more than one backslash"
		case strings.Contains(text, "#"):
			return "a line that may be a comment ends in a backslash"
		}
	}
	return ""
}

// odd reports whether c is a space that is no separator in every shell, a
// character that hides or reorders text, or one of our marks.
func odd(c rune) bool {
	switch {
	case c >= 0xFDD0 && c <= 0xFDEF, // noncharacters
		c >= 0x202A && c <= 0x202E, c >= 0x2066 && c <= 0x2069, // bidirectional controls
		c == 0x200B, c == 0x2060, c == 0xFEFF, c == 0x00AD, c == 0x180E:
		return true
	}
	return unicode.IsSpace(c) || unicode.Is(unicode.Zs, c) || unicode.IsControl(c)
}

// reader walks one script.
type reader struct {
	src    string
	script *Script
	// sink is where commands go.
	sink *[]*Command
	// depth counts scripts in scripts.
	depth int
	// budget is how many bytes of scripts in scripts may still be read.
	budget *int
	// muted drops everything: only words are wanted.
	muted bool
	// kit parses the scripts in scripts.
	kit *kit
}

func (r *reader) opaque(why string) {
	if r.script.Opaque == "" {
		r.script.Opaque = why
	}
}

func (r *reader) add(c *Command) {
	if r.muted {
		return
	}
	if len(*r.sink) >= maxCommands {
		r.opaque("it has too many commands to read")
		return
	}
	*r.sink = append(*r.sink, c)
}

// source is n as written.
func (r *reader) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(r.src) || from >= to {
		return ""
	}
	return strings.TrimSpace(r.src[from:to])
}

func (r *reader) stmts(list []*syntax.Stmt) {
	if r.muted {
		return
	}
	for _, s := range list {
		r.stmt(s)
	}
}

func (r *reader) stmt(s *syntax.Stmt) {
	for _, rd := range s.Redirs {
		r.redirect(rd)
	}
	switch c := s.Cmd.(type) {
	case nil:
		// Only redirections: they are listed.
	case *syntax.CallExpr:
		r.call(c, s.Redirs)
	case *syntax.BinaryCmd:
		r.stmt(c.X)
		r.stmt(c.Y)
	case *syntax.Block:
		r.stmts(c.Stmts)
	case *syntax.Subshell:
		r.stmts(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.stmts(c.Cond)
			r.stmts(c.Then)
		}
	case *syntax.WhileClause:
		r.stmts(c.Cond)
		r.stmts(c.Do)
	case *syntax.ForClause:
		r.loop(c)
	case *syntax.CaseClause:
		r.choice(c)
	case *syntax.FuncDecl:
		r.stmt(c.Body)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.stmt(c.Stmt)
		}
	case *syntax.CoprocClause:
		// Shells do not agree on what is a name in it and what is a command.
		r.add(&Command{Source: r.source(c), Dynamic: "what a coprocess runs cannot be told", Blind: true})
		r.stmt(c.Stmt)
	case *syntax.DeclClause:
		r.declare(c)
	case *syntax.TestClause:
		r.test(c)
	default:
		// Arithmetic, let, bats: ((x)) may run what the variable x holds.
		r.inside(c)
		r.add(&Command{Source: r.source(c), Dynamic: "arithmetic on variables may run a command", Blind: true})
	}
}

func (r *reader) loop(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		r.inside(c.Loop)
		r.add(&Command{Source: r.source(c.Loop), Dynamic: "arithmetic on variables may run a command", Blind: true})
		r.stmts(c.Do)
		return
	}
	if iter.Name != nil {
		r.sets(c.Loop, iter.Name.Value)
	}
	for _, w := range iter.Items {
		r.data(w)
	}
	r.stmts(c.Do)
}

// sets marks a construct that sets a variable which may change what later
// commands run: those of the environment have capitals or belong to the list.
func (r *reader) sets(n syntax.Node, name string) {
	switch name {
	case "path", "cdpath", "fpath", "manpath", "mailpath", "module_path", "fignore", "prompt", "psvar", "watch", "histchars", "argv", "status":
	default:
		if strings.ToLower(name) == name && !strings.HasSuffix(name, "_proxy") {
			return
		}
	}
	r.add(&Command{Source: r.source(n), Dynamic: "it sets the variable " + cut(name), Blind: true})
}

func (r *reader) choice(c *syntax.CaseClause) {
	r.data(c.Word)
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			r.data(p)
		}
		r.stmts(item.Stmts)
	}
}

// data reads a word whose value is compared or looped over, and never run: the
// commands in it count, and expansions that do more than give a value.
func (r *reader) data(w *syntax.Word) {
	if w == nil {
		return
	}
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			if !simple(n) {
				r.add(&Command{Source: r.source(n), Dynamic: "an expansion that may run a command", Blind: true})
			}
		case *syntax.ArithmExp:
			if !r.constant(n.X) {
				r.add(&Command{Source: r.source(n), Dynamic: "arithmetic on variables may run a command", Blind: true})
			}
			return false
		case *syntax.ExtGlob:
			r.add(&Command{Source: r.source(n), Dynamic: "an extended glob", Blind: true})
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

// redirect lists the file that rd opens, if any.
func (r *reader) redirect(rd *syntax.Redirect) {
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if why := r.oddHeredoc(rd); why != "" {
			r.add(&Command{Source: r.source(rd), Dynamic: why, Blind: true})
		}
		r.data(rd.Hdoc)
		return
	case syntax.WordHdoc:
		r.data(rd.Word)
		return
	}
	w := r.word(rd.Word)
	named := rd.N != nil && strings.HasPrefix(rd.N.Value, "{")
	if !named && harmless(rd.Op, w) || r.muted {
		return
	}
	out := Redirect{Source: r.source(rd), Path: w}
	switch {
	case named:
		out.Dynamic = "it sets a variable"
	case w.Kind != Known || strings.ContainsRune(w.Text, AnyNumber):
		out.Dynamic = "the file is known only when it runs"
	case w.Text == "" || w.Text == "!":
		// "!" belongs to the operator in zsh: >! file.
		out.Dynamic = "the file cannot be told"
	case strings.HasPrefix(w.Text, "/dev/tcp/"), strings.HasPrefix(w.Text, "/dev/udp/"):
		out.Dynamic = "it opens a network connection"
	}
	switch rd.Op {
	case syntax.RdrIn, syntax.DplIn:
		r.addRedirect(out)
	case syntax.RdrInOut:
		r.addRedirect(out)
		out.Write = true
		r.addRedirect(out)
	default:
		out.Write = true
		r.addRedirect(out)
	}
}

// oddHeredoc says why shells may not agree on where a here-document ends: that
// depends on how they unquote its delimiter (<<$'EOF' ends at EOF in bash and at
// $EOF in dash), and on whether a line may go on after a backslash.
func (r *reader) oddHeredoc(rd *syntax.Redirect) string {
	word, quoted := r.source(rd.Word), false
	for _, q := range []string{"'", `"`} {
		if n := len(word); n >= 2 && strings.HasPrefix(word, q) && strings.HasSuffix(word, q) {
			word, quoted = word[1:n-1], true
		}
	}
	if !quoted && strings.HasPrefix(word, `\`) {
		word, quoted = word[1:], true
	}
	if word == "" || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-+@%") != "" {
		return "shells do not agree on where the here-document ends"
	}
	if !quoted && rd.Hdoc != nil {
		from, to := int(rd.Hdoc.Pos().Offset()), int(rd.Hdoc.End().Offset())
		if from < 0 || to > len(r.src) || from > to || strings.Contains(r.src[from:to], "\\\n") {
			return "shells do not agree on where the here-document ends"
		}
	}
	return ""
}

func (r *reader) addRedirect(rd Redirect) {
	if len(r.script.Redirects) >= maxCommands {
		r.opaque("it has too many redirections to read")
		return
	}
	r.script.Redirects = append(r.script.Redirects, rd)
}

// harmless reports whether a redirection opens no file that matters: a copy of a
// descriptor, or one of the devices that keep nothing.
func harmless(op syntax.RedirOperator, w Word) bool {
	if op == syntax.DplIn || op == syntax.DplOut {
		if w.Kind == Known && (w.Text == "-" || w.Text != "" && strings.Trim(strings.TrimSuffix(w.Text, "-"), "0123456789") == "") {
			return true
		}
	}
	if w.Kind != Known || w.Home {
		return false
	}
	switch w.Text {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero", "/dev/full",
		"/dev/fd/0", "/dev/fd/1", "/dev/fd/2", "/dev/fd/" + string(AnyNumber):
		return true
	}
	return false
}

// markFirstChdir notes whether the script begins with its only cd.
func markFirstChdir(file *syntax.File, s *Script) {
	if len(s.Chdirs) != 1 || len(file.Stmts) == 0 {
		return
	}
	st := file.Stmts[0]
	for {
		bin, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok || bin.Op != syntax.AndStmt {
			break
		}
		st = bin.X
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if ok && !st.Background && !st.Negated && len(call.Args) > 0 && call.Args[0].Lit() == "cd" {
		s.Chdirs[0].First = true
	}
}
