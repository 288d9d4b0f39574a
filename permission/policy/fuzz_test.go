package policy

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/agenthost/agenthost/contract"
)

// FuzzVerdict looks for a script that is allowed though one of its commands is
// not. The oracle is another reading of the script: every simple command in the
// syntax tree is looked at, wherever it stands, and what an allowed script may
// hold at all is listed.
func FuzzVerdict(f *testing.F) {
	for _, r := range rows(f, "testdata/commands.txt") {
		f.Add(r.command)
	}
	p, err := FromFlags(Flags{
		Allow: []string{"bash(git status *, ls *, echo *, cat src/*)"},
		Deny:  []string{"bash(rm -rf /**)"},
	}, testEnv)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if src = strings.ToValidUTF8(src, "?"); len(src) > 4096 {
			return
		}
		got := Explain(p, command(t, src), contract.ModeDefault)
		for _, part := range got.Parts {
			if got.Verdict == Allow && part.Verdict != Allow {
				t.Fatalf("Judge(%q) = allow with the part %+v", src, part)
			}
		}
		if got.Verdict != Allow {
			return
		}
		if why := offence(src, 0); why != "" {
			t.Fatalf("Judge(%q) = allow, but %s\n%s", src, why, text(got))
		}
	})
}

// offence says why src must not be allowed by the rules of FuzzVerdict, "" when
// it may.
func offence(src string, depth int) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		return "it does not parse: " + err.Error()
	}
	if depth > 8 {
		return "it is too deep"
	}
	why, calls := "", 0
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			calls++
			if len(n.Assigns) > 0 {
				why = "it sets a variable"
			} else if w := callOffence(n, depth); w != "" {
				why = w
			}
		case *syntax.Redirect:
			if w := redirectOffence(n); w != "" {
				why = w
			}
		case *syntax.ParamExp:
			if n.Param == nil || !strings.Contains("?#$!", n.Param.Value) {
				if !onlyData(file, n) {
					why = "it expands a variable in a command"
				}
			}
		case *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd, *syntax.TestClause, *syntax.ExtGlob, *syntax.CStyleLoop, *syntax.TestDecl:
			why = "it holds a construct that no rule allows"
		}
		return true
	})
	if calls == 0 {
		return "it has no command"
	}
	return why
}

// onlyData reports whether a variable stands where it cannot become a command or
// an argument: in a here-document, the words of for, or case.
func onlyData(file *syntax.File, p *syntax.ParamExp) bool {
	inCall := false
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && call.Pos().Offset() <= p.Pos().Offset() && p.End().Offset() <= call.End().Offset() {
			inCall = true
		}
		return true
	})
	return !inCall
}

func callOffence(n *syntax.CallExpr, depth int) string {
	argv := make([]string, len(n.Args))
	for i, w := range n.Args {
		argv[i] = plain(w)
	}
	return argvOffence(argv, depth)
}

// argvOffence looks through the wrappers that do no more than run a command.
func argvOffence(argv []string, depth int) string {
	for i, a := range argv {
		name := a[strings.LastIndexByte(a, '/')+1:]
		switch name {
		case "git":
			if a == "git" && len(argv) > i+1 && argv[i+1] == "status" {
				return gitOffence(argv[i+2:])
			}
			return "it runs git " + strings.Join(argv[i+1:], " ")
		case "ls", "echo":
			if a == name {
				return ""
			}
		case "cat":
			if a == "cat" && len(argv) == i+2 && strings.HasPrefix(argv[i+1], "src/") && !strings.Contains(argv[i+1], "..") {
				return ""
			}
			return "it runs cat " + strings.Join(argv[i+1:], " ")
		case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "ksh93", "rbash", "yash", "posh", "trap", "watch":
			for _, text := range argv[i+1:] {
				if offence(text, depth+1) == "" {
					return ""
				}
			}
			if name == "watch" && offence(strings.Join(argv[i+1:], " "), depth+1) == "" {
				return ""
			}
			continue // sh -c 'sh' and the like
		case "xargs", "gxargs":
			if len(argv) == i+1 {
				return "" // echo
			}
		}
		if i == 0 && !transparent(name) {
			return "it runs " + strings.Join(argv, " ")
		}
	}
	if len(argv) > 0 && (argv[0] == "xargs" || strings.HasSuffix(argv[0], "/xargs") || argv[0] == "gxargs") {
		return ""
	}
	return "it runs " + strings.Join(argv, " ")
}

func transparent(name string) bool {
	switch name {
	case "env", "nohup", "nice", "ionice", "timeout", "gtimeout", "time", "stdbuf", "setsid", "exec", "builtin", "noglob", "nocorrect", "command",
		"caffeinate", "busybox", "toybox", "unbuffer", "xargs", "gxargs":
		return true
	}
	return false
}

func gitOffence(rest []string) string {
	for _, a := range rest {
		if strings.HasPrefix(a, "--o") || strings.HasPrefix(a, "--ex") {
			return "it gives git the option " + a
		}
	}
	return ""
}

func redirectOffence(n *syntax.Redirect) string {
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return ""
	}
	w := plain(n.Word)
	switch w {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero", "/dev/full", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2", "-":
		return ""
	}
	if strings.Trim(w, "0123456789-") == "" && (n.Op == syntax.DplIn || n.Op == syntax.DplOut) {
		return ""
	}
	for _, p := range n.Word.Parts {
		if _, ok := p.(*syntax.ProcSubst); ok {
			return "" // its commands are looked at themselves
		}
	}
	return "it opens " + w
}

// plain is the text of a word in which nothing is expanded, as well as it can be
// told; what is expanded is left out.
func plain(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			s := p.Value
			if p.Dollar {
				s, _, _ = expand.Format(nil, s, nil)
			}
			b.WriteString(s)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); ok {
					b.WriteString(unescape(lit.Value, "$`\"\\"))
				}
			}
		}
	}
	return b.String()
}

func unescape(s, only string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (only == "" || strings.IndexByte(only, s[i+1]) >= 0) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// FuzzDeny checks that a forbidden command is found wherever it is put, and that
// nothing around it makes Judge panic or allow.
func FuzzDeny(f *testing.F) {
	for _, s := range []string{"%", "ls; %", "if true; then %; fi", "bash -c '%'", "echo $(%)", "sudo %", "ls | (cat; %)", "f() { %; }; f", "X=1 %", "% > x"} {
		f.Add(s)
	}
	p, err := FromFlags(Flags{Allow: []string{"bash"}, Deny: []string{"bash(forbidden)"}}, testEnv)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, frame string) {
		if len(frame) > 1024 || strings.Count(frame, "%") != 1 {
			return
		}
		src := strings.ToValidUTF8(strings.ReplaceAll(frame, "%", "forbidden"), "?")
		got := Explain(p, command(t, src), contract.ModeDefault)
		if got.Verdict == Deny {
			return
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
		if err != nil {
			if got.Verdict == Allow {
				t.Fatalf("Judge(%q) = allow, but it does not parse", src)
			}
			return
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "forbidden" && got.Verdict == Allow {
				t.Fatalf("Judge(%q) = allow, want deny", src)
			}
			return true
		})
	})
}

// FuzzPath checks that an allowed path is below what the rule names once it is
// cleaned.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"a", "../a", "a/../../b", "/w/app/x", "~", "./x", "a//b", "/w/app/../x", "\x00", "file:///w/app/x"} {
		f.Add(s)
	}
	p, err := FromFlags(Flags{Allow: []string{"read(${cwd}/**)"}}, testEnv)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		q := pathUse(t, "read", "path", strings.ToValidUTF8(path, "?"), "/w/app")
		a := p.Analyse(q)
		if got := p.Judge(a, contract.ModeDefault); got.Verdict != Allow {
			return
		}
		for _, it := range a.items {
			for _, real := range it.place.real {
				if real != "/w/app" && !strings.HasPrefix(real, "/w/app/") || strings.Contains(real, "/../") {
					t.Fatalf("Judge(read %q) = allow, but it leads to %q", path, real)
				}
			}
		}
	})
}

// FuzzParse checks that no text makes the parser of rules panic, and that what it
// takes can be judged with.
func FuzzParse(f *testing.F) {
	f.Add("rules: [{allow: 'bash(git status *, \"a b\" \\* **)'}, {deny: 'read(~/{a,b}/**)'}, {ask: 'web-fetch(*.x.com/a/*)'}]")
	f.Add("permissions: {mode: plan, rules: [{allow: mcp/x/y, agents: [a], cwd: /x, subagent: true}]}")
	f.Fuzz(func(t *testing.T, data string) {
		if len(data) > 4096 {
			return
		}
		p, err := Parse([]byte(data), testEnv)
		if (p == nil) == (err == nil) {
			t.Fatalf("Parse(%q) = %v, %v", data, p, err)
		}
		if err == nil {
			Explain(p, command(t, "git status"), contract.ModeDefault)
			Explain(p, pathUse(t, "read", "path", "a/b", "/w"), contract.ModePlan)
			Explain(p, pathUse(t, "web-fetch", "url", "https://x.com/a", "/w"), contract.ModeDefault)
		}
	})
}
