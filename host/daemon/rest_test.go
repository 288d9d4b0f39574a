package daemon

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/relay/wire"
)

// written are when the files of a session were written, by name.
func (w *world) written(id string) map[string]time.Time {
	w.t.Helper()
	times := map[string]time.Time{}
	err := filepath.WalkDir(host.SessionDir(w.state, id), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		times[path] = info.ModTime()
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return times
}

// TestRest: a daemon that starts writes nothing of sessions that rest, and tells them
// under the versions that they had, however often; what changes then has a new one, also
// when it changed while no daemon ran, and when the daemon is killed right behind it.
func TestRest(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	w.until(s.ID, idle)
	s = must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID}).Session
	before := w.written(s.ID)
	for range 3 {
		w.close()
		w.open(nil)
		got, err := w.Session(t.Context(), s.ID)
		if err != nil || got.Version != s.Version || got.Usage == nil || got.End != s.End {
			t.Errorf("the session is %+v, %v; want version %d", got, err, s.Version)
		}
	}
	for path, at := range w.written(s.ID) {
		if !before[path].Equal(at) {
			t.Errorf("%s was written", path)
		}
	}

	title := "mine"
	changed := must[wire.SessionResult](w, wire.SessionUpdate, wire.UpdateParams{Session: s.ID, Title: &title, Expect: s.Version}).Session
	if changed.Version <= s.Version {
		t.Errorf("the version went from %d to %d", s.Version, changed.Version)
	}
	c := w.crash()
	c.open(nil)
	got, err := c.Session(t.Context(), s.ID)
	if err != nil || got.Version != changed.Version || got.Title != title {
		t.Errorf("after a crash the session is %+v, %v; want version %d", got, err, changed.Version)
	}
	// Another process goes on with it while no daemon runs.
	c.close()
	stored := host.Stored{StateDir: c.state, ID: s.ID}
	if _, err := host.Settle(stored, user("", contract.SessionControlChanged{ClientType: contract.ClientPhone, TokenID: "anna"})); err != nil {
		t.Fatal(err)
	}
	c.open(nil)
	defer c.close()
	got, err = c.Session(t.Context(), s.ID)
	if err != nil || got.Version <= changed.Version || got.Control == nil || got.End != s.End+1 {
		t.Errorf("then it is %+v, %v; want a version above %d", got, err, changed.Version)
	}
}

// TestRestRunning: what ran when the daemon was killed has a version that nobody was told.
func TestRestRunning(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	s = w.until(s.ID, idle)
	c := w.crash()
	c.open(nil)
	defer c.close()
	for range 2 {
		got, err := c.Session(t.Context(), s.ID)
		if err != nil || got.Version <= s.Version || got.State != wire.StateStopped {
			t.Errorf("the session is %+v, %v; want a version above %d", got, err, s.Version)
		}
		c.close()
		c.open(nil)
	}
}

// TestRestUnsynced: without syncs the size of a journal says nothing of what is in it.
func TestRestUnsynced(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Journal.Sync = journal.SyncOff })
	s := w.start("one")
	w.until(s.ID, idle)
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID})
	w.close()
	defer w.open(nil)
	paths, err := filepath.Glob(filepath.Join(host.SessionDir(w.state, s.ID), "journal", "*.ndjson"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	info, err := os.Stat(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[0], make([]byte, info.Size()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.open(nil)
	defer w.close()
	if got, err := w.Session(t.Context(), s.ID); err != nil || got.End != 0 {
		t.Errorf("the session is %+v, %v; want none of its lost stream", got, err)
	}
}
