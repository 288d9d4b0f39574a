//go:build unix

package agentlab

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/internal/scriptmodel"
)

// A Lab is one place where agents run. Its methods are safe for concurrent use.
type Lab struct {
	// Model is the scripted model that all agents of the lab talk to.
	Model *scriptmodel.Local
	// Home is the agents' home directory.
	Home string
	// Dir is a working directory for sessions: an empty git repository.
	Dir string

	id    string // value of labMarker
	root  string // holds Home, Dir and the rest
	nodes string // node_modules of the installation
}

// Environment variables of every process of a lab. By labMarker the lab knows its
// processes; runMarker names the run of Isolate that it stands in, if any.
const (
	labMarker = "AGENTLAB_ID"
	runMarker = "AGENTLAB_RUN"
)

// Open makes a lab and starts its model. It does not install agents.
func Open() (*Lab, error) {
	repo, err := Root()
	if err != nil {
		return nil, err
	}
	base, err := baseDir(repo)
	if err != nil {
		return nil, err
	}
	// Short, since sockets are made below it and their paths end at 104 bytes.
	id := strings.ToLower(rand.Text()[:8])
	root := filepath.Join(base, id)
	l := &Lab{
		Home: filepath.Join(root, "home"), Dir: filepath.Join(root, "work"),
		id: id, root: root, nodes: filepath.Join(repo, "e2e", "agents", "node_modules"),
	}
	if l.Model, err = scriptmodel.Start("127.0.0.1:0"); err != nil {
		return nil, err
	}
	if err := l.furnish(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// baseDir is where labs are made.
func baseDir(repo string) (string, error) {
	if dir := os.Getenv("AGENTLAB_DIR"); dir != "" {
		return dir, nil
	}
	if private(repo) {
		return filepath.Join(repo, ".cache", "lab"), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the repository lies below a directory that others can write, and there is no cache directory: %w", err)
	}
	return filepath.Join(cache, "agenthost-lab"), nil
}

// private reports whether neither dir nor a directory above it can be written by
// the group or by others.
func private(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm()&0o022 != 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// furnish makes the directories and files of the lab.
func (l *Lab) furnish() error {
	for _, dir := range []string{l.Home, l.Dir, l.path("tmp"), l.path("run")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := initRepository(filepath.Join(l.Dir, ".git")); err != nil {
		return err
	}
	for _, s := range scriptmodel.Setups(l.Model.URL, l.Dir) {
		for path, text := range s.Files {
			path = filepath.Join(l.Home, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark is in the environment of every process of the lab.
func (l *Lab) mark() string { return labMarker + "=" + l.id }

func (l *Lab) path(name string) string { return filepath.Join(l.root, name) }

// initRepository writes what "git init" writes at least. It keeps agents from
// taking the repository around the lab for theirs, also where git is missing.
func initRepository(dir string) error {
	for _, sub := range []string{"objects", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		return err
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[user]\n\tname = Lab\n\temail = lab@example.invalid\n"
	return os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600)
}

// Env is the whole environment for a process of the lab, with what the named
// agents need; no names stand for all agents.
func (l *Lab) Env(agents ...string) []string {
	bin := filepath.Join(l.nodes, ".bin")
	if first := os.Getenv("AGENTLAB_PATH"); first != "" {
		bin = first + ":" + bin
	}
	env := []string{
		"HOME=" + l.Home,
		"PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"TMPDIR=" + l.path("tmp"),
		"XDG_RUNTIME_DIR=" + l.path("run"),
		"GIT_CEILING_DIRECTORIES=" + l.root,
		"LANG=C.UTF-8",
		"TERM=xterm-256color",
		"SHELL=/bin/bash",
		"USER=lab",
		l.mark(),
	}
	if run := os.Getenv(runMarker); run != "" {
		env = append(env, runMarker+"="+run)
	}
	for _, s := range scriptmodel.Setups(l.Model.URL, l.Dir) {
		if len(agents) > 0 && !slices.Contains(agents, s.Agent) {
			continue
		}
		for _, e := range s.Env {
			if !slices.Contains(env, e) {
				env = append(env, e)
			}
		}
	}
	return env
}

// Command is the argv of an installed agent: what npm put on the PATH, as a user
// has it, with args.
func (l *Lab) Command(agent string, args ...string) []string {
	program := filepath.Join(l.nodes, ".bin", agent)
	if first := os.Getenv("AGENTLAB_PATH"); first != "" {
		if other := filepath.Join(first, agent); isThere(other) {
			program = other
		}
	}
	return append([]string{program}, args...)
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Close kills the processes that are left, stops the model and removes the lab's
// directories. It blocks for a few seconds at most and may be called once.
func (l *Lab) Close() error {
	err := errors.Join(killMarked(l.mark()), l.Model.Close())
	if os.Getenv("AGENTLAB_KEEP") != "" {
		fmt.Fprintln(os.Stderr, "agentlab: kept", l.root)
		return err
	}
	return errors.Join(err, os.RemoveAll(l.root))
}
