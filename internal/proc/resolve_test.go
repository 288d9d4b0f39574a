//go:build unix

package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	agent := file("a/agent", "\x7fELF", 0o755)
	second := file("b/agent", "\x7fELF", 0o755)
	file("c/agent", "\x7fELF", 0o644)
	wrapper := file("npm/wrapper", "#!/usr/bin/env -S fakenode --flag\n", 0o755)
	file("npm/fakenode", "\x7fELF", 0o755)
	lonely := file("npm2/lonely", "#!/usr/bin/env fakenode\n", 0o755)
	broken := file("npm2/broken", "#! /no/such/interpreter -x\n", 0o755)
	link := filepath.Join(dir, "npm", "link")
	if err := os.Symlink(filepath.Join("..", "npm2", "lonely"), link); err != nil {
		t.Fatal(err)
	}
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	t.Chdir(dir)
	for _, test := range []struct {
		name, command, path string
		want                string
		is                  error
		says                []string
	}{
		{name: "looked up", command: "agent", path: "/nowhere:" + a + ":" + b, want: agent},
		{name: "the first wins", command: "agent", path: b + ":" + a, want: second},
		{name: "what can't be executed is passed over", command: "agent", path: c + ":" + b, want: second},
		{name: "absolute", command: agent, path: "", want: agent},
		{name: "relative path", command: "a/agent", path: "", want: agent},
		{name: "none", command: "agent", path: "/usr/nope:/bin/nope", is: ErrNotFound, says: []string{`"agent"`, "PATH=/usr/nope:/bin/nope"}},
		{name: "only one that can't", command: "agent", path: c, is: ErrNotFound, says: []string{"not executable"}},
		{name: "empty PATH", command: "agent", path: "", is: ErrNotFound},
		{name: "empty command", command: "", path: a, is: ErrNotFound},
		{name: "the current directory is never searched", command: "agent", path: "a:.::./a", is: ErrNotFound},
		{name: "missing path", command: "./no", path: a, is: fs.ErrNotExist, says: []string{`"./no"`}},
		{name: "directory", command: a, path: "", says: []string{"directory"}},
		{name: "script with its interpreter beside it", command: wrapper, path: "/usr/bin:/bin", want: wrapper},
		{name: "link to a script, interpreter beside the link", command: link, path: "/usr/bin:/bin", want: link},
		{name: "script without its interpreter", command: lonely, path: "/usr/bin:/bin", is: ErrNotFound, says: []string{"script", `"fakenode"`, "PATH=", "/usr/bin:/bin"}},
		{name: "script with its interpreter in PATH", command: lonely, path: filepath.Join(dir, "npm"), want: lonely},
		{name: "script with a broken interpreter", command: broken, path: "/bin", is: fs.ErrNotExist, says: []string{"/no/such/interpreter"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Resolve(test.command, test.path)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Fatalf("Resolve(%q, %q) = %q, %v; want %q", test.command, test.path, got, err, test.want)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v, want %v", err, test.is)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q doesn't say %q", err, want)
				}
			}
		})
	}
}

func TestPathWith(t *testing.T) {
	for _, test := range []struct{ executable, path, want string }{
		{"/opt/node/bin/agent", "/usr/bin:/bin", "/opt/node/bin:/usr/bin:/bin"},
		{"/usr/bin/agent", "/usr/bin:/bin", "/usr/bin:/bin"},
		{"/bin/agent", "/home/u/bin:/bin:/sbin", "/home/u/bin:/bin:/sbin"},
		{"/opt/agent", "", "/opt"},
		{"agent", "/bin", "/bin"},
	} {
		if got := PathWith(test.executable, test.path); got != test.want {
			t.Errorf("PathWith(%q, %q) = %q, want %q", test.executable, test.path, got, test.want)
		}
	}
}

// TestEnvScriptRuns is B174: a script for an interpreter that no PATH knows, but
// that lies beside it.
func TestEnvScriptRuns(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile("testdata/B174-path.sh")
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(dir, "agent")
	for path, content := range map[string][]byte{
		agent:                          script,
		filepath.Join(dir, "fakenode"): []byte("#!/bin/bash\necho \"ran $1\"\n"),
	} {
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const path = "/usr/bin:/bin"
	executable, err := Resolve(agent, path)
	if err != nil {
		t.Fatal(err)
	}
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: []string{executable}, Env: []string{"PATH=" + PathWith(executable, path)}, Supervise: supervise})
		if out := collect(t, c); len(out.stdout) != 1 || out.stdout[0] != "ran "+agent {
			t.Errorf("stdout = %q, stderr = %q", out.stdout, out.stderr)
		}
	})
}
