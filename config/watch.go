package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Live is a configuration that follows its file. Config may be called from
// anywhere; each call gives one whole configuration, old or new.
type Live struct {
	opts    LoadOptions
	current atomic.Pointer[Config]

	mu   sync.Mutex
	seen [sha256.Size]byte // guarded by mu; of the content that was judged last
	had  bool              // guarded by mu; there was a file
}

// NewLive loads the configuration.
func NewLive(o LoadOptions) (*Live, error) {
	l := &Live{opts: o}
	data, src, err := o.read()
	if err != nil {
		return nil, err
	}
	c, err := o.build(data, src)
	if err != nil {
		return nil, err
	}
	l.seen, l.had = sha256.Sum256(data), src.path != ""
	l.current.Store(&c)
	return l, nil
}

// Config is the configuration in force.
func (l *Live) Config() Config { return *l.current.Load() }

// errGone says that the file went away. Its rules stay in force: going back to the
// defaults would lift what it forbids.
var errGone = errors.New("the configuration file is gone; the last one stays in force")

// Reload reads the file again and reports whether a new configuration came into
// force. The same content as last time is no change, and the same mistake is no
// second error. After an error the old configuration stays.
func (l *Live) Reload() (changed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	data, src, err := l.opts.read()
	if err == nil && src.path == "" && l.had {
		err = errGone
	}
	sum := sha256.Sum256(data)
	if err != nil {
		sum = sha256.Sum256([]byte("error: " + err.Error())) // told once, like a content
	}
	if sum == l.seen {
		return false, nil
	}
	l.seen = sum
	if err != nil {
		return false, err
	}
	c, err := l.opts.build(data, src)
	if err != nil {
		return false, err
	}
	l.had = src.path != ""
	l.current.Store(&c)
	return true, nil
}

// The times of Run.
const (
	// settle is how long the directory must be quiet before the file is read: an
	// editor's save is several events, and between them the file may be half or gone.
	settle = 100 * time.Millisecond
	// patrol is how often the file is read without an event: a watch can fail
	// silently (network file systems, a directory that was replaced).
	patrol = time.Minute
)

// Run follows the file until ctx ends. changed is called for each new
// configuration that came into force, failed for each that did not, both from
// this goroutine; nil is nobody. It returns nil. Where files cannot be watched
// it looks once a minute.
func (l *Live) Run(ctx context.Context, changed func(Config), failed func(error)) error {
	w := l.watch()
	var events <-chan fsnotify.Event // nil, so never ready, without a watch
	var faults <-chan error
	if w != nil {
		defer w.Close()
		events, faults = w.Events, w.Errors
	}
	tick := time.NewTicker(patrol)
	defer tick.Stop()
	quiet := time.NewTimer(settle) // what changed before the watch began
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			// Whatever it was: the content decides, not the kind of event.
			quiet.Reset(settle)
			continue
		case <-faults: // too many events: some are lost
			quiet.Reset(settle)
			continue
		case <-quiet.C:
		case <-tick.C:
		}
		switch ok, err := l.Reload(); {
		case err != nil && failed != nil:
			failed(err)
		case ok && changed != nil:
			changed(l.Config())
		}
	}
}

// watch watches the file's directory: a watch on the file is dead after the first
// save that renames over it. It is nil where that is not possible.
func (l *Live) watch() *fsnotify.Watcher {
	path, _ := l.opts.Path()
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	if path == "" || w.Add(filepath.Dir(path)) != nil {
		w.Close()
		return nil
	}
	// A symlink's target may be written in its own directory.
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(real) != filepath.Dir(path) {
		_ = w.Add(filepath.Dir(real))
	}
	return w
}
