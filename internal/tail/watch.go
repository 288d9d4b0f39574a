package tail

import (
	"os"
	"path/filepath"
	"slices"
)

// locate sees to it that the directory of f is watched, or the nearest above it that
// exists.
func (r *runner) locate(f *follow) {
	for r.watcher != nil && f.dir != f.home {
		dir := nearest(f.home)
		if !r.watch(dir) {
			r.leave(f)
			return // the next look tries again
		}
		if f.dir == dir {
			return
		}
		r.enter(f, dir) // the next one down may have come before the watch was there
	}
}

// nearest is the deepest directory on the way to dir that exists.
func nearest(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// watch reports whether dir has a watch, or got one.
func (r *runner) watch(dir string) bool {
	if r.watched[dir] != nil {
		return true
	}
	info, err := os.Stat(dir)
	if err == nil {
		err = r.watcher.Add(dir)
	}
	if err != nil {
		if !r.warned[dir] {
			r.warned[dir] = true
			r.o.Logger.Warn("a directory is not watched: it is looked at often instead", "dir", dir, "err", err)
		}
		return false
	}
	r.watched[dir] = info
	return true
}

// same reports whether the directory at this place is the one that is watched.
func (r *runner) same(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && os.SameFile(r.watched[dir], info)
}

// lost gives up the watch of a directory that went away or was replaced.
func (r *runner) lost(dir string) {
	list := slices.Clone(r.byDir[dir])
	for _, f := range list {
		r.leave(f) // the last one ends the watch
	}
	for _, f := range list {
		r.locate(f)
		r.look(f)
	}
}

// enter makes dir, which is watched, what f waits in.
func (r *runner) enter(f *follow, dir string) {
	r.leave(f)
	f.dir = dir
	r.byDir[dir] = append(r.byDir[dir], f)
}

// leave makes f wait nowhere, and ends a watch that nobody needs.
func (r *runner) leave(f *follow) {
	dir := f.dir
	if dir == "" {
		return
	}
	f.dir = ""
	r.byDir[dir] = slices.DeleteFunc(r.byDir[dir], func(other *follow) bool { return other == f })
	if len(r.byDir[dir]) > 0 {
		return
	}
	delete(r.byDir, dir)
	delete(r.watched, dir)
	_ = r.watcher.Remove(dir) // one that is gone has no watch any more
}
