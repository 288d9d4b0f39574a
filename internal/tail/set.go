package tail

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Follow is what is to be followed.
type Follow struct {
	// ID names it, for its lines and for Unfollow.
	ID string
	// Path is absolute. Its last element may hold one "*": each file that matches is
	// followed, now and later.
	Path string
	// From is the byte at which the reading of a file begins that is there already, -1
	// for its present end; a line that is unfinished there is read whole then. What
	// comes later is read from its start.
	From int64
}

// Line is one line of a file.
type Line struct {
	// ID is the Follow's, Path the file's.
	ID, Path string
	// Data is the line without its end. It belongs to the receiver.
	Data []byte
	// Dropped is the length of a line over the limit; Data is then nil.
	Dropped int64
}

// Options of a Set. Zero fields mean defaults.
type Options struct {
	// MaxLine is the longest line taken, in bytes. Default 64 MiB.
	MaxLine int
	// Poll is how often files are looked at that are watched, too. Default 3 s; those
	// that cannot be watched are looked at sixteen times as often.
	Poll time.Duration
	// Logger is nil for silence.
	Logger *slog.Logger
	// unwatched makes the system's watching fail, for tests.
	unwatched bool
}

// eager is how much more often than Options.Poll is looked where nothing is watched.
const eager = 16

// Set follows files. Its methods are safe for concurrent use.
type Set struct {
	o    Options
	emit func(Line)
	wake chan struct{} // holds one token while there is something in orders
	done chan struct{} // closed when run has returned

	mu     sync.Mutex
	ids    map[string]bool // guarded by mu: what is followed
	orders []order         // guarded by mu
	over   bool            // guarded by mu: no more orders are taken
}

// order is what run is to do: one of its fields is set.
type order struct {
	follow   *follow
	unfollow string
	flush    chan struct{} // closed when it is done
	end      bool
}

// follow is a Follow, as run knows it.
type follow struct {
	Follow
	home, name string // directory and last element of Path
	pattern    bool
	// dir is the directory that is watched for it: home, or the nearest above it that
	// exists. Empty when none can be watched.
	dir   string
	files map[string]*file // by path
}

// New makes a Set. emit gets the lines, one after the other, from a goroutine of the
// Set's; it may block, and is not called after Close returned. The caller closes.
func New(o Options, emit func(Line)) *Set {
	o.MaxLine = cmp.Or(o.MaxLine, 64<<20)
	o.Poll = cmp.Or(o.Poll, 3*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Set{o: o, emit: emit, wake: make(chan struct{}, 1), done: make(chan struct{}), ids: map[string]bool{}}
	go newRunner(s).run()
	return s
}

// The errors of Follow.
var (
	// ErrID: the ID is empty or followed already.
	ErrID = errors.New("want an id that is not followed yet")
	// ErrPath: the path is not one that can be followed.
	ErrPath = errors.New("want an absolute path with at most one * in its last element")
	// ErrClosed: the Set is closed.
	ErrClosed = errors.New("nothing is followed any more")
)

// Follow begins to follow. Where the reading begins is settled when it returns.
func (s *Set) Follow(f Follow) error {
	f.Path = filepath.Clean(f.Path)
	home, name := filepath.Split(f.Path)
	stars := strings.Count(f.Path, "*")
	if !filepath.IsAbs(f.Path) || name == "" || stars > 1 || stars != strings.Count(name, "*") {
		return fmt.Errorf("path %q: %w", f.Path, ErrPath)
	}
	fl := &follow{Follow: f, home: filepath.Clean(home), name: name, pattern: stars == 1, files: map[string]*file{}}
	fl.begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return ErrClosed
	case f.ID == "" || s.ids[f.ID]:
		return fmt.Errorf("id %q: %w", f.ID, ErrID)
	}
	s.ids[f.ID] = true
	s.order(order{follow: fl})
	return nil
}

// begin notes the files that are there, and where their reading begins.
func (f *follow) begin() {
	for _, path := range f.matches() {
		file := &file{path: path}
		if info, err := os.Stat(path); err == nil {
			file.there, file.begin = info, f.From
			if f.From < 0 {
				file.begin, file.lineStart = info.Size(), true
			}
		}
		f.files[path] = file
	}
}

// matches are the paths to follow: also one that is not there when it is no pattern.
func (f *follow) matches() []string {
	if !f.pattern {
		return []string{f.Path}
	}
	entries, err := os.ReadDir(f.home)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if f.match(e.Name()) {
			found = append(found, filepath.Join(f.home, e.Name()))
		}
	}
	return found
}

// match reports whether a file of home is meant by a pattern. Nothing but the star is
// special in a name: filepath.Match knows more.
func (f *follow) match(name string) bool {
	before, after, _ := strings.Cut(f.name, "*")
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// Unfollow ends a Follow when the lines that are there are delivered. It does not wait
// for that; an ID that is not followed is ignored.
func (s *Set) Unfollow(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ids[id] {
		return
	}
	delete(s.ids, id)
	s.order(order{unfollow: id})
}

// Flush returns when every line is delivered that the files had at the call.
func (s *Set) Flush() {
	done := make(chan struct{})
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		<-s.done
		return
	}
	s.order(order{flush: done})
	s.mu.Unlock()
	<-done
}

// Close delivers what the files hold now and ends the Set. It may be called again.
func (s *Set) Close() {
	s.mu.Lock()
	if !s.over {
		s.order(order{end: true})
		s.over = true
	}
	s.mu.Unlock()
	<-s.done
}

// order is called with mu held.
func (s *Set) order(o order) {
	if s.over {
		return
	}
	s.orders = append(s.orders, o)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Set) take() []order {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.orders
	s.orders = nil
	return list
}

// overflowed reports whether events of the system's were lost.
func overflowed(err error) bool { return errors.Is(err, fsnotify.ErrEventOverflow) }
