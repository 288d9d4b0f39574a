// Package workspace reads and writes text files on behalf of an agent, inside of
// the directories a session was given and nowhere else. It is what the ACP client
// methods fs/read_text_file and fs/write_text_file stand on.
//
// # Guarantees
//
//   - Paths are absolute and lie inside of a root after every symbolic link is
//     followed, the roots' own included. The check can't be raced: files are
//     reached through os.Root.
//   - Only regular files are opened. FIFOs, devices, sockets and directories are
//     refused without being opened, so that nothing blocks and nothing is
//     triggered.
//   - A file is read whole or not at all: at most MaxFile bytes, valid UTF-8
//     without NUL. A text that came back with replacement characters would be
//     written back with them.
//   - A write is all or nothing: other readers see the old or the new content,
//     and a hard link to the file elsewhere keeps the old one.
//
// # Non-goals
//
// No permissions: who may read or write what inside of the roots is decided
// before. No binary files, no directories, no watching. A file system that hangs
// (a dead network mount) hangs the caller.
//
// All methods are safe for concurrent use.
//
// Test with: go test ./internal/workspace
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxFile is the largest file that is read or written, in bytes. Larger ones are
// refused with ErrTooLarge: the whole text goes through JSON and a model's input,
// which take far less.
const MaxFile = 16 << 20

var (
	// ErrNoRoot means that a workspace was to be opened without a root.
	ErrNoRoot = errors.New("workspace has no root directory")
	// ErrOutside means that the path, or what it leads to, isn't inside of a root.
	ErrOutside = errors.New("path is outside of the workspace")
	// ErrRelative means that the path isn't absolute.
	ErrRelative = errors.New("path is not absolute")
	// ErrNotRegular means that the path leads to something that isn't a file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge means that the file or text has more than MaxFile bytes.
	ErrTooLarge = fmt.Errorf("more than %d MiB", MaxFile>>20)
	// ErrNotText means that the content holds NUL or isn't valid UTF-8.
	ErrNotText = errors.New("not a UTF-8 text")
)

// Workspace is a set of directories. Close it after use.
type Workspace struct {
	home  string // the real path of the first root given
	roots []root // the most specific first
}

// root is one directory, which an agent may name in two ways.
type root struct {
	given string // as it was given, cleaned
	real  string // with all symbolic links followed
	dir   *os.Root
}

// Open opens a workspace of one or more directories. Each must be absolute and
// exist. They may lie in each other.
func Open(roots ...string) (_ *Workspace, err error) {
	if len(roots) == 0 {
		return nil, ErrNoRoot
	}
	w := new(Workspace)
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	for _, given := range roots {
		r, err := openRoot(given)
		if err != nil {
			return nil, err
		}
		w.roots = append(w.roots, r)
	}
	w.home = w.roots[0].real
	slices.SortStableFunc(w.roots, func(a, b root) int { return len(b.real) - len(a.real) })
	return w, nil
}

func openRoot(given string) (root, error) {
	switch {
	case given == "":
		return root{}, ErrNoRoot
	case !filepath.IsAbs(given):
		return root{}, fmt.Errorf("workspace root %q: %w", given, ErrRelative)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return root{}, fmt.Errorf("workspace root %q: %w", given, err)
	}
	dir, err := os.OpenRoot(real)
	if err != nil {
		return root{}, fmt.Errorf("workspace root %q: %w", given, err)
	}
	return root{given: filepath.Clean(given), real: real, dir: dir}, nil
}

// Close releases the roots. Later calls of other methods fail.
func (w *Workspace) Close() error {
	var errs []error
	for _, r := range w.roots {
		errs = append(errs, r.dir.Close())
	}
	return errors.Join(errs...)
}

// Dir returns the real path of a directory inside of the workspace: where a
// command of the agent's may start. An empty path means the first root.
func (w *Workspace) Dir(path string) (string, error) {
	if path == "" {
		return w.home, nil
	}
	place, err := w.locate(path)
	if err != nil {
		return "", fmt.Errorf("directory %q: %w", path, err)
	}
	info, err := place.root.dir.Stat(place.name)
	switch {
	case err != nil:
		return "", fmt.Errorf("directory %q: %w", path, outside(err))
	case !info.IsDir():
		return "", fmt.Errorf("directory %q: it is not a directory", path)
	}
	return filepath.Join(place.root.real, place.name), nil
}

// place is a file inside of a root: a root and a local name below it in which no
// link is left to follow, unless the last element is one that leads nowhere.
type place struct {
	root root
	name string
}

// locate follows a path to its place. The file needn't exist.
func (w *Workspace) locate(path string) (place, error) {
	switch {
	case strings.IndexByte(path, 0) >= 0:
		return place{}, fmt.Errorf("path holds a NUL byte: %w", fs.ErrInvalid)
	case !filepath.IsAbs(path):
		return place{}, ErrRelative
	}
	path = filepath.Clean(path)
	if !slices.ContainsFunc(w.roots, func(r root) bool { return inside(r.given, path) || inside(r.real, path) }) {
		// Before it is followed, so that nothing is told of what lies elsewhere.
		return place{}, ErrOutside
	}
	real, err := follow(path)
	if err != nil {
		return place{}, err
	}
	for _, r := range w.roots {
		if inside(r.real, real) {
			name, err := filepath.Rel(r.real, real)
			return place{r, name}, err
		}
	}
	return place{}, ErrOutside
}

// inside reports whether a clean absolute path is dir or lies below it.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// follow resolves all symbolic links of the part of a path that exists.
func follow(path string) (string, error) {
	var missing []string
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			slices.Reverse(missing)
			return filepath.Join(append([]string{real}, missing...)...), nil
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || parent == path {
			return "", plain(err)
		}
		missing = append(missing, filepath.Base(path))
		path = parent
	}
}

// plain takes the path off an error: callers put the one they were asked for.
func plain(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// outside turns os.Root's refusal into ErrOutside, and takes the path off others.
// It only comes when a link leads nowhere, or was changed since we followed it.
func outside(err error) error {
	err = plain(err)
	if err != nil && strings.Contains(err.Error(), "escapes") {
		return ErrOutside
	}
	return err
}
