package policy

import (
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// Files that make programs run something are allowed by rules that spell what makes
// them so, and by no wildcard.
func TestGovernedFiles(t *testing.T) {
	root := tree(t, "app/src/a.go", "app/.git/hooks/", "app/hooks -> .git/hooks", "home/.config/app/", "app/attrs -> .gitattributes")
	env := Env{Home: root + "/home"}
	request := func(tool, path string) Request { return pathUse(t, tool, "path", path, root+"/app") }
	for _, tt := range []struct {
		rule, tool, path string
		want             Verdict
	}{
		{"edit(${cwd}/**)", "edit", "src/a.go", Allow},
		{"edit(${cwd}/**)", "edit", ".git/config", Ask},
		{"edit(${cwd}/**)", "edit", ".GIT/config", Ask},
		{"edit(**)", "edit", ".git/hooks/pre-commit", Ask},
		{"edit(**/*)", "edit", ".gitattributes", Ask},
		{"edit(**/*)", "edit", "src/.gitattributes", Ask},
		{"edit(*)", "edit", ".git/config", Ask},
		{"edit", "edit", ".git/config", Ask},
		{"*", "edit", ".git/config", Ask},
		{"*", "edit", "src/a.go", Allow},
		{"edit(.git*)", "edit", ".gitattributes", Ask},
		{"edit(.git*/**)", "edit", ".git/config", Ask},
		{"edit(.git/**)", "edit", ".git/config", Allow},
		{"edit(**/.git/**)", "edit", "sub/.git/config", Allow},
		{"edit(.git/config)", "edit", ".git/config", Allow},
		{"edit(.git/config)", "edit", ".git/hooks/x", Ask},
		{"edit(.git/**)", "edit", ".git/x/.envrc", Ask},
		{"edit(.git/**/.envrc)", "edit", ".git/x/.envrc", Allow},
		{"edit(**/.gitattributes)", "edit", "src/.gitattributes", Allow},
		{"edit(**/{.npmrc,.yarnrc})", "edit", ".npmrc", Allow},
		{"edit(**/{.npmrc,.yarnrc})", "edit", ".envrc", Ask},
		{"edit(**)", "edit", ".github/workflows/x.yml", Allow},
		{"edit(**)", "edit", ".gitignore", Allow},
		{"edit(**)", "edit", "a.git/x", Allow},
		// Links lead there, too.
		{"edit(**)", "edit", "hooks/pre-commit", Ask},
		{"edit(hooks/**)", "edit", "hooks/pre-commit", Ask},
		{"edit(.git/**)", "edit", "hooks/pre-commit", Allow},
		{"edit(**)", "edit", "attrs", Ask},
		// Every tool that changes files, and no other.
		{"write(**)", "write", ".git/config", Ask},
		{"delete(**)", "delete", ".git/config", Ask},
		{"move(**)", "move", ".git/config", Ask},
		{"notebook-edit(**)", "notebook-edit", ".vscode/x.ipynb", Ask},
		{"read(**)", "read", ".git/config", Allow},
		{"list(**)", "list", ".git", Allow},
		{"grep(**)", "grep", ".git", Allow},
		// Elsewhere; what the two directories lie in does not count.
		{"edit(~/**)", "edit", "~/.config/app/x", Ask},
		{"edit(~/.config/app/**)", "edit", "~/.config/app/x", Allow},
		{"edit(" + root + "/**)", "edit", root + "/other/.ssh/config", Ask},
	} {
		p, err := Compile(Config{Rules: []RuleConfig{{Allow: tt.rule}}}, env)
		if err != nil {
			t.Fatal(err)
		}
		if e := Explain(p, request(tt.tool, tt.path), contract.ModeDefault); e.Verdict != tt.want {
			t.Errorf("%s: %s %s is %s, want %s: %+v", tt.rule, tt.tool, tt.path, e.Verdict, tt.want, e.Parts)
		}
	}
	inside := Request{Tool: "edit", Args: []byte(`{"path":"x"}`), Cwd: root + "/home/.config/app"}
	p, err := Compile(Config{Rules: []RuleConfig{{Allow: "edit(${cwd}/**)"}}}, env)
	if err != nil {
		t.Fatal(err)
	}
	if e := Explain(p, inside, contract.ModeDefault); e.Verdict != Allow {
		t.Errorf("in a session below .config an edit is %s, want allow", e.Verdict)
	}
	// Deny and ask rules are read as widely as ever.
	p, err = Compile(Config{Rules: []RuleConfig{{Deny: "edit(**)"}, {Allow: "edit(.git/**)"}}}, env)
	if err != nil {
		t.Fatal(err)
	}
	if e := Explain(p, request("edit", ".git/config"), contract.ModeDefault); e.Verdict != Deny {
		t.Errorf("a deny rule with a wildcard gives %s", e.Verdict)
	}
}

// The same for programs that change the files that they name.
func TestGovernedByCommands(t *testing.T) {
	const rules = "bash(cp *, mv *, tee *, ln *, touch *, chmod *, rm *, sed *, install *, rsync *, curl -o *, git -C vendor/x status *, git -C * status, cp hook .git/hooks/pre-commit)"
	p, err := Compile(Config{Rules: []RuleConfig{{Allow: rules}}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Verdict{
		"cp a b":                              Allow,
		"cp .git/config b":                    Allow, // it is only read
		"cp a .git/config":                    Ask,
		"cp a ./.git/hooks/post-checkout":     Ask,
		"cp hook .git/hooks/pre-commit":       Allow, // spelled
		"cp hook .git/hooks/pre-push":         Ask,
		"cp -t .git/hooks x":                  Ask,
		"cp --target-directory=.git/hooks x":  Ask,
		"cp a sub/../.git/config":             Ask,
		"cp a $HOME/.git/config":              Ask,
		"cp a ~/.ssh/config":                  Ask,
		"cp a .vscode":                        Ask,
		"cp .envrc sub/":                      Ask, // it gets its name there
		"mv a .gitattributes":                 Ask,
		"mv .git .git2":                       Ask,
		"tee .git/config":                     Ask,
		"tee x .git/config":                   Ask,
		"touch .git/hooks/x":                  Ask,
		"ln -s /tmp/x .git/hooks":             Ask,
		"chmod +x .git/hooks/pre-commit":      Ask,
		"chmod +x x":                          Allow,
		"rm -rf .git":                         Ask,
		"rm -rf build":                        Allow,
		"sed s/a/b/ .git/config":              Allow,
		"install hook .git/hooks/x":           Ask,
		"rsync -a x/ .git/":                   Ask,
		"curl -o .git/config example.com":     Ask,
		"curl -o x example.com":               Allow,
		"bash -c 'cp a .git/config'":          Ask,
		"timeout 1 cp a .git/config":          Ask,
		"git -C vendor/x status":              Allow, // spelled
		"git -C vendor/x status -s":           Allow,
		"git -C vendor/y status":              Ask,
		"git -C . status":                     Ask,
		"cd vendor && git -C vendor/x status": Ask,
	} {
		if e := Explain(p, command(t, text), contract.ModeDefault); e.Verdict != want {
			t.Errorf("%q is %s, want %s: %+v", text, e.Verdict, want, e.Parts)
		}
	}
}
