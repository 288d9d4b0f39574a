package tail

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience is how long a line may take.
const patience = 20 * time.Second

// reader collects the lines of a Set.
type reader struct {
	*Set
	t     *testing.T
	lines chan Line
}

func newReader(t *testing.T, o Options) *reader {
	t.Helper()
	r := &reader{t: t, lines: make(chan Line, 1<<16)}
	r.Set = New(o, func(l Line) { r.lines <- l })
	t.Cleanup(r.Close)
	return r
}

// both runs a test with the system's watching and without.
func both(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	t.Run("watched", func(t *testing.T) { t.Parallel(); test(t, Options{Poll: time.Hour}) })
	t.Run("looked at", func(t *testing.T) { t.Parallel(); test(t, Options{unwatched: true, Poll: 160 * time.Millisecond}) })
}

func (r *reader) follow(id, path string, from int64) {
	r.t.Helper()
	if err := r.Follow(Follow{ID: id, Path: path, From: from}); err != nil {
		r.t.Fatal(err)
	}
}

// want waits for lines, each as "ID FILE TEXT".
func (r *reader) want(lines ...string) {
	r.t.Helper()
	for _, want := range lines {
		select {
		case l := <-r.lines:
			if got := inWords(l); got != want {
				r.t.Fatalf("line = %q, want %q", got, want)
			}
		case <-time.After(patience):
			r.t.Fatalf("no line, want %q", want)
		}
	}
}

// nothing wants no line after everything was looked at.
func (r *reader) nothing() {
	r.t.Helper()
	r.Flush()
	select {
	case l := <-r.lines:
		r.t.Fatalf("line = %q, want none", inWords(l))
	default:
	}
}

// rest is what comes until the Set is closed.
func (r *reader) rest() []string {
	r.Close()
	var all []string
	for len(r.lines) > 0 {
		all = append(all, inWords(<-r.lines))
	}
	return all
}

func inWords(l Line) string {
	text := string(l.Data)
	if l.Dropped > 0 {
		text = fmt.Sprintf("dropped %d", l.Dropped)
	}
	return l.ID + " " + filepath.Base(l.Path) + " " + text
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFollow(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		r, path := newReader(t, o), filepath.Join(t.TempDir(), "a.jsonl")
		write(t, path, "one\ntwo\r\n\nthree")
		r.follow("f", path, 0)
		r.want("f a.jsonl one", "f a.jsonl two", "f a.jsonl ")
		r.nothing()
		write(t, path, " more\nfour\n")
		r.want("f a.jsonl three more", "f a.jsonl four")
		write(t, path, "no end")
		if rest := r.rest(); len(rest) > 0 {
			t.Errorf("lines = %q at the end, want none: one has no end", rest)
		}
	})
}

// B152: a line that is written in two halves, cut inside of a character.
func TestHalfLine(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		const line = `{"type":"assistant","text":"reply with 한글 😀"}`
		cut := strings.Index(line, "글") + 1
		r, path := newReader(t, o), filepath.Join(t.TempDir(), "s.jsonl")
		r.follow("f", path, 0)
		write(t, path, "first\n")
		r.want("f s.jsonl first")
		write(t, path, line[:cut])
		r.nothing()
		write(t, path, line[cut:])
		r.nothing()
		write(t, path, "\nlast\n")
		r.want("f s.jsonl "+line, "f s.jsonl last")
	})
}

// B154: a line that was torn by a crash, with the next one behind it, a rest without
// sense and blank lines: each comes once as it stands, and what follows too.
func TestTornMiddle(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		lines := []string{
			`{"type":"user","uuid":"1"}`, `{"type":"assistant","uuid":"2"}`, `{"type":"user","uuid":"3","parentUu{"type":"user","uuid":"3"}`,
			`{"type":"assistant","uuid":"4"}`, `{"type":"user","uuid":`, "", "   ", `{"type":"assistant","uuid":"6"}`,
		}
		r, path := newReader(t, o), filepath.Join(t.TempDir(), "torn.jsonl")
		write(t, path, strings.Join(lines, "\n")+"\n")
		r.follow("f", path, 0)
		for _, l := range lines {
			r.want("f torn.jsonl " + l)
		}
		r.nothing()
	})
}

func TestFrom(t *testing.T) {
	for _, test := range []struct {
		text string
		from int64
		want []string
	}{
		{"one\ntwo\n", 0, []string{"one", "two", "new"}},
		{"one\ntwo\n", 4, []string{"two", "new"}},
		{"one\ntwo\n", -1, []string{"new"}},
		{"one\nhalf ", -1, []string{"half new"}},
		{"half ", -1, []string{"half new"}},
		{strings.Repeat("x", 3*chunk), -1, []string{strings.Repeat("x", 3*chunk) + "new"}},
		{"old\n" + strings.Repeat("x", 3*chunk), -1, []string{strings.Repeat("x", 3*chunk) + "new"}},
		{"one\n", 100, []string{"one", "new"}}, // cut short: read anew
	} {
		r, path := newReader(t, Options{}), filepath.Join(t.TempDir(), "f")
		write(t, path, test.text)
		r.follow("f", path, test.from)
		write(t, path, "new\n")
		for _, w := range test.want {
			r.want("f f " + w)
		}
		r.nothing()
	}
}

// A file, and the directories it lies in, may come later.
func TestLateCreation(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		top := t.TempDir()
		dir := filepath.Join(top, "a", "b", "c")
		r, path := newReader(t, o), filepath.Join(dir, "late.jsonl")
		r.follow("f", path, -1)
		r.nothing()
		if err := os.Mkdir(filepath.Join(top, "a"), 0o700); err != nil {
			t.Fatal(err)
		}
		r.nothing()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, "one\n")
		r.want("f late.jsonl one")
		// All of it goes and comes again.
		if err := os.RemoveAll(filepath.Join(top, "a")); err != nil {
			t.Fatal(err)
		}
		r.nothing()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, "one again\n")
		r.want("f late.jsonl one again")
	})
}

// A directory that is replaced by another one is followed there.
func TestDirectoryReplaced(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		top := t.TempDir()
		dir := filepath.Join(top, "d")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r, path := newReader(t, o), filepath.Join(dir, "f")
		r.follow("f", path, 0)
		r.follow("g", filepath.Join(dir, "*.x"), 0)
		write(t, path, "one\n")
		r.want("f f one")
		if err := os.Rename(dir, filepath.Join(top, "old")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r.Flush()
		write(t, path, "two\n")
		r.want("f f two")
		write(t, filepath.Join(dir, "1.x"), "three\n")
		r.want("g 1.x three")
	})
}

func TestReplacedAndCutShort(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		r, path := newReader(t, o), filepath.Join(t.TempDir(), "f")
		write(t, path, "one\ntwo\nthr")
		r.follow("f", path, 0)
		r.want("f f one", "f f two")
		r.nothing()
		// A save by renaming, longer than what was read.
		write(t, path+".new", "uno\ndos\ntres\n")
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		r.want("f f uno", "f f dos", "f f tres")
		r.nothing()
		// Cut short, and written to.
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.want("f f x")
		r.nothing()
		// Written anew in its place between two looks, longer than before.
		if err := os.WriteFile(path, []byte("y\nz\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.want("f f y", "f f z")
		// Removed and made again.
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		r.nothing()
		write(t, path, "y\n")
		r.want("f f y")
		r.nothing()
	})
}

func TestPattern(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		r := newReader(t, o)
		write(t, filepath.Join(dir, "agent-1.jsonl"), "old\n")
		write(t, filepath.Join(dir, "agent-[x].jsonl"), "brackets are no pattern\n")
		write(t, filepath.Join(dir, "agent-1.meta.json"), "no\n")
		write(t, filepath.Join(dir, "other.jsonl"), "no\n")
		if err := os.Mkdir(filepath.Join(dir, "agent-dir.jsonl"), 0o700); err != nil {
			t.Fatal(err)
		}
		r.follow("p", filepath.Join(dir, "agent-*.jsonl"), -1)
		r.nothing()
		write(t, filepath.Join(dir, "agent-1.jsonl"), "more\n")
		r.want("p agent-1.jsonl more")
		write(t, filepath.Join(dir, "agent-2.jsonl"), "new\n")
		r.want("p agent-2.jsonl new")
		write(t, filepath.Join(dir, "other.jsonl"), "no\n")
		write(t, filepath.Join(dir, "agent-2.jsonl"), "again\n")
		r.want("p agent-2.jsonl again")
		r.nothing()
	})
}

func TestThousandFiles(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		r := newReader(t, o)
		var want []string
		for i := range 1000 {
			name := fmt.Sprintf("agent-%04d", i)
			r.follow(name, filepath.Join(dir, name), 0)
			for j := range 3 {
				want = append(want, fmt.Sprintf("%s %s %d", name, name, j))
			}
		}
		for j := range 3 {
			for i := range 1000 {
				write(t, filepath.Join(dir, fmt.Sprintf("agent-%04d", i)), fmt.Sprintln(j))
			}
		}
		got := r.rest()
		slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:10], b[:10]) })
		if !slices.Equal(got, want) {
			t.Errorf("got %d lines, want the %d in the order of each file", len(got), len(want))
		}
	})
}

func TestLongLines(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		o.MaxLine = 100
		r, path := newReader(t, o), filepath.Join(t.TempDir(), "f")
		r.follow("f", path, 0)
		write(t, path, "short\n"+strings.Repeat("x", 90))
		r.want("f f short")
		r.nothing()
		write(t, path, strings.Repeat("x", 10))
		r.nothing()
		write(t, path, strings.Repeat("x", 200_000))
		r.nothing()
		write(t, path, "\n"+strings.Repeat("y", 100)+"\n"+strings.Repeat("z", 101)+"\nend\n")
		r.want("f f dropped 200100", "f f "+strings.Repeat("y", 100), "f f dropped 101", "f f end")
	})
}

// What is there at the end is delivered, also by files that nobody told of yet.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	r := newReader(t, Options{unwatched: true, Poll: time.Hour})
	r.follow("f", filepath.Join(dir, "f"), 0)
	r.follow("p", filepath.Join(dir, "sub", "*.x"), 0)
	r.nothing()
	write(t, filepath.Join(dir, "f"), "one\ntwo\n")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sub", "1.x"), "three\n")
	if got, want := r.rest(), []string{"f f one", "f f two", "p 1.x three"}; !slices.Equal(got, want) {
		t.Errorf("lines = %q, want %q", got, want)
	}
	if err := r.Follow(Follow{ID: "g", Path: "/x"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Follow = %v when closed, want ErrClosed", err)
	}
	r.Flush()
	r.Unfollow("f")
}

func TestUnfollow(t *testing.T) {
	dir := t.TempDir()
	r := newReader(t, Options{unwatched: true, Poll: time.Hour})
	path := filepath.Join(dir, "f")
	r.follow("f", path, 0)
	r.follow("g", path, -1)
	r.nothing()
	write(t, path, "one\n")
	r.Unfollow("f")
	r.Unfollow("f")
	r.Unfollow("unknown")
	r.want("f f one")
	write(t, path, "two\n")
	r.Flush()
	r.want("g f one", "g f two")
	r.nothing()
	// The id is free again.
	r.follow("f", path, 4)
	r.want("f f two")
}

func TestBadFollows(t *testing.T) {
	r := newReader(t, Options{})
	for _, path := range []string{"", "relative", "/", "/a*/b", "/a/*b*"} {
		if err := r.Follow(Follow{ID: "f", Path: path}); !errors.Is(err, ErrPath) {
			t.Errorf("Follow(%q) = %v, want ErrPath", path, err)
		}
	}
	if err := r.Follow(Follow{Path: "/a"}); !errors.Is(err, ErrID) {
		t.Errorf("Follow without an id = %v, want ErrID", err)
	}
	r.follow("f", "/a", 0)
	if err := r.Follow(Follow{ID: "f", Path: "/b"}); !errors.Is(err, ErrID) {
		t.Errorf("Follow of an id twice = %v, want ErrID", err)
	}
}

// Something that is no file is not opened: a pipe would never answer.
func TestNoFile(t *testing.T) {
	r, dir := newReader(t, Options{}), t.TempDir()
	r.follow("d", dir, 0)
	r.nothing()
}

// FuzzLines: wherever a text is cut while it is written, its lines are the same.
func FuzzLines(f *testing.F) {
	f.Add([]byte("one\ntwo\r\n\nthree"), uint64(1))
	f.Add([]byte(`{"a":"한글"}`+"\n"+`{"half`+`{"b":1}`+"\n"), uint64(2))
	f.Add([]byte(strings.Repeat("x", 300)+"\n"+strings.Repeat("y", 150)+"\n"), uint64(3))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		const limit = 128
		var want []string
		whole := strings.SplitAfter(string(text), "\n")
		for _, l := range whole[:len(whole)-1] {
			l = strings.TrimSuffix(l, "\n")
			if len(l) > limit {
				l = fmt.Sprintf("dropped %d", len(l))
			} else {
				l = strings.TrimSuffix(l, "\r")
			}
			want = append(want, l)
		}
		path := filepath.Join(t.TempDir(), "f")
		write(t, path, "")
		file := &file{path: path}
		var got []string
		read := func() {
			file.read(limit, func(data []byte, dropped int64) {
				if dropped > 0 {
					data = fmt.Appendf(nil, "dropped %d", dropped)
				}
				got = append(got, string(data))
			})
		}
		rnd := rand.New(rand.NewPCG(seed, 0))
		for rest := text; len(rest) > 0; {
			n := 1 + rnd.IntN(len(rest))
			write(t, path, string(rest[:n]))
			rest = rest[n:]
			if rnd.IntN(3) > 0 {
				read()
			}
		}
		read()
		if !slices.Equal(got, want) {
			t.Fatalf("lines = %q, want %q", got, want)
		}
	})
}
