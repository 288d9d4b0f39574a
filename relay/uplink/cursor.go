package uplink

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

// cursors are how far the relay has each session, kept on disk: which sessions it
// knows, so that it is told of those that were removed, and how much waits. What is
// sent does not hang on them, since the relay says itself what it has; one that is a
// moment old costs nothing.
type cursors struct {
	dir string

	mu    sync.Mutex
	at    map[string]wire.Position // guarded by mu
	dirty map[string]bool          // guarded by mu
	saved time.Time                // guarded by mu
}

// saveEvery is how often cursors are written.
const saveEvery = time.Second

func openCursors(dir string) (*cursors, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of cursors: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the cursors: %w", err)
	}
	c := &cursors{dir: dir, at: map[string]wire.Position{}, dirty: map[string]bool{}}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".cursor")
		if !ok {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading a cursor: %w", err)
		}
		// A torn one is as good as none.
		pos, _ := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		c.at[id] = max(pos, 0)
	}
	return c, nil
}

func (c *cursors) get(session string) wire.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at[session]
}

// known are the sessions that the relay was told of.
func (c *cursors) known() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]string, 0, len(c.at))
	for id := range c.at {
		ids = append(ids, id)
	}
	return ids
}

// set notes that the relay has what lies before next.
func (c *cursors) set(session string, next wire.Position, log *slog.Logger) {
	c.mu.Lock()
	if old, ok := c.at[session]; !ok || old != next {
		c.at[session] = next
		c.dirty[session] = true
	}
	due := len(c.dirty) > 0 && time.Since(c.saved) > saveEvery
	c.mu.Unlock()
	if due {
		c.flush(log)
	}
}

// forget removes a session's cursor.
func (c *cursors) forget(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.at, session)
	delete(c.dirty, session)
	_ = os.Remove(c.path(session)) // telling of the removal again is harmless
}

func (c *cursors) path(session string) string { return filepath.Join(c.dir, session+".cursor") }

// flush writes what has changed.
func (c *cursors) flush(log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saved = time.Now()
	for id := range c.dirty {
		tmp := c.path(id) + ".new"
		err := os.WriteFile(tmp, strconv.AppendInt(nil, c.at[id], 10), 0o600)
		if err == nil {
			err = os.Rename(tmp, c.path(id))
		}
		if err != nil {
			log.Warn("writing a cursor", "session", id, "err", err)
			continue
		}
		delete(c.dirty, id)
	}
}
