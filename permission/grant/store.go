package grant

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nrednav/cuid2"
)

// Options are what a Store needs of its surroundings. Zero fields mean defaults.
type Options struct {
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// NewID makes ids; cuid2s when nil.
	NewID func() string
}

// Store remembers grants. It is safe for concurrent use, also by processes.
type Store struct {
	path  string
	now   func() time.Time
	newID func() string

	mu sync.Mutex
	// The rest is guarded by mu. A Store without a path keeps grants in memory.
	grants map[string]*Grant   // by id
	byKey  map[lookup][]*Grant // in the order in which they were given
	file   *os.File            // open for appending, nil before the first use
	info   fs.FileInfo         // of file, to notice that it was replaced
	read   int64               // how far it is read
	stale  int                 // records that say nothing any more
	closed bool
	// uses were counted and are not in the file yet; flush writes them, nil when
	// there are none. unwritten is why they could not be written.
	uses      map[string]use // by the id of the grant
	flush     *time.Timer
	unwritten error
}

// use is how often a grant answered, and when last.
type use struct {
	n  int
	at time.Time
}

// useDelay is how long a use may be only in memory: that much of the counts is lost
// when the process is killed. What was decided is in the session's stream, and in the
// audit log, before it counts.
const useDelay = time.Second

// lookup is what grants are found by.
type lookup struct {
	scope     Scope
	in        string
	tool, key string
}

// record is one line of the file.
type record struct {
	Op    string    `json:"op"`
	Grant *Grant    `json:"grant,omitzero"`
	ID    string    `json:"id,omitzero"`
	At    time.Time `json:"at,omitzero"`
	// N is how many uses it counts, 0 for one.
	N int `json:"n,omitzero"`
}

// ErrClosed: the Store is closed.
var ErrClosed = errors.New("the grant store is closed")

// Open reads the grants in the file path, which is made when the first one is
// given; its directory must exist. An empty path is a Store in memory.
func Open(path string, o Options) (*Store, error) {
	s := &Store{path: path, now: o.Now, newID: o.NewID}
	if s.now == nil {
		s.now = time.Now
	}
	if s.newID == nil {
		s.newID = cuid2.Generate
	}
	s.clear()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, errors.Join(err, s.drop())
	}
	return s, nil
}

func (s *Store) clear() {
	s.grants, s.byKey, s.read, s.stale = map[string]*Grant{}, map[lookup][]*Grant{}, 0, 0
}

// Close writes what was counted and gives the file back. Calls after it return
// ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	err := s.writeUses()
	s.closed = true
	return errors.Join(err, s.drop())
}

func (s *Store) drop() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file, s.info = nil, nil
	return err
}

// Add remembers g and returns it with its id and time of creation. When it
// returns nil the grant is on disk.
func (s *Store) Add(g Grant) (Grant, error) {
	if g.Tool == "" || g.Key == "" {
		return Grant{}, errors.New("want a grant with a tool and a key, got an empty one")
	}
	if _, err := ParseScope(string(g.Scope)); err != nil || g.Scope == "" {
		return Grant{}, fmt.Errorf("want scope session, project or user, got %q", g.Scope)
	}
	if (g.Scope == User) != (g.In == "") {
		return Grant{}, fmt.Errorf("want a place with scope session and project only, got scope %s in %q", g.Scope, g.In)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g.ID, g.Created, g.Uses, g.Used = s.newID(), s.now().UTC(), 0, time.Time{}
	if err := s.write(true, record{Op: "add", Grant: &g}); err != nil {
		return Grant{}, err
	}
	return g, nil
}

// Revoke forgets the grants with these ids and says how many there were. An id
// may be shortened to a prefix that is unique.
func (s *Store) Revoke(ids ...string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return 0, err
	}
	n := 0
	for _, id := range ids {
		g, err := s.find(id)
		if err != nil {
			return n, err
		}
		if err := s.write(true, record{Op: "revoke", ID: g.ID, At: s.now().UTC()}); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (s *Store) find(id string) (*Grant, error) {
	if g := s.grants[id]; g != nil {
		return g, nil
	}
	var found []*Grant
	for k, g := range s.grants {
		if id != "" && strings.HasPrefix(k, id) {
			found = append(found, g)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("want the id of a grant, got %q: there is none", id)
	}
	return nil, fmt.Errorf("want the id of one grant, got %q: %d begin with it", id, len(found))
}

// RevokeSession forgets the grants of a session that is removed.
func (s *Store) RevokeSession(session string) (int, error) {
	list, err := s.List()
	if err != nil {
		return 0, err
	}
	var ids []string
	for _, g := range list {
		if g.Scope == Session && g.In == session {
			ids = append(ids, g.ID)
		}
	}
	return s.Revoke(ids...)
}

// List is every grant that is in force, the oldest first.
func (s *Store) List() ([]Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	now := s.now()
	out := make([]Grant, 0, len(s.grants))
	for _, g := range s.grants {
		if !g.expired(now) {
			g := *g
			if u, ok := s.uses[g.ID]; ok {
				g.count(u)
			}
			out = append(out, g)
		}
	}
	slices.SortFunc(out, older)
	return out, nil
}

func older(a, b Grant) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

func (g *Grant) expired(now time.Time) bool { return !g.Expires.IsZero() && !now.Before(g.Expires) }

// Query is what a grant is looked for with.
type Query struct {
	Tool, Key        string
	Session, Project string
}

// Match finds a grant for q without counting a use; session before project before
// user. An error means that the file cannot be trusted: nothing is granted.
func (s *Store) Match(q Query) (Grant, bool, error) {
	if q.Tool == "" || q.Key == "" {
		return Grant{}, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return Grant{}, false, err
	}
	now := s.now()
	for _, l := range []lookup{
		{Session, q.Session, q.Tool, q.Key}, {Project, q.Project, q.Tool, q.Key}, {User, "", q.Tool, q.Key},
	} {
		if l.scope != User && l.in == "" {
			continue
		}
		for _, g := range s.byKey[l] {
			if !g.expired(now) {
				return *g, true, nil
			}
		}
	}
	return Grant{}, false, nil
}

// Use counts a use of the grant. It waits for no disk and no other process: the count
// is in the file within useDelay, or after Close. An error is about uses that were
// counted before; they are tried again.
func (s *Store) Use(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, now := s.grants[id], s.now().UTC()
	switch {
	case s.closed:
		return ErrClosed
	case g == nil:
		return nil // revoked meanwhile
	case s.path == "":
		g.count(use{n: 1, at: now})
		return nil
	}
	if s.uses == nil {
		s.uses = map[string]use{}
	}
	s.uses[id] = use{n: s.uses[id].n + 1, at: now}
	if s.flush == nil {
		s.flush = time.AfterFunc(useDelay, s.flushUses)
	}
	err := s.unwritten
	s.unwritten = nil
	return err
}

func (s *Store) flushUses() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.unwritten = s.writeUses()
	}
}

// writeUses writes the uses that are not in the file yet, in one go.
func (s *Store) writeUses() error {
	if s.flush != nil {
		s.flush.Stop()
		s.flush = nil
	}
	list := make([]record, 0, len(s.uses))
	for id, u := range s.uses {
		if s.grants[id] != nil {
			list = append(list, record{Op: "use", ID: id, At: u.at, N: u.n})
		}
	}
	if len(list) > 0 {
		slices.SortFunc(list, func(a, b record) int { return strings.Compare(a.ID, b.ID) })
		if err := s.write(false, list...); err != nil {
			return err
		}
	}
	clear(s.uses)
	return nil
}

func (g *Grant) count(u use) {
	g.Uses += u.n
	if u.at.After(g.Used) {
		g.Used = u.at
	}
}

func (s *Store) applyAll(records []record) {
	for _, r := range records {
		s.apply(r)
	}
}

// apply takes one record into account.
func (s *Store) apply(r record) {
	switch r.Op {
	case "add":
		g := r.Grant
		if g == nil || g.ID == "" || s.grants[g.ID] != nil {
			s.stale++
			return
		}
		s.grants[g.ID] = g
		l := lookup{g.Scope, g.In, g.Tool, g.Key}
		s.byKey[l] = append(s.byKey[l], g)
	case "revoke":
		s.stale += 2
		g := s.grants[r.ID]
		if g == nil {
			return
		}
		delete(s.grants, r.ID)
		delete(s.uses, r.ID)
		l := lookup{g.Scope, g.In, g.Tool, g.Key}
		s.byKey[l] = slices.DeleteFunc(s.byKey[l], func(x *Grant) bool { return x == g })
		if len(s.byKey[l]) == 0 {
			delete(s.byKey, l)
		}
	case "use":
		s.stale++
		if g := s.grants[r.ID]; g != nil {
			g.count(use{n: max(r.N, 1), at: r.At})
		}
	default:
		s.stale++ // a newer version's
	}
}
