//go:build unix

package gemini

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Gemini CLI takes a settings file only when it and all above it are root's.
func TestInsecure(t *testing.T) {
	root := os.Geteuid() == 0
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := ""
	if !root {
		missing = "would not belong to root"
	}
	tests := map[string]string{
		"/":                       "",
		"/agenthost-not-there/x":  missing,
		filepath.Join(dir, "new"): "",
		link:                      "",
		file:                      "",
	}
	for path, want := range tests {
		got := insecure(path)
		switch path {
		case "/", "/agenthost-not-there/x":
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("insecure(%s) = %q, want %q", path, got, want)
			}
		default: // below a temporary directory, which others can write or is not root's
			if got == "" {
				t.Errorf("insecure(%s) = nothing, want a reason", path)
			}
		}
	}
}

func TestInsecureInfo(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[os.FileMode]string{0o700: "", 0o755: "", 0o775: "writable by others", 0o702: "writable by others"} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() != 0 {
			want = "does not belong to root"
		}
		info, err := os.Lstat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := insecureInfo(dir, info); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("a directory of mode %v = %q, want %q", mode, got, want)
		}
	}
}

// ofSomebody is a directory that belongs to a user.
type ofSomebody struct {
	os.FileInfo
	uid uint32
}

func (o ofSomebody) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

func TestInsecureOwner(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]string{0: "", 1000: "does not belong to root"} {
		if got := insecureInfo(dir, ofSomebody{info, uid}); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("a directory of user %d = %q, want %q", uid, got, want)
		}
	}
}
