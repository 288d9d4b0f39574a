//go:build unix

package agentlab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstalled(t *testing.T) {
	const want = `{"packages":{
		"":{"dependencies":{"a":"1.0.0","b":"2.0.0"},"optionalDependencies":{"node-PLATFORM":"22.0.0","node-vax-64":"22.0.0"}},
		"node_modules/a":{"version":"1.0.0"},
		"node_modules/b":{"version":"2.0.0"},
		"node_modules/node-PLATFORM":{"version":"22.0.0"},
		"node_modules/node-vax-64":{"version":"22.0.0"}}}`
	for _, tt := range []struct{ name, have, err string }{
		{"nothing", "", "not installed yet"},
		{"all", `{"packages":{"node_modules/a":{"version":"1.0.0"},"node_modules/b":{"version":"2.0.0"},"node_modules/node-PLATFORM":{"version":"22.0.0"}}}`, ""},
		{"one missing", `{"packages":{"node_modules/a":{"version":"1.0.0"},"node_modules/node-PLATFORM":{"version":"22.0.0"}}}`, "b is missing"},
		{"no node", `{"packages":{"node_modules/a":{"version":"1.0.0"},"node_modules/b":{"version":"2.0.0"}}}`, "node-PLATFORM is missing"},
		{"old", `{"packages":{"node_modules/a":{"version":"1.0.0"},"node_modules/b":{"version":"1.9.0"},"node_modules/node-PLATFORM":{"version":"22.0.0"}}}`, `b is 1.9.0, locked is "2.0.0"`},
		{"more than locked", `{"packages":{"node_modules/a":{"version":"1.0.0"},"node_modules/b":{"version":"2.0.0"},"node_modules/node-PLATFORM":{"version":"22.0.0"},"node_modules/c":{"version":"1.0.0"}}}`, `c is 1.0.0, locked is ""`},
		{"broken", `{`, "decoding .package-lock.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(path, text string) {
				t.Helper()
				path = filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "PLATFORM", platform())), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			put("package-lock.json", want)
			if tt.have != "" {
				put("node_modules/.package-lock.json", tt.have)
			}
			err := installed(dir)
			wantErr := strings.ReplaceAll(tt.err, "PLATFORM", platform())
			if (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
				t.Errorf("got %v, want %q", err, wantErr)
			}
		})
	}
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "lock")
	unlock, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		again, err := lockFile(path)
		if err == nil {
			again()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("a second lock was given while the first was held: %v", err)
	default:
	}
	unlock()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

// The lock file must not name a host: people install from the source they have.
func TestLockNamesNoHost(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "e2e", "agents", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), `"resolved"`) {
		t.Error(`package-lock.json has "resolved" members: run npm with e2e/agents/.npmrc`)
	}
}
