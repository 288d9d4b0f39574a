package shell

import (
	"fmt"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// outline writes what was read in one line for each command, so that a table can
// hold it: words by | with their marks, then what is run inside.
func outline(s Script) string {
	var b strings.Builder
	if s.Opaque != "" {
		return "opaque"
	}
	for _, c := range s.Commands {
		outlineCommand(&b, c)
		b.WriteString("; ")
	}
	for _, rd := range s.Redirects {
		op := "<"
		if rd.Write {
			op = ">"
		}
		fmt.Fprintf(&b, "%s%s", op, outlineWord(rd.Path))
		if rd.Dynamic != "" {
			b.WriteString("?")
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func outlineCommand(b *strings.Builder, c *Command) {
	for _, a := range c.Assigns {
		fmt.Fprintf(b, "%s=%s ", a.Name, outlineWord(a.Value))
	}
	for i, w := range c.Words {
		if i > 0 {
			b.WriteString("|")
		}
		b.WriteString(outlineWord(w))
	}
	if c.Tail {
		b.WriteString("|…")
	}
	switch {
	case c.Blind:
		b.WriteString(" BLIND")
	case c.Dynamic != "":
		b.WriteString(" DYNAMIC")
	case c.Exact != "":
		b.WriteString(" EXACT")
	}
	if len(c.Inner) == 0 {
		return
	}
	b.WriteString(" runs")
	if c.Transparent {
		b.WriteString(" only")
	}
	b.WriteString(" {")
	for i, in := range c.Inner {
		if i > 0 {
			b.WriteString("; ")
		}
		outlineCommand(b, in.Command)
	}
	b.WriteString("}")
}

func outlineWord(w Word) string {
	text := strings.NewReplacer(string(AnyText), "‹any›", string(AnyNumber), "‹n›", "\n", "⏎").Replace(w.Text)
	switch w.Kind {
	case Unknown:
		text = "‹?" + text + "›"
	case Dynamic:
		text = "‹$" + text + "›"
	}
	if w.Spell > 0 {
		text = "!" + text
	}
	if w.Home {
		text = "⌂" + text
	}
	return text
}

func TestRead(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		// Words.
		{`a b`, "a|b"},
		{`a 'b c' "d e" f\ g`, "a|b c|d e|f g"},
		{`a"b"'c'd`, "abcd"},
		{`a "\$x \" \x"`, `a|$x " \x`},
		{`a $'\x41\n\t\''`, "a|A⏎\t'"},
		{`a $'\u0041\101'`, "a|AA"},
		{`a $'\x00b'`, `a|‹?$'\x00b'›`},
		{`a $'\cA'`, `a|‹?$'\cA'›`},
		{`a $'\377'`, `a|‹?$'\377'›`},
		{`a ''`, "a|"},
		{`a *.go b?c [ab]`, "a|‹any›.go|b‹any›c|‹any›"},
		{`a '*' \* "?"`, "a|*|*|?"},
		{`a [b`, "a|‹?[b›"},
		{`a {b,c} {b} {} {1..2} {a}..`, "a|‹?{b,c}›|{b}|{}|‹?{1..2}›|{a}.."},
		{`a **`, "a|‹?**›"},
		{`a ~ ~/b '~' b~ ~c`, "a|⌂~|⌂~/b|~|b~|‹?~c›"},
		{`a $? $# $$ x$!`, "a|‹n›|‹n›|‹n›|x‹n›"},
		{`a $b`, "a|‹$$b› DYNAMIC"},
		{`a "${b}c"`, `a|‹$"${b}c"› DYNAMIC`},
		{`a $((1+2))x`, "a|‹n›x"},
		{`a $((b))`, "a|‹$$((b))› DYNAMIC"},
		{`a $"b"`, `a|‹$$"b"› DYNAMIC`},
		{`a @(b|c)`, "a|‹$@(b|c)› DYNAMIC"},
		{`a <(b)`, "b; a|/dev/fd/‹n›"},
		{`a $(b)c`, "b; a|‹?$(b)c›"},
		{"a \"$(cat <<'E'\nx $y\nE\n)\"", "cat; a|x $y"},
		{"a \"$(cat <<E\nx $y\nE\n)\"", "cat; a|‹?\"$(cat <<E⏎x $y⏎E⏎)\"›"},
		// Constructs.
		{"a; b & c\nd", "a; b; c; d"},
		{"a | b && c || d", "a; b; c; d"},
		{"(a; { b; })", "a; b"},
		{"if a; then b; elif c; then d; else e; fi", "a; b; c; d; e"},
		{"while a; do b; done; until c; do d; done", "a; b; c; d"},
		{"for x in $(a) b; do c; done", "a; c"},
		{"case $(a) in $(b)) c;; d) e;; esac", "a; b; c; e"},
		{"f() { a; }; f", "a; f"},
		{"time a; ! b", "a; b"},
		{"coproc c", " BLIND; c"},
		{"((x))", " BLIND"},
		{"let x=1", " BLIND"},
		{"[[ b == c* ]]", "[[|b|==|c‹any›|]]"},
		{"[[ -f a && b ]]", "[[|-f|a|&&|b|]] EXACT"},
		{"[[ a -eq 1 ]]", "[[|a|-eq|1|]] BLIND"},
		{"[[ 2 -eq 1 ]]", "[[|2|-eq|1|]]"},
		{"export A=b C", "export|!A=b|C"},
		{"A=b C=$(d) e", "d; A=b C=‹?$(d)› e"},
		{"A=b", "A=b "},
		{"a[1]=b", "a=b  BLIND"},
		{"a=(b c)", "a=  BLIND"},
		// Redirections.
		{"a > b", "a; >b"},
		{"a >> b 2> c < d", "a; >b; >c; <d"},
		{"a &> b >| c <> d", "a; >b; >c; <d; >d"},
		{"a 2>&1 >&2 2>&- <&3 > /dev/null", "a"},
		{"a >&b", "a; >b"},
		{"a > $b", "a; >‹$$b›?"},
		{"a > /dev/tcp/b/1", "a; >/dev/tcp/b/1?"},
		{"a > >(b)", "b; a"},
		{"a << E\n$(b)\nE", "b; a"},
		{"> a", ">a"},
		// Wrappers.
		{"env a b", "env|a|b runs only {a|b}"},
		{"env -i X=1 a", "env|-i|!X=1|a runs only {X=1 a}"},
		{"X=1 env Y=2 a", "X=1 env|!Y=2|a runs only {X=1 Y=2 a}"},
		{"env -C / a", "env|-C|/|a runs {a}"},
		{"env -S 'a b'", "env|-S|a b EXACT"},
		{"sudo -u x a", "sudo|-u|x|a runs {a}"},
		{"sudo -e a", "sudo|-e|a EXACT"},
		{"timeout -k 1 5 a", "timeout|-k|1|5|a runs only {a}"},
		{"./timeout 5 a", "./timeout|5|a runs {a}"},
		{"nice -n 5 nohup a", "nice|-n|5|nohup|a runs only {nohup|a runs only {a}}"},
		{"bash -c 'a; b'", "bash|-c|a; b runs only {a; b}"},
		{"bash -euo pipefail -c a", "bash|-euo|pipefail|-c|a runs only {a}"},
		{"bash -c a -c b", "bash|-c|a|-c|b runs only {a}"},
		{"bash -c $X", "bash|-c|‹$$X› BLIND"},
		{"bash x", "bash|x"},
		{"bash", "bash BLIND"},
		{"bash -O x -c a", "bash|-O|x|-c|a EXACT runs {a}"},
		{"xargs a", "xargs|a runs only {a|…}"},
		{"xargs -I% a b% c", "xargs|-I%|a|b%|c runs only {a|‹?b%›|c}"},
		{"xargs", "xargs runs only {echo|…}"},
		{"xargs -n1 -P 2 env a", "xargs|-n1|-P|2|env|a runs only {env|a|… runs only {a|…}}"},
		{"find a -exec b {} ';'", "find|a|!-exec|b|{}|; runs {b|‹?{}›}"},
		{"find a -exec b {} + -execdir c ';'", "find|a|!-exec|b|{}|+|!-execdir|c|; runs {b|‹?{}›; c}"},
		{"eval a", "eval|a BLIND"},
		{"trap 'a; b' EXIT", "trap|a; b|EXIT runs only {a; b}"},
		{"trap - EXIT", "trap|-|EXIT"},
		{"source a", "source|a EXACT"},
		{"ssh h a", "ssh|h|a EXACT"},
		{"command -v a", "command|-v|a"},
		{"exec", "exec"},
		{"watch -n 1 'a; b'", "watch|-n|1|a; b runs only {a; b}"},
		{"uv run a", "uv|run|a runs {a}"},
		{"uv pip", "uv|pip"},
		{"python3 a", "python3|a"},
		{"python3", "python3 BLIND"},
		{"python3 -V", "python3|-V"},
		// Options that have to be spelled.
		{"git -c a=b log --output=x -p", "git|!-c|!a=b|log|!--output=x|-p"},
		{"git log -c", "git|log|-c"},
		{"git config a b", "git|!config|a|b"},
		{"git config --get a", "git|config|--get|a"},
		{"sort -uo a b", "sort|!-uo|a|b"},
		{"sort --comp=a", "sort|!--comp=a"},
		{"sort -- -o", "sort|--|!-o"},
		{"find -exec", "find|!-exec"},
		{"make A=b c", "make|!A=b|c"},
		{"sed s/a/b/ c", "sed|s/a/b/|c"},
		{"sed s/a/b/w c", "sed|!s/a/b/w|c"},
		{"awk '{print $1}' a", "awk|{print $1}|a"},
		{"awk '{print|\"sh\"}'", "awk|!{print|\"sh\"}"},
		{"xxd a b", "xxd|a|!b"},
		{"uniq -c a b", "uniq|-c|a|!b"},
		{"dd if=a of=b", "dd|if=a|!of=b"},
		// What is not read at all.
		{"", "opaque"},
		{"  \n", "opaque"},
		{"a\x00", "opaque"},
		{"a\r", "opaque"},
		{"a\xff", "opaque"},
		{"a\u00a0b", "opaque"},
		{"a (", "opaque"},
		{"'", "opaque"},
		{strings.Repeat("(", 2000), "opaque"},
		{strings.Repeat("a;", 20000), "opaque"},
		{strings.Repeat("a", 3<<20), "opaque"},
		{"#", ""},
	} {
		if got := outline(Read(tt.src)); got != tt.want {
			t.Errorf("Read(%.60q) = %s\nwant %s", tt.src, got, tt.want)
		}
	}
}

func TestNormal(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"a  b", "a b", true},
		{"a b # c", "a b", true},
		{"a;b", "a\nb", true},
		{"a>b", "a > b", true},
		{"a b", "a 'b'", false},
		{"a b", "a  bc", false},
		{"a | b", "a |& b", false},
		{"a", "a &", false},
		{"a 'b  c'", "a 'b c'", false},
	} {
		x, y := Read(tt.a), Read(tt.b)
		if got := x.Normal() == y.Normal() && x.Normal() != ""; got != tt.same {
			t.Errorf("Normal: %q and %q: %q, %q, want the same %v", tt.a, tt.b, x.Normal(), y.Normal(), tt.same)
		}
	}
	if s := Read("("); s.Normal() != "" {
		t.Errorf("Normal of what cannot be read = %q", s.Normal())
	}
}

func TestChdirs(t *testing.T) {
	for _, tt := range []struct {
		src          string
		n            int
		first, known bool
		dir          string
	}{
		{"cd a && b", 1, true, true, "a"},
		{"cd a; b", 1, true, true, "a"},
		{"cd a\nb", 1, true, true, "a"},
		{"cd", 1, true, true, "~"},
		{"cd -P a", 1, true, true, "a"},
		{"b; cd a", 1, false, true, "a"},
		{"(cd a); b", 1, false, true, "a"},
		{"cd a & b", 1, false, true, "a"},
		{"cd a || b", 1, false, true, "a"},
		{"! cd a", 1, false, true, "a"},
		{"cd $X", 1, true, false, ""},
		{"cd -", 1, true, false, ""},
		{"cd a b", 1, true, false, ""},
		{"CDPATH=/ cd a", 1, true, false, ""},
		{"pushd a", 1, false, false, ""},
		{"bash -c 'cd a'", 1, false, true, "a"},
		{"builtin cd a", 1, false, true, "a"},
		{"echo cd a", 0, false, false, ""},
	} {
		s := Read(tt.src)
		if len(s.Chdirs) != tt.n {
			t.Errorf("%q: %+v, want %d", tt.src, s.Chdirs, tt.n)
			continue
		}
		if tt.n == 0 {
			continue
		}
		if c := s.Chdirs[0]; c.First != tt.first || c.Dynamic == tt.known || tt.known && c.Dir.Text != tt.dir {
			t.Errorf("%q: %+v, want first %v, known %v, %q", tt.src, c, tt.first, tt.known, tt.dir)
		}
	}
}

func TestJoin(t *testing.T) {
	words := []Word{{Text: "git"}, {Text: "a b"}, {Text: "it's"}, {Text: ""}, {Text: "~/x", Home: true}, {Text: "~/x"}, {Text: "--a=b"}, {Text: "x\ny"}}
	got := Join(words)
	s := Read(got)
	if len(s.Commands) != 1 {
		t.Fatalf("Join = %q, which is read as %s", got, outline(s))
	}
	for i, w := range s.Commands[0].Words {
		if w.Text != words[i].Text || w.Kind != Known || w.Home != words[i].Home {
			t.Errorf("word %d: %+v, want %+v", i, w, words[i])
		}
	}
}

// The work is bounded whatever is nested in what.
func TestReadIsBounded(t *testing.T) {
	for _, s := range []string{
		strings.Repeat("(", 999), strings.Repeat("$(", 499), strings.Repeat("`", 999), strings.Repeat("{ ", 999), strings.Repeat("if ", 900),
		strings.Repeat("$((", 333), strings.Repeat("${a:-", 999), strings.Repeat("eval ", 1000), strings.Repeat("env ", 1000), strings.Repeat("sh -c '", 900),
		"echo " + strings.Repeat("a", 1<<20), "echo " + strings.Repeat("a ", 1<<19), strings.Repeat("a;", 9000), "eval " + strings.Repeat("'a b' ", 5000),
		"ssh " + strings.Repeat("'eval a' ", 5000), "echo {" + strings.Repeat("a,", 900) + "}{" + strings.Repeat("b,", 900) + "}", "echo {1..1000000000}",
		strings.Repeat("ssh ", 2000), strings.Repeat("make A='b c' ", 400), "sudo " + strings.Repeat("-u x ", 5000) + "a",
	} {
		// Work that grew faster than the input would show in what it allocates: a
		// clock says more about the machine.
		allocs := testing.AllocsPerRun(1, func() { Read(s) })
		if limit := 10_000 + 40*float64(len(s)); allocs > limit {
			t.Errorf("Read(%.40q…, %d bytes) allocates %.0f times, want at most %.0f", s, len(s), allocs, limit)
		}
	}
}

// FuzzRead checks that nothing makes Read panic, and that every simple command
// with a plain name is listed, wherever it stands.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"a; b", "a | (b && `c`)", "bash -c 'a; $(b)'", "xargs -I{} a {}", "for x in a; do b; done", "a <<E\n$(b)\nE", "X=$(a) b > $(c)", "[[ $(a) == b ]]", "a ${b:-$(c)}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 2048 {
			return
		}
		s := Read(src)
		if s.Opaque != "" {
			return
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
		if err != nil {
			t.Fatalf("Read(%q) is not opaque, but it does not parse: %v", src, err)
		}
		listed := map[string]int{}
		for _, c := range s.Commands {
			if len(c.Words) > 0 && c.Words[0].Kind == Known {
				listed[c.Words[0].Text]++
			}
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if name := call.Args[0].Lit(); name != "" && !strings.ContainsAny(name, `\*?[]{}~`) {
				if listed[name]--; listed[name] < 0 {
					t.Fatalf("Read(%q) = %s, but %q is missing", src, outline(s), name)
				}
			}
			return true
		})
	})
}
