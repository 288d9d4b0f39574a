package policy

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/permission/shell"
)

// The index gives the rules that a look at each would.
func TestRulesByTool(t *testing.T) {
	var c Config
	tools := []string{"*", "bash", "read", "write", "edit", "delete", "move", "list", "glob", "grep", "notebook-edit", "view-image", "web-fetch", "mcp", "todo", "strange-tool"}
	for range 3 {
		for _, tool := range tools {
			c.Rules = append(c.Rules, RuleConfig{Deny: tool}, RuleConfig{Ask: tool}, RuleConfig{Allow: tool})
		}
	}
	c.Rules = append(c.Rules, RuleConfig{Deny: "mcp/github/get"}, RuleConfig{Allow: "mcp(github/*)"})
	p, err := Compile(c, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range append(tools, "mcp/github/get", "mcp/x", "never-named", "", "plan") {
		for kind, list := range map[Verdict][]*Rule{Deny: p.deny, Ask: p.ask, Allow: p.allow} {
			want := slices.DeleteFunc(slices.Clone(list), func(r *Rule) bool { return !r.covers(tool) })
			if got := p.things(kind, tool); !slices.Equal(got, want) {
				t.Errorf("%s rules about %q are %d, want %d", kind, tool, len(got), len(want))
			}
		}
	}
}

// The rule that is found by the elements of a path is the one that a look at each finds.
func TestFirstRuleOfPath(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"app/src", "away/secret"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "away"), filepath.Join(dir, "app/link")); err != nil {
		t.Fatal(err)
	}
	globs := []string{
		"**/secret/**", "**/Secret/*", "src/**", "src", "**", "*", "**/*.go", "**/.env*", "${cwd}/src/a.go", "**/{secret,src}/**", "src/{a,b}.go",
		"**/s[er]c*/**", "link/**", dir + "/app/link/secret/**", dir + "/away/**", dir + "/app/**/a.go", "**/a.go", "./src/x", "~/app/src/**",
		"**/node_modules/**, **/secret/**", "**/src/**, **/*.txt",
	}
	var c Config
	for _, g := range globs {
		c.Rules = append(c.Rules, RuleConfig{Deny: "edit(" + g + ")"}, RuleConfig{Ask: "edit(" + g + ")"}, RuleConfig{Allow: "edit(" + g + ")"})
	}
	paths := []string{
		"src", "src/a.go", "SRC/A.GO", "secret", "secret/x", "x/secret/y", "link/secret/x", "link", ".env", "src/.env.local", "src/../secret/x",
		"link/../x", dir + "/away/secret/x", dir + "/away", "~/app/src/x", "node_modules/x", "a/b/c", "", "x.txt", "secret/", "/",
	}
	for from := range c.Rules {
		few := Config{Rules: c.Rules[from:]}
		p, err := Compile(few, Env{Home: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			a := p.Analyse(Request{Tool: "edit", Args: fmt.Appendf(nil, `{"path":%q}`, path), Cwd: dir + "/app"})
			for i := range a.items {
				for _, kind := range []Verdict{Deny, Ask, Allow} {
					var want *Rule
					for _, r := range p.things(kind, "edit") {
						if r.matchesThing(&a.items[i], a) {
							want = r
							break
						}
					}
					if got := p.listed(kind, "edit").first(&a.items[i], a); got != want {
						t.Errorf("%s for %q: %v, want %v", kind, path, got, want)
					}
				}
			}
		}
	}
}

// What tells most paths apart is in every path that the glob matches.
func TestNeeded(t *testing.T) {
	for glob, want := range map[string]string{
		"**/.env*": ".env", "a/**": "a", "src/*.go": "src", "**/node_modules/**": "node_modules", "*": "", "**": "",
		"x[ab]c": "", "src/x{a,b}": "src", `a\*b`: "", "": "", "dir/long/[a]/longer": "long",
	} {
		if got := needed(glob); got != want {
			t.Errorf("needed(%q) = %q, want %q", glob, got, want)
		}
	}
	for _, tt := range []struct{ glob, name string }{
		{"a/**", "a"}, {"**/a/**/b", "a/b"}, {"x/{y,z}/w*", "x/z/w"}, {"[ab]c", "ac"}, {`a\{b`, "a{b"},
	} {
		if !matchGlob(tt.glob, tt.name) {
			t.Fatalf("%q does not match %q", tt.glob, tt.name)
		}
		p := pathPattern{glob: tt.glob, wide: tt.glob, need: needed(tt.glob), wideNeed: needed(tt.glob)}
		if !p.match(tt.name) || !p.touches(place{wide: []string{"/" + tt.name}}, &Analysis{}) {
			t.Errorf("the pattern %q does not match %q", tt.glob, tt.name)
		}
	}
}

// Links are found wherever they stand, however much of a path is known already.
func TestResolveWithKnownLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "a/b/c/d/e")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"a/l1": "b/c", "a/b/c/up": "../..", "a/b/c/d/abs": root + "/a/b", "a/b/c/d/e/gone": "nowhere/x", "a/b/c/d/e/loop": "loop",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{
		"a/b/c/d/e", "a/b/c/d/e/f/g", "a/l1/d/e", "a/b/c/up/b/c/d", "a/b/c/d/abs/c/d/e", "a/b/c/d/e/gone", "a/b/c/d/e/gone/y",
		"a/b/c/d/e/loop", "a/l1/../b/c/d", "a/b/c/d/e/../../d/abs/c", "a/b//c/./d", "nothing/at/all/here",
	}
	known := Env{links: &links{}}
	for _, p := range append(paths, paths...) { // the second time all is known
		p = root + "/" + p
		want, wantWhy := Env{}.resolve(p)
		if got, why := known.resolve(p); got != want || why != wantWhy {
			t.Errorf("resolve(%q) = %q, %q, want %q, %q", p, got, why, want, wantWhy)
		}
		if got, why := (Env{links: &links{}}).resolve(p); got != want || why != wantWhy {
			t.Errorf("with nothing known, resolve(%q) = %q, %q, want %q, %q", p, got, why, want, wantWhy)
		}
		if real, err := filepath.EvalSymlinks(p); err == nil && want != path.Clean(real) {
			t.Errorf("resolve(%q) = %q, want %q", p, want, real)
		}
	}
	many := &links{}
	for i := range 3 * maxKnownLinks {
		many.read(fmt.Sprintf("%s/%d", root, i))
	}
	if len(many.known) > maxKnownLinks {
		t.Errorf("%d links are remembered, want %d at most", len(many.known), maxKnownLinks)
	}
}

// A glob of the shell and one of a rule meet when some path fits both.
func TestGlobsMeet(t *testing.T) {
	for _, tt := range []struct {
		marked, glob string
		want         bool
	}{
		{"/h/.ss*/id", "/h/.ssh/**", true},
		{"/h/.s*/*", "/h/.ssh/**", true},
		{"/h/*/id", "/h/.ssh/**", false}, // a * at the beginning is no dot
		{"/h/x*/id", "/h/.ssh/**", false},
		{"/w/src/*.go", "/**/.env*", false},
		{"/w/src/.e*", "/**/.env*", true},
		{"/w/*.pem", "/**/*.pem", true},
		{"/w/*", "/w/secret.txt", true},
		{"/w/*/x", "/w/a/b/x", false},
		{"/w/*", "/w/[ab]c", true},
		{"/w/a*", "/w/{b,c}*", true}, // brackets may be anything
		{"/w/a", "/w/a", true},
		{"/w/a", "/w/b", false},
		{"/w/*b", "/w/a?b", true},
	} {
		marked := strings.ReplaceAll(tt.marked, "*", string(shell.AnyText))
		if got := globsMeet(marked, tt.glob); got != tt.want {
			t.Errorf("globsMeet(%q, %q) = %v, want %v", tt.marked, tt.glob, got, tt.want)
		}
	}
	if !globsMeet(strings.Repeat("a", 1<<10), strings.Repeat("b*", 1<<10)) {
		t.Error("two that are too long to compare do not meet")
	}
}
