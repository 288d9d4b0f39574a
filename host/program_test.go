package host

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/proc"
)

// wrapped is an agent whose script lies in DIR/bin and its program in DIR/vendor.
type wrapped struct{ fakeAdapter }

func (wrapped) Unwrap(command, platform, architecture string) []string {
	if filepath.Base(command) != "script" || platform != runtime.GOOS || architecture != runtime.GOARCH {
		return nil
	}
	dir := filepath.Dir(filepath.Dir(command))
	return []string{filepath.Join(dir, "nested", "program"), filepath.Join(dir, "vendor", "program")}
}

var _ adapters.Unwrapper = wrapped{}

func TestProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(mode os.FileMode, names ...string) string {
		path := filepath.Join(append([]string{dir}, names...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put(0o755, "pkg", "bin", "script")
	link := filepath.Join(dir, "agent")
	if err := os.Symlink(filepath.Join(dir, "pkg", "bin", "script"), link); err != nil {
		t.Fatal(err)
	}
	check := func(what string, cfg Config, exe, want string) {
		t.Helper()
		cfg.Resolve = proc.Resolve
		if got := (&Session{cfg: cfg}).program(exe); got != want {
			t.Errorf("%s: program(%s) = %s, want %s", what, exe, got, want)
		}
	}
	check("no program is there", Config{Adapter: wrapped{}}, link, link)
	put(0o644, "pkg", "nested", "program")
	check("what is no program", Config{Adapter: wrapped{}}, link, link)
	program := put(0o755, "pkg", "vendor", "program")
	check("the program is there", Config{Adapter: wrapped{}}, link, program)
	check("a person's own command", Config{Adapter: wrapped{}, Command: []string{link}}, link, link)
	check("an agent without a script", Config{Adapter: fakeAdapter{}}, link, link)
	other := put(0o755, "other")
	check("a command that is no script", Config{Adapter: wrapped{}}, other, other)
	check("a command that is not there", Config{Adapter: wrapped{}}, filepath.Join(dir, "gone"), filepath.Join(dir, "gone"))
}
