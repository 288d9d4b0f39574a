//go:build unix

package agentlab

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Agents are the names of the agents that the lab has, as users type them.
func Agents() []string {
	return []string{"claude", "claude-agent-acp", "codex", "gemini", "opencode"}
}

// Root is the repository's directory: the nearest one upwards from the working
// directory that holds e2e/agents/package.json.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "agents", "package.json")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no e2e/agents/package.json in %s or above", start)
		}
	}
}

// Install installs the pinned agents with npm ci unless they are there. It blocks
// for about a minute then, and while another process installs. npm's words go to
// out.
func Install(ctx context.Context, out io.Writer) error {
	root, err := Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "e2e", "agents")
	if installed(dir) == nil {
		return nil
	}
	unlock, err := lockFile(filepath.Join(root, ".cache", "agents.lock"))
	if err != nil {
		return fmt.Errorf("locking the installation of the agents: %w", err)
	}
	defer unlock()
	why := installed(dir)
	if why == nil {
		return nil // another process did it
	}
	fmt.Fprintf(out, "agentlab: installing the agents (%v)\n", why)
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("installing the agents with npm ci in e2e/agents: %w", err)
	}
	if err := installed(dir); err != nil {
		return fmt.Errorf("npm ci did not install all agents: %w", err)
	}
	return nil
}

// Installed returns nil when the pinned agents are installed, else what is missing.
func Installed() error {
	root, err := Root()
	if err != nil {
		return err
	}
	return installed(filepath.Join(root, "e2e", "agents"))
}

// A lock is an npm lock file as far as we need it.
type lock struct {
	Packages map[string]struct {
		Version              string            `json:"version"`
		Dependencies         map[string]string `json:"dependencies"`
		OptionalDependencies map[string]string `json:"optionalDependencies"`
	} `json:"packages"`
}

func readLock(path string) (lock, error) {
	var l lock
	data, err := os.ReadFile(path)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return l, fmt.Errorf("decoding %s: %w", filepath.Base(path), err)
	}
	return l, nil
}

// installed returns nil when node_modules is what the lock file says: each direct
// dependency is there, and every package that npm noted has the locked version.
func installed(dir string) error {
	want, err := readLock(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	have, err := readLock(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("not installed yet")
	} else if err != nil {
		return err
	}
	top := want.Packages[""]
	needed := slices.Sorted(maps.Keys(top.Dependencies))
	if node := "node-" + platform(); top.OptionalDependencies[node] != "" {
		needed = append(needed, node)
	}
	for _, name := range needed {
		if _, ok := have.Packages["node_modules/"+name]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	for path, pkg := range have.Packages {
		if locked, ok := want.Packages[path]; !ok || locked.Version != pkg.Version {
			return fmt.Errorf("%s is %s, locked is %q", strings.TrimPrefix(path, "node_modules/"), pkg.Version, locked.Version)
		}
	}
	return nil
}

// platform is this machine in npm's words.
func platform() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return runtime.GOOS + "-" + arch
}

// lockFile holds an exclusive lock on path until the returned function is called.
// The kernel gives it up when the process dies.
func lockFile(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}
