package policy

import (
	"encoding/json/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// tree makes files and links below a new directory: "a/b" a file, "a/" a
// directory, "l -> t" a link. The directory's own name has no links in it.
func tree(t testing.TB, entries ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "$ROOT", root), at)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(at, 0o755)
		default:
			err = os.WriteFile(at, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func pathUse(t testing.TB, tool, key, path, cwd string) Request {
	t.Helper()
	args, err := json.Marshal(map[string]string{key: path})
	if err != nil {
		t.Fatal(err)
	}
	return Request{Tool: tool, Args: args, Cwd: cwd}
}

func TestPaths(t *testing.T) {
	root := tree(t,
		"w/app/a.txt", "w/app/sub/b.txt", "w/app/.git/hooks/", "w/app/.env", "w/app-evil/a.txt", "w/appx", "etc/passwd",
		"home/.ssh/id_rsa", "home/notes/n.txt",
		"w/app/in -> sub", "w/app/abs -> $ROOT/etc", "w/app/rel -> ../../etc", "w/app/file -> $ROOT/etc/passwd",
		"w/app/dangling -> $ROOT/etc/new", "w/app/danglingrel -> ../../etc/new", "w/app/danglingin -> sub/new",
		"w/app/chain -> chain2", "w/app/chain2 -> chain3", "w/app/chain3 -> abs", "w/app/loop -> loop2", "w/app/loop2 -> loop",
		"w/app/self -> .", "w/app/up -> ..", "w/link -> app", "w/app/sub/deep/", "w/app/env -> .env", "w/app/proc -> /proc/self/root",
	)
	policyText := `
rules:
  - deny: edit(**/.env*)
  - deny: read(~/.ssh/**)
  - deny: read(${cwd}/sub/secret/**)
  - allow: read(${cwd}/**)
  - allow: write(sub/**)
  - allow: edit(*.txt)
  - allow: list(ROOT/w/app)
  - allow: view-image(**/*.png)
  - allow: read(~/notes/*)
`
	env := Env{Home: root + "/home"}
	p, err := Parse([]byte(strings.ReplaceAll(policyText, "ROOT", root)), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool, path string
		want       Verdict
	}{
		// In and out of the session's directory.
		{"read", "a.txt", Allow},
		{"read", "./a.txt", Allow},
		{"read", "ROOT/w/app/a.txt", Allow},
		{"read", "sub/b.txt", Allow},
		{"read", "sub/../a.txt", Allow},
		{"read", "ROOT/w/app/sub/../a.txt", Allow},
		{"read", "sub//b.txt", Allow},
		{"read", "ROOT//w/./app/a.txt", Allow},
		{"read", ".", Allow},
		{"read", "ROOT/w/app", Allow},
		{"read", "new.txt", Allow},
		{"read", "new/deep/file", Allow},
		{"read", "пример файл.txt", Allow},
		{"read", "a b/c\nd", Allow},
		{"read", "ROOT/w/app-evil/a.txt", Ask},
		{"read", "ROOT/w/app/../app-evil/a.txt", Ask},
		{"read", "ROOT/w/appx", Ask},
		{"read", "ROOT/w", Ask},
		{"read", "..", Ask},
		{"read", "../app-evil/a.txt", Ask},
		{"read", "sub/../../app-evil/a.txt", Ask},
		{"read", "/etc/passwd", Ask},
		{"read", "/", Ask},
		{"read", "ROOT/w/APP/a.txt", Ask},
		{"read", "new/../../app-evil/a.txt", Ask},
		{"read", "ROOT/w/app/a.txt/../../../etc/passwd", Ask},
		// What is no path.
		{"read", "", Ask},
		{"read", " ", Ask},
		{"read", "a\x00.txt", Ask},
		{"read", "file:///etc/passwd", Ask},
		{"read", "file://ROOT/w/app/a.txt", Ask},
		{"read", "https://example.com/a.txt", Ask},
		{"read", strings.Repeat("a/", 5000), Ask},
		{"read", "FILE:///etc/passwd", Ask},
		// Home, and what looks like it.
		{"read", "~/notes/n.txt", Allow},
		{"read", "ROOT/home/notes/n.txt", Allow},
		{"read", "ROOT/home/notes/../.ssh/id_rsa", Deny},
		{"read", "~/.ssh/id_rsa", Deny},
		{"read", "ROOT/home/.ssh/id_rsa", Deny},
		{"read", "ROOT/home/.SSH/id_rsa", Deny},
		{"read", "ROOT/home/.ssh", Deny},
		{"read", "ROOT/home/.ssh/new", Deny},
		{"read", "~", Ask},
		{"read", "~root/x", Allow},
		{"read", "ROOT/home/notes/sub/x", Ask},
		{"view-image", "~/.ssh/x.png", Deny},
		{"grep", "~/.ssh", Deny},
		// Symlinks.
		{"read", "in/b.txt", Allow},
		{"read", "self/a.txt", Allow},
		{"read", "self/self/self/a.txt", Allow},
		{"read", "danglingin", Allow},
		{"read", "abs/passwd", Ask},
		{"read", "rel/passwd", Ask},
		{"read", "file", Ask},
		{"read", "dangling", Ask},
		{"read", "danglingrel", Ask},
		{"read", "chain/passwd", Ask},
		{"read", "loop", Ask},
		{"read", "loop/x", Ask},
		{"read", "up", Ask},
		{"read", "up/app/a.txt", Allow},
		{"read", "up/app-evil/a.txt", Ask},
		{"read", "abs/../a.txt", Ask},
		{"read", "in/../a.txt", Allow},
		{"read", "in/../../app-evil/a.txt", Ask},
		{"read", "sub/deep/../b.txt", Allow},
		{"read", "dangling/x", Ask},
		{"read", "proc/etc/passwd", Ask},
		{"read", "/proc/self/cwd/a.txt", Ask},
		{"read", "/proc/self/root/etc/passwd", Ask},
		{"read", "/dev/fd/3", Ask},
		{"read", "ROOT/w/link/a.txt", Allow},
		{"read", "ROOT/w/link/abs/passwd", Ask},
		// Deny rules: any reading, any case, any tool that does the same.
		{"edit", ".env", Deny},
		{"edit", ".env.local", Deny},
		{"edit", ".ENV", Deny},
		{"edit", "sub/.env", Deny},
		{"edit", "x/../.env", Deny},
		{"edit", "ROOT/w/app/.env", Deny},
		{"edit", "/.env", Deny},
		{"edit", "env", Deny},
		{"write", ".env", Deny},
		{"delete", ".env", Deny},
		{"notebook-edit", ".env", Deny},
		{"move", ".env", Deny},
		{"edit", "abs/.env", Deny},
		{"edit", ".e\u200bnv", Deny},
		{"edit", "．ｅｎｖ", Deny},
		{"edit", "file://ROOT/w/app/.env", Deny},
		{"read", "sub/secret/x", Deny},
		{"read", "in/secret/x", Deny},
		{"read", "sub/SECRET/x", Deny},
		{"read", "sub/secret", Deny},
		{"read", "sub/secrets", Allow},
		{"read", ".env", Allow},
		{"edit", "env.txt", Allow},
		{"edit", "sub/x.txt", Ask},
		// Other bases.
		{"write", "sub/x", Allow},
		{"write", "in/x", Allow},
		{"write", "x", Ask},
		{"write", "sub/../x", Ask},
		{"write", "sub/deep/x", Allow},
		{"write", "subx/y", Ask},
		{"edit", "a.txt", Allow},
		{"list", "ROOT/w/app", Allow},
		{"list", ".", Allow},
		{"list", "sub", Ask},
		{"view-image", "/any/where/x.png", Allow},
		{"view-image", "x.jpg", Ask},
		{"view-image", "x.PNG", Ask},
	} {
		in := strings.ReplaceAll(tt.path, "ROOT", root)
		got := p.Judge(p.Analyse(pathUse(t, tt.tool, "path", in, root+"/w/app")), contract.ModeDefault)
		if got.Verdict != tt.want {
			t.Errorf("%s(%q) = %s, want %s\n%s", tt.tool, tt.path, got.Verdict, tt.want, text(got))
		}
	}
}

// Where a directory is called ~ both readings of the name count.
func TestTildeThatExists(t *testing.T) {
	root := tree(t, "app/~/x", "home/x")
	p, err := FromFlags(Flags{Allow: []string{"read(~/**)", "list(~/**)", "list(${cwd}/**)"}}, Env{Home: root + "/home"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		want Verdict
	}{{"~/x", Ask}, {root + "/home/x", Allow}, {"./~/x", Ask}} {
		if got := p.Judge(p.Analyse(pathUse(t, "read", "path", tt.path, root+"/app")), contract.ModeDefault); got.Verdict != tt.want {
			t.Errorf("read(%q) = %s, want %s", tt.path, got.Verdict, tt.want)
		}
	}
}

// A session may run in a directory that is a link.
func TestPathsWhenCwdIsALink(t *testing.T) {
	root := tree(t, "real/app/a.txt", "link -> real/app", "other/x")
	p, err := FromFlags(Flags{Allow: []string{"read(${cwd}/**)"}, Deny: []string{"edit(" + root + "/link/x/**)", "delete(x/**)"}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool, path string
		want       Verdict
	}{
		{"read", "a.txt", Allow},
		{"read", root + "/real/app/a.txt", Allow},
		{"read", root + "/link/a.txt", Allow},
		{"read", root + "/other/x", Ask},
		{"edit", "x/y", Deny},
		{"edit", root + "/real/app/x/y", Deny},
		{"delete", root + "/real/app/x/y", Deny},
		{"delete", root + "/link/x/y", Deny},
	} {
		if got := p.Judge(p.Analyse(pathUse(t, tt.tool, "path", tt.path, root+"/link")), contract.ModeDefault); got.Verdict != tt.want {
			t.Errorf("%s(%q) = %s, want %s", tt.tool, tt.path, got.Verdict, tt.want)
		}
	}
}

// A link that is changed between two looks leads to another verdict, and the
// analyses differ in their places.
func TestSwappedLink(t *testing.T) {
	root := tree(t, "app/sub/", "etc/passwd", "app/l -> sub")
	p, err := FromFlags(Flags{Allow: []string{"write(${cwd}/**)"}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	use := pathUse(t, "write", "file_path", "l/passwd", root+"/app")
	before := p.Analyse(use)
	if got := p.Judge(before, contract.ModeDefault); got.Verdict != Allow {
		t.Fatalf("before: %s, want allow", text(got))
	}
	if err := os.Remove(root + "/app/l"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root+"/etc", root+"/app/l"); err != nil {
		t.Fatal(err)
	}
	after := p.Analyse(use)
	if got := p.Judge(after, contract.ModeDefault); got.Verdict != Ask {
		t.Errorf("after: %s, want ask", text(got))
	}
	if before.Places() == after.Places() {
		t.Errorf("both lead to %q, want two places", before.Places())
	}
	k1, ok1 := before.Key()
	k2, ok2 := after.Key()
	if !ok1 || !ok2 || k1 == k2 {
		t.Errorf("keys %q %v and %q %v, want two different ones", k1, ok1, k2, ok2)
	}
}

// The operand of a command is followed, too, when a pattern names its directory.
func TestOperandsThroughLinks(t *testing.T) {
	root := tree(t, "app/src/a.go", "app/src/out -> $ROOT/etc", "app/src/in -> deep", "app/src/deep/b.go", "etc/passwd")
	p, err := FromFlags(Flags{Allow: []string{"bash(cat src/**, tool --file=src/**)"}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command string
		want    Verdict
	}{
		{"cat src/a.go", Allow},
		{"cat src/new", Allow},
		{"cat src/in/b.go", Allow},
		{"cat src/out/passwd", Ask},
		{"cat src/out", Ask},
		{"tool --file=src/a.go", Allow},
		{"tool --file=src/out/passwd", Ask},
		{"tool --file=src/../x", Ask},
	} {
		q := command(t, tt.command)
		q.Cwd = root + "/app"
		if got := p.Judge(p.Analyse(q), contract.ModeDefault); got.Verdict != tt.want {
			t.Errorf("%q = %s, want %s\n%s", tt.command, got.Verdict, tt.want, text(got))
		}
	}
}

func TestOddWindowsPaths(t *testing.T) {
	env := Env{Home: "C:/Users/u", Windows: true}
	for _, tt := range []struct {
		path string
		odd  bool
	}{
		{`C:\w\app\a.txt`, false},
		{"C:/w/app/a.txt", false},
		{`sub\a.txt`, false},
		{`..\x`, false},
		{`.\x`, false},
		{`C:\w\app\a.txt.`, true},
		{`C:\w\app\a.txt `, true},
		{`C:\w\app\a.txt::$DATA`, true},
		{`C:\w\PROGRA~1\x`, true},
		{`\\?\C:\w\a`, true},
		{`\\.\pipe\x`, true},
		{`C:\w\app\con:x`, true},
	} {
		if got := env.oddPath(tt.path) != ""; got != tt.odd {
			t.Errorf("oddPath(%q) = %q, want odd %v", tt.path, env.oddPath(tt.path), tt.odd)
		}
	}
	for _, tt := range []struct{ path, want string }{
		{`a.txt`, "C:/w/app/a.txt"}, {`..\b`, "C:/w/b"}, {`D:\x`, "D:/x"}, {`C:\w\..\x`, "C:/x"},
	} {
		if got := env.locate(tt.path, `C:\w\app`); len(got.lexical) != 1 || got.lexical[0] != tt.want {
			t.Errorf("locate(%q) = %v, want %q", tt.path, got.lexical, tt.want)
		}
	}
}

// joinAs gives what join gives, whatever the path is that it is taken from.
func TestJoinAs(t *testing.T) {
	for _, abs := range []string{"", "/", "/a", "/a/b", "/a/bc", "/a//b", "a/b", "C:/a/b", "/ab/c"} {
		for _, dir := range []string{"", "/", "/a", "/a/", "/a/b", "a", "C:/", "C:/a"} {
			for _, seg := range []string{"a", "b", "c", "bc"} {
				if got, want := joinAs(abs, dir, seg), join(dir, seg); got != want {
					t.Errorf("joinAs(%q, %q, %q): %q, want %q", abs, dir, seg, got, want)
				}
			}
		}
	}
}
