package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteText makes content the text of a file. Missing directories are made. A
// file that is there keeps its permission bits and owner, but not its hard links,
// access lists or extended attributes, since a new file takes its place; the
// target of a symbolic link is written, and the link stays. A file that can't be
// replaced, because its directory can't be written, is written in place, unless
// it has other hard links.
func (w *Workspace) WriteText(path, content string) error {
	if err := w.write(path, content); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}

func (w *Workspace) write(path, content string) error {
	if len(content) > MaxFile {
		return ErrTooLarge
	}
	if err := checkText(content); err != nil {
		return err
	}
	place, err := w.locate(path)
	if err != nil {
		return err
	}
	if place.name == "." {
		return fmt.Errorf("%w but a directory", ErrNotRegular)
	}
	// Asks the system whether the file may be written: to replace it only the
	// directory's permissions count.
	old, info, err := openRegular(place, os.O_WRONLY)
	switch {
	case err == nil:
		defer old.Close()
	case errors.Is(err, fs.ErrNotExist):
		if link, err := place.root.dir.Lstat(place.name); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			return createBehindLink(place, content)
		}
		if err := place.root.dir.MkdirAll(filepath.Dir(place.name), 0o777); err != nil {
			return outside(err)
		}
	default:
		return err
	}
	err = replace(place, content, info)
	if old != nil && errors.Is(err, fs.ErrPermission) && !hasOtherLinks(info) {
		return overwrite(old, content)
	}
	return err
}

// replace writes a new file beside the place and moves it there. Old is what is
// there now, or nil.
func replace(p place, content string, old fs.FileInfo) (err error) {
	name := filepath.Join(filepath.Dir(p.name), ".agenthost-"+rand.Text()+".tmp")
	mode := fs.FileMode(0o666) // less the umask
	if old != nil {
		mode = 0o600 // until it has its owner
	}
	file, err := p.root.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return outside(err)
	}
	defer func() {
		if err != nil {
			file.Close()
			_ = p.root.dir.Remove(name)
			err = outside(err)
		}
	}()
	if _, err = file.WriteString(content); err != nil {
		return err
	}
	if old != nil {
		keepOwner(file, old)
		if err = file.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	// Without it a crash of the machine can leave an empty file in the old one's place.
	if err = file.Sync(); err != nil {
		return err
	}
	if err = file.Close(); err != nil {
		return err
	}
	return p.root.dir.Rename(name, p.name)
}

// overwrite is the second best, and not atomic.
func overwrite(file *os.File, content string) error {
	if err := file.Truncate(0); err != nil {
		return plain(err)
	}
	if _, err := file.WriteString(content); err != nil {
		return plain(err)
	}
	return plain(file.Sync())
}

// createBehindLink creates the missing target of a link; os.Root sees to it that
// it lies inside.
func createBehindLink(p place, content string) error {
	file, err := p.root.dir.OpenFile(p.name, os.O_WRONLY|os.O_CREATE|nonblock, 0o666)
	if err != nil {
		return outside(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return plain(err)
	case !info.Mode().IsRegular():
		return kind(info)
	case info.Size() > 0:
		return fmt.Errorf("it came into being just now: %w", fs.ErrExist)
	}
	return overwrite(file, content)
}
