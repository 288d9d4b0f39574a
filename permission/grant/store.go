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
}

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

// Close gives the file back. Calls after it return ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.drop()
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
	if err := s.write(record{Op: "add", Grant: &g}, true); err != nil {
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
		if err := s.write(record{Op: "revoke", ID: g.ID, At: s.now().UTC()}, true); err != nil {
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
			out = append(out, *g)
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

// Use counts a use of the grant. It is written without waiting for the disk.
func (s *Store) Use(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grants[id] == nil {
		return nil // revoked meanwhile
	}
	return s.write(record{Op: "use", ID: id, At: s.now().UTC()}, false)
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
		l := lookup{g.Scope, g.In, g.Tool, g.Key}
		s.byKey[l] = slices.DeleteFunc(s.byKey[l], func(x *Grant) bool { return x == g })
		if len(s.byKey[l]) == 0 {
			delete(s.byKey, l)
		}
	case "use":
		s.stale++
		if g := s.grants[r.ID]; g != nil {
			g.Uses++
			if r.At.After(g.Used) {
				g.Used = r.At
			}
		}
	default:
		s.stale++ // a newer version's
	}
}
