package grant

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func give(t testing.TB, s *Store, key string) Grant {
	t.Helper()
	g, err := s.Add(Grant{Scope: Project, In: "/w", Tool: "bash", Key: key, Covers: key})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func has(t testing.TB, s *Store, key string) bool {
	t.Helper()
	_, ok, err := s.Match(Query{Tool: "bash", Key: key, Session: "s", Project: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func keys(t testing.TB, s *Store) string {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, g := range list {
		out = append(out, fmt.Sprintf("%s×%d", g.Key, g.Uses))
	}
	return strings.Join(out, " ")
}

func TestStoreOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants")
	s := open(t, path, Options{})
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file exists before the first grant: %v", err)
	}
	a := give(t, s, "a")
	give(t, s, "b")
	if !has(t, s, "a") || has(t, s, "c") {
		t.Error("want a and not c")
	}
	for range 3 {
		if err := s.Use(a.ID); err != nil {
			t.Fatal(err)
		}
	}
	s.flushUses()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	again := open(t, path, Options{})
	if got := keys(t, again); got != "a×3 b×0" {
		t.Errorf("after opening again: %s", got)
	}
	if n, err := again.Revoke(a.ID[:8]); n != 1 || err != nil {
		t.Errorf("Revoke by prefix = %d, %v", n, err)
	}
	if has(t, s, "a") {
		t.Error("the first store did not see that the second revoked")
	}
	if err := s.Use(a.ID); err != nil {
		t.Errorf("use of a revoked grant: %v, want nothing to happen", err)
	}
	if got := keys(t, open(t, path, Options{})); got != "b×0" {
		t.Errorf("in the end: %s", got)
	}
}

func TestStoreErrors(t *testing.T) {
	s := open(t, "", Options{})
	for _, g := range []Grant{
		{},
		{Scope: Project, In: "/w", Tool: "bash"},
		{Scope: Project, In: "/w", Key: "a"},
		{Scope: "world", Tool: "bash", Key: "a"},
		{Tool: "bash", Key: "a"},
		{Scope: Project, Tool: "bash", Key: "a"},
		{Scope: User, In: "/w", Tool: "bash", Key: "a"},
		{Scope: Session, Tool: "bash", Key: "a"},
	} {
		if got, err := s.Add(g); err == nil {
			t.Errorf("Add(%+v) = %+v, want an error", g, got)
		}
	}
	a := give(t, s, "a")
	for _, id := range []string{"", "nothing"} {
		if n, err := s.Revoke(id); n != 0 || err == nil {
			t.Errorf("Revoke(%q) = %d, %v, want an error", id, n, err)
		}
	}
	if n, err := s.Revoke(a.ID, a.ID); n != 1 || err == nil {
		t.Errorf("Revoke twice = %d, %v, want 1 and an error", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(Grant{Scope: User, Tool: "bash", Key: "a"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Add after Close: %v", err)
	}
	if _, _, err := s.Match(Query{Tool: "bash", Key: "a"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Match after Close: %v", err)
	}
	if _, err := Open(t.TempDir(), Options{}); err == nil {
		t.Error("a directory was opened")
	}
	if _, err := open(t, filepath.Join(t.TempDir(), "no", "dir"), Options{}).Add(Grant{Scope: User, Tool: "t", Key: "k"}); err == nil {
		t.Error("a grant was written into a directory that does not exist")
	}
}

func TestAmbiguousID(t *testing.T) {
	n := 0
	s := open(t, "", Options{NewID: func() string { n++; return fmt.Sprint("same", n) }})
	give(t, s, "a")
	give(t, s, "b")
	if _, err := s.Revoke("same"); err == nil || !strings.Contains(err.Error(), "2 begin with it") {
		t.Errorf("Revoke = %v, want an error that counts", err)
	}
}

func TestMatchByScope(t *testing.T) {
	s := open(t, "", Options{})
	for _, g := range []Grant{
		{Scope: User, Tool: "t", Key: "user"},
		{Scope: Project, In: "/p", Tool: "t", Key: "project"},
		{Scope: Session, In: "s", Tool: "t", Key: "session"},
		{Scope: User, Tool: "t", Key: "all"},
		{Scope: Session, In: "s", Tool: "t", Key: "all"},
		{Scope: Project, In: "/p", Tool: "t", Key: "all"},
	} {
		if _, err := s.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		q    Query
		want Scope
	}{
		{Query{"t", "user", "s", "/p"}, User},
		{Query{"t", "user", "", ""}, User},
		{Query{"t", "project", "s", "/p"}, Project},
		{Query{"t", "project", "s", "/p2"}, ""},
		{Query{"t", "project", "s", ""}, ""},
		{Query{"t", "session", "s", "/x"}, Session},
		{Query{"t", "session", "s2", "/p"}, ""},
		{Query{"t", "session", "", "/p"}, ""},
		{Query{"t", "all", "s", "/p"}, Session},
		{Query{"t", "all", "s2", "/p"}, Project},
		{Query{"t", "all", "s2", "/p2"}, User},
		{Query{"u", "user", "s", "/p"}, ""},
		{Query{"t", "", "s", "/p"}, ""},
		{Query{"", "user", "s", "/p"}, ""},
		{Query{"t", "use", "s", "/p"}, ""},
	} {
		g, ok, err := s.Match(tt.q)
		if err != nil || g.Scope != tt.want || ok != (tt.want != "") {
			t.Errorf("Match(%+v) = %q, %v, %v, want %q", tt.q, g.Scope, ok, err, tt.want)
		}
	}
	if n, err := s.RevokeSession("s"); n != 2 || err != nil {
		t.Errorf("RevokeSession = %d, %v, want 2", n, err)
	}
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "grants")
	s := open(t, path, Options{Now: func() time.Time { return now }})
	if _, err := s.Add(Grant{Scope: Project, In: "/w", Tool: "bash", Key: "a", Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour - 1)
	if !has(t, s, "a") {
		t.Error("expired too early")
	}
	now = now.Add(1)
	if has(t, s, "a") || keys(t, s) != "" {
		t.Error("not expired")
	}
}

// A file that others may have written to is refused, one that they may read is closed.
func TestFileMode(t *testing.T) {
	if !checksMode {
		t.Skip("this system has no permission bits")
	}
	path := filepath.Join(t.TempDir(), "grants")
	give(t, open(t, path, Options{}), "a")
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o640: true, 0o644: true, 0o660: false, 0o602: false, 0o666: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		if (err == nil) != ok {
			t.Errorf("mode %04o: %v, want ok %v", mode, err, ok)
		}
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %04o became %v, %v, want 0600", mode, info.Mode(), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A line that a crash tore is left out, and swallows nothing that comes after it.
func TestTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants")
	s := open(t, path, Options{})
	give(t, s, "a")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(whole); n += 7 {
		torn := append(bytes.Clone(whole), whole[:n-1]...)
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, path, Options{})
		if got := keys(t, s); got != "a×0" {
			t.Fatalf("torn after %d bytes: %s", n, got)
		}
		give(t, s, "b")
		if got := keys(t, open(t, path, Options{})); got != "a×0 b×0" {
			t.Fatalf("torn after %d bytes, then b: %s", n, got)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Records of a newer version are left alone.
func TestUnknownRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants")
	give(t, open(t, path, Options{}), "a")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"op\":\"new\",\"x\":1}\n\n[]\nnoise\n{\"op\":\"add\"}\n{\"op\":\"use\",\"id\":\"unknown\"}\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, Options{})
	if got := keys(t, s); got != "a×0" {
		t.Errorf("grants: %s", got)
	}
}

// A file that is replaced or cut short grants what it holds now.
func TestReplacedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants")
	s := open(t, path, Options{})
	give(t, s, "a")
	other := filepath.Join(t.TempDir(), "grants")
	give(t, open(t, other, Options{}), "b")
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if has(t, s, "a") || !has(t, s, "b") {
		t.Errorf("after the replacement: %s, want b", keys(t, s))
	}
	give(t, s, "c")
	if got := keys(t, open(t, path, Options{})); got != "b×0 c×0" {
		t.Errorf("written after the replacement: %s", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if has(t, s, "b") {
		t.Error("a file that is gone grants")
	}
	give(t, s, "d")
	if got := keys(t, open(t, path, Options{})); got != "d×0" {
		t.Errorf("written after the removal: %s", got)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if has(t, s, "d") {
		t.Error("a file that was emptied grants")
	}
}

// Uses are many and grants few: the file is rewritten, nothing is lost.
func TestCompaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants")
	s := open(t, path, Options{})
	a, gone := give(t, s, "a"), give(t, s, "gone")
	give(t, s, "b")
	if _, err := s.Revoke(gone.ID); err != nil {
		t.Fatal(err)
	}
	reader := open(t, path, Options{})
	const uses = compactAfter + 100
	for range uses {
		if err := s.Use(a.ID); err != nil {
			t.Fatal(err)
		}
		s.flushUses()
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 100_000 || info.Mode().Perm() != 0o600 {
		t.Errorf("%d bytes with mode %v, %v, want a small file with 0600", info.Size(), info.Mode(), err)
	}
	want := fmt.Sprintf("a×%d b×0", uses)
	for _, x := range []*Store{s, reader, open(t, path, Options{})} {
		if got := keys(t, x); got != want {
			t.Errorf("after rewriting: %s, want %s", got, want)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, %v, want one", len(entries), err)
	}
}

// Who is to be answered does not wait for the file: uses are counted in memory, and
// written together within useDelay, or when the store is closed.
func TestUsesAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "grants")
		s := open(t, path, Options{})
		a := give(t, s, "a")
		<-time.After(time.Millisecond)
		b := give(t, s, "b")
		inFile := func(want string) {
			t.Helper()
			if got := keys(t, open(t, path, Options{})); got != want {
				t.Errorf("in the file: %s, want %s", got, want)
			}
		}
		use := func(s *Store, g Grant, n int) {
			t.Helper()
			for range n {
				if err := s.Use(g.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		use(s, a, 3)
		use(s, b, 1)
		inFile("a×0 b×0")
		if got := keys(t, s); got != "a×3 b×1" {
			t.Errorf("the store itself says %s", got)
		}
		<-time.After(useDelay)
		synctest.Wait()
		inFile("a×3 b×1")
		use(s, a, 2)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		inFile("a×5 b×1")
		if err := s.Use(a.ID); !errors.Is(err, ErrClosed) {
			t.Errorf("Use after Close = %v, want ErrClosed", err)
		}
	})
}

// Uses that cannot be written are said to the next one, and tried again.
func TestUsesThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants")
	s := open(t, path, Options{})
	a := give(t, s, "a")
	use := func() error {
		t.Helper()
		err := s.Use(a.ID)
		s.flushUses()
		return err
	}
	if err := s.drop(); err != nil {
		t.Fatal(err)
	}
	away := path + ".away"
	if err := errors.Join(os.Rename(path, away), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := use(); err != nil {
		t.Errorf("the first Use = %v, want nil: nobody tried to write it", err)
	}
	if err := use(); err == nil {
		t.Error("the second Use = nil, want that the first could not be written")
	}
	if err := errors.Join(os.Remove(path), os.Rename(away, path)); err != nil {
		t.Fatal(err)
	}
	if err := use(); err == nil {
		t.Error("the third Use = nil, want that the second could not be written")
	}
	if err := use(); err != nil {
		t.Errorf("the last Use = %v", err)
	}
	if got := keys(t, open(t, path, Options{})); got != "a×4" {
		t.Errorf("in the file: %s, want a×4", got)
	}
}

// Several stores on one file, as of several processes, lose nothing.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants")
	var wg sync.WaitGroup
	const writers, each = 6, 20
	for w := range writers {
		wg.Go(func() {
			s, err := Open(path, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for i := range each {
				g, err := s.Add(Grant{Scope: User, Tool: "bash", Key: fmt.Sprintf("%d-%d", w, i)})
				if err == nil {
					err = s.Use(g.ID)
				}
				if err == nil && i%2 == 0 {
					_, err = s.Revoke(g.ID)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := open(t, path, Options{}).List()
	if err != nil || len(list) != writers*each/2 {
		t.Fatalf("%d grants, %v, want %d", len(list), err, writers*each/2)
	}
	for _, g := range list {
		if g.Uses != 1 {
			t.Errorf("%s was used %d times, want once", g.Key, g.Uses)
		}
	}
}

func TestRender(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := open(t, "", Options{Now: func() time.Time { return now }, NewID: func() string { return "id1" }})
	g, err := s.Add(Grant{Scope: Project, In: "/w/app", Tool: "bash", Key: "k", Covers: "git push\x1b[2K\n", Expires: now.Add(2 * time.Hour), Origin: Origin{ClientType: "phone", Agent: "claude"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Use(g.ID); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteText(&b, list, now); err != nil {
		t.Fatal(err)
	}
	want := "ID   SCOPE           TOOL  COVERS         FROM                             USED                       EXPIRES\n" +
		"id1  project /w/app  bash  git push [2K   phone, claude, 2026-01-02 03:04  1×, last 2026-01-02 03:04  in 2h0m0s\n"
	if b.String() != want {
		t.Errorf("text:\n%s\nwant:\n%s", b.String(), want)
	}
	b.Reset()
	if err := WriteJSON(&b, list); err != nil || !strings.HasPrefix(b.String(), `[{"id":"id1","scope":"project","in":"/w/app","tool":"bash","key":"k"`) || !strings.Contains(b.String(), `"uses":1`) {
		t.Errorf("JSON: %s, %v", b.String(), err)
	}
	b.Reset()
	if err := errors.Join(WriteText(&b, nil, now), WriteJSON(&b, nil)); err != nil || b.String() != "no grants\n[]\n" {
		t.Errorf("nothing: %q, %v", b.String(), err)
	}
}
