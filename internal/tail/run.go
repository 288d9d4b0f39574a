package tail

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// runner is what the goroutine of a Set owns.
type runner struct {
	*Set
	follows []*follow
	// watcher is nil when the system gives none.
	watcher *fsnotify.Watcher
	events  <-chan fsnotify.Event
	errors  <-chan error
	// watched has the directories with a watch, and what they were when it was set.
	watched map[string]os.FileInfo
	warned  map[string]bool // of a directory without one
	// byDir has the follows that wait for something in a directory, byPath the files.
	byDir  map[string][]*follow
	byPath map[string][]entry
	// dirty are files to be read, in the order in which they were written to.
	dirty []entry
	isIn  map[*file]bool // dirty
}

// entry is a file of a follow.
type entry struct {
	of   *follow
	file *file
}

func newRunner(s *Set) *runner {
	r := &runner{
		Set: s, watched: map[string]os.FileInfo{}, warned: map[string]bool{}, byDir: map[string][]*follow{}, byPath: map[string][]entry{},
		isIn: map[*file]bool{},
	}
	if s.o.unwatched {
		return r
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		s.o.Logger.Warn("files are not watched: they are looked at often instead", "err", err)
		return r
	}
	r.watcher, r.events, r.errors = w, w.Events, w.Errors
	return r
}

// run returns after an order to end.
func (r *runner) run() {
	defer close(r.done)
	if r.watcher != nil {
		defer r.watcher.Close()
	}
	timer := time.NewTimer(r.pause())
	defer timer.Stop()
	for {
		select {
		case <-r.wake:
			for _, o := range r.take() {
				if o.end {
					r.all()
					return
				}
				r.do(o)
			}
			timer.Reset(r.pause())
		case e := <-r.events:
			r.event(e)
			r.more()
		case err := <-r.errors:
			if !overflowed(err) {
				r.o.Logger.Warn("watching files", "err", err)
			}
			r.all()
		case <-timer.C:
			r.all()
			timer.Reset(r.pause())
		}
		r.readDirty()
	}
}

// pause is the time until the next look at everything.
func (r *runner) pause() time.Duration {
	if len(r.follows) == 0 {
		return time.Hour
	}
	for _, f := range r.follows {
		if f.dir == "" {
			return r.o.Poll / eager
		}
	}
	return r.o.Poll
}

func (r *runner) do(o order) {
	switch {
	case o.follow != nil:
		r.follows = append(r.follows, o.follow)
		for _, path := range slices.Sorted(maps.Keys(o.follow.files)) {
			r.index(o.follow, o.follow.files[path])
		}
		r.locate(o.follow)
		r.look(o.follow)
	case o.flush != nil:
		r.all()
		close(o.flush)
	default:
		r.unfollow(o.unfollow)
	}
}

func (r *runner) unfollow(id string) {
	i := slices.IndexFunc(r.follows, func(f *follow) bool { return f.ID == id })
	if i < 0 {
		return
	}
	f := r.follows[i]
	r.look(f)
	r.readDirty()
	r.follows = slices.Delete(r.follows, i, i+1)
	r.leave(f)
	for path := range f.files {
		r.byPath[path] = slices.DeleteFunc(r.byPath[path], func(e entry) bool { return e.of == f })
		if len(r.byPath[path]) == 0 {
			delete(r.byPath, path)
		}
	}
}

func (r *runner) index(f *follow, file *file) {
	r.byPath[file.path] = append(r.byPath[file.path], entry{f, file})
	r.mark(entry{f, file})
}

func (r *runner) mark(e entry) {
	if !r.isIn[e.file] {
		r.isIn[e.file] = true
		r.dirty = append(r.dirty, e)
	}
}

func (r *runner) readDirty() {
	for len(r.dirty) > 0 {
		e := r.dirty[0]
		r.dirty = r.dirty[1:]
		delete(r.isIn, e.file)
		e.file.read(r.o.MaxLine, func(data []byte, dropped int64) {
			if data == nil && dropped == 0 {
				data = []byte{}
			}
			r.emit(Line{ID: e.of.ID, Path: e.file.path, Data: data, Dropped: dropped})
		})
	}
	r.dirty = nil
}

// all looks at everything and delivers it.
func (r *runner) all() {
	for _, f := range r.follows {
		if f.dir != "" && !r.same(f.dir) {
			r.lost(f.dir)
		}
	}
	for _, f := range r.follows {
		r.locate(f)
		r.look(f)
	}
	r.readDirty()
}

// look marks the files of f, and finds new ones.
func (r *runner) look(f *follow) {
	for _, path := range slices.Sorted(maps.Keys(f.files)) {
		r.mark(entry{f, f.files[path]})
	}
	if !f.pattern {
		return
	}
	for _, path := range f.matches() {
		r.found(f, path)
	}
}

// found takes up a file that matches a pattern.
func (r *runner) found(f *follow, path string) {
	if f.files[path] != nil {
		return
	}
	f.files[path] = &file{path: path}
	r.index(f, f.files[path])
}

// more takes the events that wait, so that many writes to a file are one reading.
func (r *runner) more() {
	for range 1000 {
		select {
		case e := <-r.events:
			r.event(e)
		default:
			return
		}
	}
}

func (r *runner) event(e fsnotify.Event) {
	path := filepath.Clean(e.Name)
	if _, dir := r.watched[path]; dir && e.Op.Has(fsnotify.Remove|fsnotify.Rename) {
		r.lost(path)
	}
	for _, entry := range r.byPath[path] {
		r.mark(entry)
	}
	// Locating changes the list.
	for _, f := range slices.Clone(r.byDir[filepath.Dir(path)]) {
		switch {
		case f.dir != f.home:
			r.locate(f)
			r.look(f)
		case f.pattern && f.match(filepath.Base(path)):
			r.found(f, path)
		}
	}
}
