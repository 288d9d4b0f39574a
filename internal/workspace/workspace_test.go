package workspace

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// layout makes /w/app, /w/app-evil and /w/appx below a temporary directory and
// returns what stands for "/".
func layout(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		"w/app/a.txt", "w/app/sub/b.txt", "w/app/пример файл.txt", "w/app-evil/a.txt", "w/appx", "w/other/c.txt",
	} {
		write(t, filepath.Join(base, file), file)
	}
	return base
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
}

func open(t *testing.T, roots ...string) *Workspace {
	t.Helper()
	w, err := Open(roots...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestPrefixList is B199: the list of paths that a prefix compare gets wrong, for
// reading and for writing.
func TestPrefixList(t *testing.T) {
	base := layout(t)
	w := open(t, filepath.Join(base, "w/app"))
	list, err := os.Open("testdata/B199-prefix.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	seen := 0
	for in := bufio.NewScanner(list); in.Scan(); {
		verdict, path, ok := strings.Cut(in.Text(), " ")
		if !ok || verdict != "P" && verdict != "R" || strings.HasPrefix(path, "(") {
			continue // a heading, and the case without a root: see TestOpenRefuses
		}
		seen++
		path, _, _ = strings.Cut(path, " (")
		path = strings.NewReplacer(`""`, "", `\u0000`, "\x00").Replace(path)
		if strings.HasPrefix(path, "/") {
			path = base + path // not Join: it would clean the path
		}
		_, readErr := w.ReadText(path, 0, 0)
		writeErr := w.WriteText(path, "new")
		for how, err := range map[string]error{"read": readErr, "write": writeErr} {
			if permitted := err == nil; permitted != (verdict == "P") {
				t.Errorf("%s of %q: %v, want %s", how, path, err, verdict)
			}
		}
	}
	if seen < 12 {
		t.Errorf("the list has %d cases, want 12 at least", seen)
	}
	for file, want := range map[string]string{"w/app-evil/a.txt": "w/app-evil/a.txt", "w/appx": "w/appx", "w/app/a.txt": "new"} {
		if got := read(t, filepath.Join(base, file)); got != want {
			t.Errorf("%s holds %q, want %q", file, got, want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	base := layout(t)
	for _, test := range []struct {
		name  string
		roots []string
		want  error
	}{
		{"none", nil, ErrNoRoot},
		{"empty", []string{""}, ErrNoRoot},
		{"one of two empty", []string{filepath.Join(base, "w"), ""}, ErrNoRoot},
		{"relative", []string{"w"}, ErrRelative},
		{"dot", []string{"."}, ErrRelative},
		{"missing", []string{filepath.Join(base, "nope")}, fs.ErrNotExist},
		{"file", []string{filepath.Join(base, "w/appx")}, nil},
	} {
		w, err := Open(test.roots...)
		if err == nil || w != nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: Open(%q) = %v, %v; want %v", test.name, test.roots, w, err, test.want)
		}
	}
}

// TestLinks: what counts is where a path leads, not how it looks.
func TestLinks(t *testing.T) {
	base := layout(t)
	app, other := filepath.Join(base, "w/app"), filepath.Join(base, "w/other")
	link(t, "a.txt", filepath.Join(app, "rel"))
	link(t, filepath.Join(app, "a.txt"), filepath.Join(app, "abs"))
	link(t, "sub", filepath.Join(app, "dir"))
	link(t, filepath.Join(app, "sub"), filepath.Join(app, "absdir"))
	link(t, "../other/c.txt", filepath.Join(app, "out"))
	link(t, filepath.Join(other, "c.txt"), filepath.Join(app, "absout"))
	link(t, "../other", filepath.Join(app, "outdir"))
	link(t, "../app/a.txt", filepath.Join(app, "round"))
	link(t, "../nowhere", filepath.Join(app, "dangling-out"))
	link(t, "fresh.txt", filepath.Join(app, "dangling-in"))
	link(t, "loop", filepath.Join(app, "loop"))
	link(t, app, filepath.Join(base, "w/alias"))
	w := open(t, app)
	aliased := open(t, filepath.Join(base, "w/alias"))
	both := open(t, app, other)
	anyError := errors.New("any")
	for _, test := range []struct {
		name string
		w    *Workspace
		path string
		want string
		err  error
	}{
		{"relative link", w, "w/app/rel", "w/app/a.txt", nil},
		{"absolute link inside", w, "w/app/abs", "w/app/a.txt", nil},
		{"linked directory", w, "w/app/dir/b.txt", "w/app/sub/b.txt", nil},
		{"absolutely linked directory", w, "w/app/absdir/b.txt", "w/app/sub/b.txt", nil},
		{"out and in again", w, "w/app/round", "w/app/a.txt", nil},
		{"out", w, "w/app/out", "", ErrOutside},
		{"absolutely out", w, "w/app/absout", "", ErrOutside},
		{"through a directory out", w, "w/app/outdir/c.txt", "", ErrOutside},
		{"missing file behind a directory out", w, "w/app/outdir/nope", "", ErrOutside},
		{"dangling out", w, "w/app/dangling-out", "", ErrOutside},
		{"dangling in", w, "w/app/dangling-in", "", fs.ErrNotExist},
		{"into an alias of the root", w, "w/alias/a.txt", "", ErrOutside},
		{"the root is a link", aliased, "w/alias/a.txt", "w/app/a.txt", nil},
		{"the root is a link, the path isn't", aliased, "w/app/a.txt", "w/app/a.txt", nil},
		{"the root is a link and so is the file", aliased, "w/alias/abs", "w/app/a.txt", nil},
		{"second root", both, "w/other/c.txt", "w/other/c.txt", nil},
		{"from one root into the other", both, "w/app/absout", "w/other/c.txt", nil},
		{"beside both roots", both, "w/app-evil/a.txt", "", ErrOutside},
		{"missing", w, "w/app/nope", "", fs.ErrNotExist},
		{"below a file", w, "w/app/a.txt/x", "", anyError},
		{"loop", w, "w/app/loop", "", anyError},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.w.ReadText(filepath.Join(base, test.path), 0, 0)
			if test.err == anyError {
				if err == nil {
					t.Errorf("ReadText(%s) = %q, want an error", test.path, got)
				}
				return
			}
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("ReadText(%s) = %q, %v; want %q, %v", test.path, got, err, test.want, test.err)
			}
		})
	}
}

func TestWriteThroughLinks(t *testing.T) {
	base := layout(t)
	app, other := filepath.Join(base, "w/app"), filepath.Join(base, "w/other")
	link(t, filepath.Join(app, "a.txt"), filepath.Join(app, "abs"))
	link(t, filepath.Join(other, "c.txt"), filepath.Join(app, "absout"))
	link(t, "../other", filepath.Join(app, "outdir"))
	link(t, "../nowhere", filepath.Join(app, "dangling-out"))
	link(t, filepath.Join(base, "w/nowhere"), filepath.Join(app, "dangling-absout"))
	link(t, "sub/fresh.txt", filepath.Join(app, "dangling-in"))
	w := open(t, app)
	for _, path := range []string{"abs", "dangling-in"} {
		if err := w.WriteText(filepath.Join(app, path), "by link"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if info, err := os.Lstat(filepath.Join(app, path)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s isn't a link any more", path)
		}
	}
	for _, path := range []string{"a.txt", "sub/fresh.txt"} {
		if got := read(t, filepath.Join(app, path)); got != "by link" {
			t.Errorf("%s = %q, want what was written by its link", path, got)
		}
	}
	for _, path := range []string{"absout", "outdir/c.txt", "outdir/new", "outdir/new/new", "dangling-out", "dangling-absout"} {
		if err := w.WriteText(filepath.Join(app, path), "evil"); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v, want ErrOutside", path, err)
		}
	}
	if got := read(t, filepath.Join(other, "c.txt")); got != "w/other/c.txt" {
		t.Errorf("a file outside was written: %q", got)
	}
	entries, _ := os.ReadDir(other)
	if _, err := os.Lstat(filepath.Join(base, "w/nowhere")); len(entries) != 1 || err == nil {
		t.Errorf("something was made outside: %v, %v", entries, err)
	}
}

func TestDir(t *testing.T) {
	base := layout(t)
	app, other := filepath.Join(base, "w/app"), filepath.Join(base, "w/other")
	link(t, "sub", filepath.Join(app, "dir"))
	link(t, "..", filepath.Join(app, "up"))
	w := open(t, app, other)
	for _, test := range []struct {
		path, want string
		err        error
	}{
		{"", app, nil},
		{app, app, nil},
		{app + "/sub/..", app, nil},
		{filepath.Join(app, "dir"), filepath.Join(app, "sub"), nil},
		{other, other, nil},
		{filepath.Join(app, "up"), "", ErrOutside},
		{base, "", ErrOutside},
		{"sub", "", ErrRelative},
		{filepath.Join(app, "nope"), "", fs.ErrNotExist},
	} {
		if got, err := w.Dir(test.path); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("Dir(%q) = %q, %v; want %q, %v", test.path, got, err, test.want, test.err)
		}
	}
	if got, err := w.Dir(filepath.Join(app, "a.txt")); err == nil {
		t.Errorf("Dir of a file = %q, want an error", got)
	}
}

func TestReadLines(t *testing.T) {
	base := layout(t)
	path := filepath.Join(base, "w/app/lines")
	write(t, path, "one\ntwo\r\n\nfour")
	w := open(t, filepath.Join(base, "w/app"))
	for _, test := range []struct {
		line, limit int
		want        string
	}{
		{0, 0, "one\ntwo\r\n\nfour"},
		{1, 0, "one\ntwo\r\n\nfour"},
		{1, 1, "one\n"},
		{0, 2, "one\ntwo\r\n"},
		{2, 2, "two\r\n\n"},
		{3, 1, "\n"},
		{4, 0, "four"},
		{4, 1, "four"},
		{4, 100, "four"},
		{5, 0, ""},
		{1000000000, 1, ""},
		{1, 1000000000, "one\ntwo\r\n\nfour"},
	} {
		got, err := w.ReadText(path, test.line, test.limit)
		if err != nil || got != test.want {
			t.Errorf("ReadText(line %d, limit %d) = %q, %v; want %q", test.line, test.limit, got, err, test.want)
		}
	}
	for _, bad := range [][2]int{{-1, 0}, {0, -1}} {
		if got, err := w.ReadText(path, bad[0], bad[1]); err == nil {
			t.Errorf("ReadText(line %d, limit %d) = %q, want an error", bad[0], bad[1], got)
		}
	}
}

// FuzzCut: pieces of any size make up the text.
func FuzzCut(f *testing.F) {
	f.Add("a\nb\r\n\nc", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = size&7 + 1
		var whole strings.Builder
		for line := 1; line <= strings.Count(text, "\n")+1; line += size {
			piece := cut(text, line, size)
			if strings.Count(piece, "\n") > size {
				t.Errorf("cut(%q, %d, %d) = %q, too many lines", text, line, size, piece)
			}
			whole.WriteString(piece)
		}
		if whole.String() != text {
			t.Errorf("the pieces of %q make up %q", text, whole.String())
		}
	})
}

// FuzzLocate: whatever the path, what is found lies inside, and never where the
// file outside is.
func FuzzLocate(f *testing.F) {
	for _, seed := range []string{"a.txt", "../app-evil/a.txt", "out", "outdir/../a.txt", "dir/./../..//x", "loop/x", "\x00"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	base, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	app := filepath.Join(base, "w", "app")
	outside := filepath.Join(base, "w", "app-evil")
	for _, dir := range []string{filepath.Join(app, "sub"), outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			f.Fatal(err)
		}
	}
	for path, target := range map[string]string{"out": "../app-evil/a.txt", "outdir": "../app-evil", "dir": "sub", "loop": "loop", "up": ".."} {
		if err := os.Symlink(target, filepath.Join(app, path)); err != nil {
			f.Skipf("needs symbolic links: %v", err)
		}
	}
	for _, path := range []string{filepath.Join(app, "a.txt"), filepath.Join(outside, "a.txt")} {
		if err := os.WriteFile(path, []byte(path), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	w, err := Open(app)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { w.Close() })
	f.Fuzz(func(t *testing.T, path string, below bool) {
		if below {
			path = app + "/" + path
		}
		if text, err := w.ReadText(path, 0, 0); err == nil && !strings.HasPrefix(text, app+"/") {
			t.Errorf("ReadText(%q) = %q, which is outside", path, text)
		}
		if dir, err := w.Dir(path); err == nil && !inside(app, dir) {
			t.Errorf("Dir(%q) = %q, which is outside", path, dir)
		}
	})
}

func TestErrorsNameThePath(t *testing.T) {
	base := layout(t)
	w := open(t, filepath.Join(base, "w/app"))
	path := filepath.Join(base, "w/app/nope")
	_, err := w.ReadText(path, 0, 0)
	if got := err.Error(); strings.Count(got, path) != 1 || !strings.HasPrefix(got, "reading ") {
		t.Errorf("error %q, want the path once", got)
	}
	err = w.WriteText(filepath.Join(base, "w/other/x"), "")
	if got, want := err.Error(), `writing "`+filepath.Join(base, "w/other/x")+`": path is outside of the workspace`; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}
