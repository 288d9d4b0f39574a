package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

func open(t *testing.T, dir string, opt Options) *Store {
	t.Helper()
	e, err := StartEmbedded(EmbeddedOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), e.Conn(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); e.Close() })
	return s
}

func tenant(t *testing.T, s *Store, name string) *Tenant {
	t.Helper()
	tn, err := s.Tenant(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tn
}

// lines are envelopes that tell their position.
func lines(from, n, size int) []jsontext.Value {
	out := make([]jsontext.Value, n)
	for i := range out {
		out[i] = jsontext.Value(fmt.Sprintf(`{"n":%d,"pad":%q}`, from+i, strings.Repeat("x", size)))
	}
	return out
}

// take reads n records and compares them with what lines made.
func take(t *testing.T, tn *Tenant, session string, from, n, size int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	want := wire.Position(from)
	for r, err := range tn.Read(ctx, session, want, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Reset || r.Position != want || string(r.Line) != string(lines(int(want), 1, size)[0]) {
			t.Fatalf("got position %d, reset %t, %.40s; want position %d", r.Position, r.Reset, r.Line, want)
		}
		if want++; want == wire.Position(from+n) {
			return
		}
	}
	t.Fatalf("the sequence ended at %d, want %d", want, from+n)
}

func code(err error) wire.Code {
	var e *wire.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

func TestAppend(t *testing.T) {
	tn := tenant(t, open(t, t.TempDir(), Options{}), "acme")
	ctx := t.Context()
	for _, c := range []struct {
		session string
		pos     int64
		lines   []jsontext.Value
		next    int64
		code    wire.Code
	}{
		{"s1", 0, lines(0, 3, 10), 3, ""},
		{"s1", 0, lines(0, 3, 10), 3, ""}, // sent again
		{"s1", 2, lines(2, 4, 10), 6, ""}, // overlapping
		{"s1", 1, lines(1, 2, 10), 6, ""}, // late
		{"s1", 7, lines(7, 1, 10), 0, wire.CodeGap},
		{"s1", -1, lines(0, 1, 1), 0, wire.CodeInvalid},
		{"s1", 6, []jsontext.Value{jsontext.Value("{\n}")}, 0, wire.CodeInvalid},
		{"s1", 6, []jsontext.Value{jsontext.Value("3")}, 0, wire.CodeInvalid},
		{"s.1", 0, lines(0, 1, 1), 0, wire.CodeInvalid},
		{"s1>", 0, lines(0, 1, 1), 0, wire.CodeInvalid},
		{"*", 0, lines(0, 1, 1), 0, wire.CodeInvalid},
		{"s2", 0, lines(0, 2, 10), 2, ""},
	} {
		next, err := tn.Append(ctx, c.session, c.pos, c.lines, false)
		if code(err) != c.code || (err == nil && next != c.next) {
			t.Errorf("Append(%s, %d, %d lines) = %d, %v; want %d, %q", c.session, c.pos, len(c.lines), next, err, c.next, c.code)
		}
	}
	take(t, tn, "s1", 0, 6, 10)
	take(t, tn, "s1", 4, 2, 10)
	if next, err := tn.Append(ctx, "s2", 9, lines(9, 1, 10), true); next != 10 || err != nil {
		t.Errorf("Append behind what the host lost = %d, %v; want 10", next, err)
	}
	var told []string
	for r, err := range tn.Read(ctx, "s2", 1, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if told = append(told, fmt.Sprint(r.Position, r.Reset)); r.Position == 9 && !r.Reset {
			break
		}
	}
	if want := "1 false,9 true,9 false"; strings.Join(told, ",") != want {
		t.Errorf("read %v, want %s", told, want)
	}
	if next, err := tn.Next(ctx, "s1"); next != 6 || err != nil {
		t.Errorf("Next = %d, %v; want 6", next, err)
	}
	if next, err := tn.Next(ctx, "never"); next != 0 || err != nil {
		t.Errorf("Next of an unknown session = %d, %v; want 0", next, err)
	}
}

// Every position is found, in small batches, in large ones and inside long envelopes,
// with other sessions in between.
func TestReadFrom(t *testing.T) {
	tn := tenant(t, open(t, t.TempDir(), Options{}), "acme")
	tn.payload = 1000
	ctx := t.Context()
	sizes := []int{10, 2500, 10, 10, 999, 5000, 10}
	pos := 0
	for round := range 6 {
		for i, size := range sizes {
			n := 1 + (round+i)%5
			if _, err := tn.Append(ctx, "s", int64(pos), lines(pos, n, size), false); err != nil {
				t.Fatal(err)
			}
			pos += n
			if _, err := tn.Append(ctx, "other", int64(round*len(sizes)+i), lines(0, 1, 3000), false); err != nil {
				t.Fatal(err)
			}
		}
	}
	for from := range pos {
		got := from
		for r, err := range tn.Read(ctx, "s", int64(from), nil) {
			if err != nil || r.Reset || r.Position != int64(got) || !bytes.HasPrefix(r.Line, fmt.Appendf(nil, `{"n":%d,`, got)) || r.Line[len(r.Line)-1] != '}' {
				t.Fatalf("from %d: got position %d, reset %t, %.30s, %v; want %d", from, r.Position, r.Reset, r.Line, err, got)
			}
			if got++; got == min(pos, from+12) {
				break
			}
		}
	}
}

// A reader that is there early gets what comes; one that leaves a long envelope half
// written is not heard of.
func TestFollow(t *testing.T) {
	tn := tenant(t, open(t, t.TempDir(), Options{}), "acme")
	tn.payload = 1000
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { take(t, tn, "s", 0, 60, 700) })
	}
	l := tn.logs.get("s")
	for i := range 60 {
		if i == 30 {
			// A relay that died between two parts.
			l.mu.Lock()
			if err := tn.put(t.Context(), "s", l, mark{pos: 30, part: 0}, []byte(`{"half":`)); err != nil {
				t.Fatal(err)
			}
			l.mu.Unlock()
		}
		if _, err := tn.Append(t.Context(), "s", int64(i), lines(i, 1, 700), false); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

// Two processes that write one session do not write past each other.
func TestTwoWriters(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	a := tenant(t, s, "acme")
	other, err := Open(t.Context(), s.nc, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	b := tenant(t, other, "acme")
	const n = 200
	var wg sync.WaitGroup
	for _, tn := range []*Tenant{a, b} {
		wg.Go(func() {
			for pos := int64(0); pos < n; {
				next, err := tn.Append(t.Context(), "s", pos, lines(int(pos), min(3, n-int(pos)), 20), false)
				if err != nil {
					t.Error(err)
					return
				}
				pos = next
			}
		})
	}
	wg.Wait()
	take(t, a, "s", 0, n, 20)
	if next, err := b.Next(t.Context(), "s"); next != n || err != nil {
		t.Errorf("Next = %d, %v; want %d", next, err, n)
	}
}

// What was acknowledged is there after the server was started anew, and what retention
// breaking is a body whose connection breaks off after what it has, which ends the request.
type breaking struct {
	io.Reader
	cut context.CancelFunc
}

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		b.cut()
		return n, io.ErrClosedPipe
	}
	return n, err
}

// An upload goes on where its connection broke off, on a line on which none lives long.
func TestFileOverCuts(t *testing.T) {
	tn := tenant(t, open(t, t.TempDir(), Options{}), "acme")
	want := "a file in three pieces"
	u, err := tn.CreateFile(t.Context(), wire.UploadParams{Name: "a", Size: int64(len(want))})
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{want[:7], want[7:12], want[12:]} {
		ctx, cancel := context.WithCancel(t.Context())
		_, _ = tn.AppendFile(ctx, u.Ref, u.Offset, breaking{strings.NewReader(piece), cancel})
		if u, err = tn.StatFile(t.Context(), u.Ref); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	f, u, err := tn.OpenFile(t.Context(), u.Ref)
	if err != nil {
		t.Fatalf("%+v: %v", u, err)
	}
	defer f.Close()
	if _, err := io.Copy(&got, f); err != nil || got.String() != want {
		t.Errorf("it holds %q, %v", got.String(), err)
	}
}

// took is told and not asked for again.
func TestRestartAndRetention(t *testing.T) {
	dir := t.TempDir()
	func() {
		e, err := StartEmbedded(EmbeddedOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		s, err := Open(t.Context(), e.Conn(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := tenant(t, s, "acme").Append(t.Context(), "s", 0, lines(0, 3000, 20), false); err != nil {
			t.Fatal(err)
		}
	}()
	s := open(t, dir, Options{})
	tn := tenant(t, s, "acme")
	take(t, tn, "s", 0, 3000, 20)
	if _, err := tn.Next(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if err := tn.env.Purge(t.Context()); err != nil { // as MaxAge does
		t.Fatal(err)
	}
	next, err := tn.Next(t.Context(), "s")
	if err != nil || next != 3000 {
		t.Fatalf("Next = %d, %v; want 3000", next, err)
	}
	if _, err := tn.Append(t.Context(), "s", next, lines(3000, 1, 20), false); err != nil {
		t.Fatal(err)
	}
	for r, err := range tn.Read(t.Context(), "s", 17, nil) {
		if err != nil || !r.Reset || r.Position != 3000 {
			t.Errorf("the first record is %+v, %v; want a reset to 3000", r, err)
		}
		break
	}
}

func TestTenantsApart(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	a, b := tenant(t, s, "a"), tenant(t, s, "b")
	if _, err := a.Append(t.Context(), "s", 0, lines(0, 1, 1), false); err != nil {
		t.Fatal(err)
	}
	if _, err := a.PutSession(t.Context(), 0, wire.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	u, err := a.CreateFile(t.Context(), wire.UploadParams{Name: "x", Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	if next, err := b.Next(t.Context(), "s"); next != 0 || err != nil {
		t.Errorf("another tenant sees positions: %d, %v", next, err)
	}
	if _, ok, err := b.Session(t.Context(), "s"); ok || err != nil {
		t.Errorf("another tenant sees the session: %v", err)
	}
	if _, err := b.StatFile(t.Context(), u.Ref); code(err) != wire.CodeNotFound {
		t.Errorf("another tenant sees the file: %v", err)
	}
	for _, name := range []string{"", "a.b", "a*", ">", "../x", "a b", strings.Repeat("x", 65)} {
		if _, err := s.Tenant(t.Context(), name); err == nil {
			t.Errorf("tenant %q is taken", name)
		}
	}
}

func TestMetadata(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	tn := tenant(t, s, "acme")
	ctx := t.Context()
	list, changes := tn.Watch(ctx, wire.SessionsParams{Host: "h1"})
	if len(list) != 0 {
		t.Fatalf("a new tenant has sessions: %v", list)
	}
	put := func(expect int64, x wire.Session, version int64, want wire.Code) {
		t.Helper()
		v, err := tn.PutSession(ctx, expect, x)
		if code(err) != want || err == nil && v != version {
			t.Fatalf("PutSession(%d, %+v) = %d, %v; want %d, %q", expect, x, v, err, version, want)
		}
	}
	put(0, wire.Session{ID: "s", Host: "h1", Title: "one", Version: 4}, 4, "")
	put(0, wire.Session{ID: "s", Host: "h1", Title: "lost"}, 0, wire.CodeConflict)
	put(3, wire.Session{ID: "s", Host: "h1", Title: "lost"}, 0, wire.CodeConflict)
	put(4, wire.Session{ID: "s", Host: "h1", Title: "two"}, 5, "")
	put(0, wire.Session{ID: "s2", Host: "h2"}, 1, "")
	put(0, wire.Session{ID: "s/2", Host: "h2"}, 0, wire.CodeInvalid)
	if err := tn.PutHost(ctx, Connection{ID: "c1", Host: wire.Host{ID: "h1", Name: "laptop", Online: true}}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for c := range changes {
		switch {
		case c.Session != nil:
			seen["s:"+c.Session.ID] = c.Session.Title
		case c.Host != nil:
			seen["h:"+c.Host.Host.ID] = c.Host.Host.Name
		case c.Removed != "":
			seen["s:"+c.Removed] = "gone"
		}
		if seen["s:s"] == "two" && seen["h:h1"] == "laptop" {
			if err := tn.RemoveSession(ctx, "s"); err != nil {
				t.Fatal(err)
			}
		}
		if seen["s:s"] == "gone" {
			break
		}
	}
	if len(seen) != 2 {
		t.Errorf("saw %v, want session s and host h1 only", seen)
	}
	if err := tn.LeaveHost(ctx, "h1", "c0", 5); err != nil {
		t.Fatal(err)
	}
	if c, _, _ := tn.HostOf(ctx, "h1"); !c.Host.Online {
		t.Error("an old connection took the new one's host away")
	}
	if err := tn.LeaveHost(ctx, "h1", "c1", 5); err != nil {
		t.Fatal(err)
	}
	if c, ok, _ := tn.HostOf(ctx, "h1"); !ok || c.Host.Online || c.ID != "" || c.Host.LastSeen != 5 {
		t.Errorf("after it left the host is %+v", c)
	}
}

func TestInbox(t *testing.T) {
	tn := tenant(t, open(t, t.TempDir(), Options{}), "acme")
	for i := range 3 {
		if err := tn.Keep(t.Context(), "h", fmt.Appendf(nil, "%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	broken := errors.New("cut")
	deliver := func(c []byte) error {
		got = append(got, string(c))
		if len(got) == 2 {
			return broken
		}
		return nil
	}
	if err := tn.Kept(t.Context(), "h", deliver); !errors.Is(err, broken) {
		t.Errorf("Kept = %v, want the error of deliver", err)
	}
	if err := tn.Kept(t.Context(), "h", deliver); err != nil {
		t.Error(err)
	}
	if err := tn.Kept(t.Context(), "h", deliver); err != nil {
		t.Error(err)
	}
	if want := "0 1 1 2"; strings.Join(got, " ") != want {
		t.Errorf("handed out %v, want %s", got, want)
	}
}

func TestFiles(t *testing.T) {
	tn := tenant(t, open(t, t.TempDir(), Options{}), "acme")
	tn.payload = 1000
	ctx := t.Context()
	body := bytes.Repeat([]byte("0123456789"), 450)
	sum := sha256.Sum256(body)
	u, err := tn.CreateFile(ctx, wire.UploadParams{Name: "../../etc/passwd", Size: int64(len(body)), SHA256: hex.EncodeToString(sum[:])})
	if err != nil {
		t.Fatal(err)
	}
	if !ValidName(u.Ref) {
		t.Fatalf("ref %q", u.Ref)
	}
	cut := io.MultiReader(bytes.NewReader(body[:1500]), &failing{})
	if u, err = tn.AppendFile(ctx, u.Ref, 0, cut); err == nil {
		t.Fatal("a body that broke off is no error")
	}
	if u, err = tn.StatFile(ctx, u.Ref); err != nil || u.Offset == 0 || u.Offset > 1500 {
		t.Fatalf("after a cut it stands at %d, %v", u.Offset, err)
	}
	if _, _, err := tn.OpenFile(ctx, u.Ref); code(err) != wire.CodeConflict {
		t.Errorf("reading half a file = %v", err)
	}
	if _, err := tn.AppendFile(ctx, u.Ref, 0, bytes.NewReader(body)); code(err) != wire.CodeConflict {
		t.Errorf("a wrong offset = %v", err)
	}
	if _, err := tn.AppendFile(ctx, u.Ref, u.Offset, bytes.NewReader(append(body, 'x'))); code(err) != wire.CodeTooLarge {
		t.Errorf("too long a body = %v", err)
	}
	u, _ = tn.StatFile(ctx, u.Ref)
	if u, err = tn.AppendFile(ctx, u.Ref, u.Offset, bytes.NewReader(body[u.Offset:])); err != nil || u.Offset != u.Size {
		t.Fatalf("the rest = %+v, %v", u, err)
	}
	r, _, err := tn.OpenFile(ctx, u.Ref)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
		t.Errorf("read %d bytes, %v; want the %d that were written", len(got), err, len(body))
	}
	bad, err := tn.CreateFile(ctx, wire.UploadParams{Size: 1, SHA256: hex.EncodeToString(sum[:])})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tn.AppendFile(ctx, bad.Ref, 0, strings.NewReader("x")); code(err) != wire.CodeInvalid {
		t.Errorf("a wrong sum = %v", err)
	}
	for _, ref := range []string{"", "..", "a/b", "a.b", ">", bad.Ref} {
		if _, err := tn.StatFile(ctx, ref); code(err) != wire.CodeNotFound {
			t.Errorf("StatFile(%q) = %v, want not_found", ref, err)
		}
	}
	for _, p := range []wire.UploadParams{{Size: -1}, {Size: MaxFile + 1}} {
		if _, err := tn.CreateFile(ctx, p); code(err) != wire.CodeTooLarge {
			t.Errorf("CreateFile(%+v) = %v", p, err)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection cut") }

func TestTokens(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ctx := t.Context()
	secret, k, err := s.CreateToken(ctx, Token{Tenant: "acme", Scope: wire.ScopeView, Name: "phone"})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := s.TokenOf(ctx, secret); !ok || err != nil || got.ID != k.ID || got.Scope != k.Scope {
		t.Errorf("TokenOf = %+v, %t, %v; want %+v", got, ok, err, k)
	}
	old, _, err := s.CreateToken(ctx, Token{Tenant: "acme", Scope: wire.ScopeView, Expires: time.Now().Add(-time.Second).UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", secret + "x", k.ID, old} {
		if _, ok, err := s.TokenOf(ctx, bad); ok || err != nil {
			t.Errorf("TokenOf(%q) counts, %v", bad, err)
		}
	}
	if err := s.RevokeToken(ctx, "other", k.ID); code(err) != wire.CodeNotFound {
		t.Errorf("another tenant revokes: %v", err)
	}
	if err := s.RevokeToken(ctx, "acme", k.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := s.TokenOf(ctx, secret); ok {
		t.Error("a revoked token counts")
	}
	if list, err := s.Tokens(ctx, "acme"); len(list) != 2 || err != nil || list[0].ID != k.ID && list[1].ID != k.ID { // made in one millisecond, as a rule
		t.Errorf("Tokens = %+v, %v", list, err)
	}
	for range 2 {
		if err := s.EnsureToken(ctx, "chosen-by-the-operator", Token{Tenant: "acme", Scope: wire.ScopeAdmin}); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []Token{{Tenant: "a.b", Scope: wire.ScopeView}, {Tenant: "a", Scope: "root"}, {Tenant: "a"}} {
		if _, _, err := s.CreateToken(ctx, bad); code(err) != wire.CodeInvalid {
			t.Errorf("CreateToken(%+v) = %v", bad, err)
		}
	}
	// Nothing that is stored holds a secret.
	w, err := s.auth.Watch(ctx, ">")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.Updates() {
		if e == nil {
			break
		}
		if strings.Contains(e.Key()+string(e.Value()), secret) || strings.Contains(string(e.Value()), "chosen-by") {
			t.Errorf("%s holds a secret", e.Key())
		}
	}
}

func TestPairing(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ctx := t.Context()
	grant := Token{Tenant: "acme", Scope: wire.ScopeControl}
	pair, err := s.NewCode(ctx, grant, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	// Many try at once: one gets it.
	var mu sync.Mutex
	var won []string
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			secret, _, err := s.RedeemCode(ctx, strings.ToLower(pair), "phone")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, secret)
			} else if code(err) != wire.CodeUnauthorized {
				t.Errorf("redeeming = %v", err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Fatalf("the code was redeemed %d times", len(won))
	}
	if k, ok, err := s.TokenOf(ctx, won[0]); !ok || err != nil || k.Scope != wire.ScopeControl || k.Name != "phone" {
		t.Errorf("the token is %+v, %t, %v", k, ok, err)
	}
	expired, err := s.NewCode(ctx, grant, -time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{pair, expired, "AAAAA-AAAAA", ""} {
		if _, _, err := s.RedeemCode(ctx, bad, ""); code(err) != wire.CodeUnauthorized {
			t.Errorf("RedeemCode(%q) = %v, want unauthorized", bad, err)
		}
	}
}

// Two servers on one directory would destroy what is in it: the second one, also by
// another way to name it, does not start, and does once the first has ended.
func TestDirectoryTaken(t *testing.T) {
	dir := t.TempDir()
	first, err := StartEmbedded(EmbeddedOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Health(); err != nil {
		t.Errorf("Health = %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, link} {
		if e, err := StartEmbedded(EmbeddedOptions{Dir: d}); err == nil || !strings.Contains(err.Error(), "another relay") {
			t.Errorf("a second server on the directory: %v, want that another relay runs", err)
			if err == nil {
				e.Close()
			}
		}
	}
	first.Close()
	again, err := StartEmbedded(EmbeddedOptions{Dir: dir})
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	again.Close()
}

// What a tenant may have is not put aside for it: there are more tenants than fit if
// all of them used it up.
func TestTenantsBeyondTheDisk(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxBytes: 1 << 50})
	for _, name := range []string{"a", "b", "c"} {
		tenant, err := s.Tenant(t.Context(), name)
		if err != nil {
			t.Fatalf("tenant %s: %v", name, err)
		}
		if next, err := tenant.Append(t.Context(), "session1", 0, []jsontext.Value{jsontext.Value(`{"id":"e1"}`)}, false); err != nil || next != 1 {
			t.Errorf("tenant %s: Append = %d, %v", name, next, err)
		}
	}
}
