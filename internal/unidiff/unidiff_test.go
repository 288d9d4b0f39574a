package unidiff

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	for name, c := range map[string]struct {
		oldPath, newPath, old, new string
		patch                      string
		adds, dels                 int
	}{
		"modified": {"f", "f", "l1\nl2\n", "L1\nl2\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-l1\n+L1\n l2\n", 1, 1},
		"added":    {"", "n.txt", "", "l1\nl2\n", "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+l1\n+l2\n", 2, 0},
		"deleted":  {"d", "", "x\n", "", "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", 0, 1},
		"renamed":  {"o", "n", "x\n", "x\n", "--- a/o\n+++ b/n\n", 0, 0},
		"no line end, old": {
			"f", "f", "a\nb", "a\nb\n",
			"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", 1, 1,
		},
		"no line end, both": {
			"f", "f", "a\nb", "c\nb",
			"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n", 1, 1,
		},
		"equal":    {"f", "f", "a\n", "a\n", "", 0, 0},
		"empty":    {"", "f", "", "", "--- /dev/null\n+++ b/f\n", 0, 0},
		"emptied":  {"f", "f", "a\n", "", "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n", 0, 1},
		"absolute": {"/tmp/f", "/tmp/f", "a\n", "b\n", "--- /tmp/f\n+++ /tmp/f\n@@ -1 +1 @@\n-a\n+b\n", 1, 1},
		"odd name": {"a b\n", "a b\n", "a\n", "b\n", "--- \"a/a b\\n\"\n+++ \"b/a b\\n\"\n@@ -1 +1 @@\n-a\n+b\n", 1, 1},
		"binary":   {"f", "f", "a\x00", "b\x00", "Binary files a/f and b/f differ\n", 0, 0},
		"crlf":     {"f", "f", "a\r\nb\r\n", "a\r\nc\r\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", 1, 1},
	} {
		got := Diff(c.oldPath, c.newPath, c.old, c.new)
		if got.Patch != c.patch || got.Additions != c.adds || got.Deletions != c.dels {
			t.Errorf("%s: +%d -%d\n%q, want +%d -%d\n%q", name, got.Additions, got.Deletions, got.Patch, c.adds, c.dels, c.patch)
		}
	}
}

// TestHunks: two changes six lines apart share a hunk, seven lines apart do not.
func TestHunks(t *testing.T) {
	for gap, want := range map[int]int{6: 1, 7: 2} {
		var old, changed strings.Builder
		for i := range gap + 22 {
			line := strconv.Itoa(i) + "\n"
			old.WriteString(line)
			if i == 10 || i == 11+gap {
				line = "x" + line
			}
			changed.WriteString(line)
		}
		f := Diff("f", "f", old.String(), changed.String())
		if n := strings.Count(f.Patch, "@@ -"); n != want {
			t.Errorf("gap of %d: %d hunks, want %d\n%s", gap, n, want, f.Patch)
		}
	}
}

// apply is an independent reading of the format.
func apply(t *testing.T, old, patch string) string {
	t.Helper()
	src := lines(old)
	var out strings.Builder
	pos := 0
	var last string
	for _, l := range lines(patch)[2:] {
		switch l[0] {
		case '@':
			f := strings.Fields(l)
			start, n, has := strings.Cut(f[1][1:], ",")
			at, _ := strconv.Atoi(start)
			if !has || n != "0" {
				at--
			}
			for ; pos < at; pos++ {
				out.WriteString(src[pos])
			}
		case ' ', '-':
			want := l[1:]
			if pos >= len(src) || strings.TrimSuffix(src[pos], "\n") != strings.TrimSuffix(want, "\n") {
				t.Fatalf("line %d does not match %q in\n%s", pos, l, patch)
			}
			if l[0] == ' ' {
				out.WriteString(src[pos])
			}
			pos++
		case '+':
			out.WriteString(l[1:])
		case '\\':
			if last[0] == '+' {
				s := strings.TrimSuffix(out.String(), "\n")
				out.Reset()
				out.WriteString(s)
			}
		}
		last = l
	}
	for ; pos < len(src); pos++ {
		out.WriteString(src[pos])
	}
	return out.String()
}

func text(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(30) {
		b.WriteString(strings.Repeat("-", r.IntN(4)) + string(rune('a'+r.IntN(4))) + "\n")
	}
	s := b.String()
	if r.IntN(3) == 0 {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

func TestApplies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a, b := text(r), text(r)
		f := Diff("f", "f", a, b)
		if a == b {
			continue
		}
		if got := apply(t, a, f.Patch); got != b {
			t.Fatalf("%q -> %q: applied gives %q\n%s", a, b, got, f.Patch)
		}
		back := Read(f.Patch)
		if len(back) != 1 || back[0] != f {
			t.Fatalf("Read gives %+v, want %+v", back, f)
		}
	}
}

func TestGitApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed; TestApplies checks the format by itself")
	}
	r := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	for range 25 {
		a, b := text(r), text(r)
		f := Diff("f x", "f x", a, b)
		if a == b {
			continue
		}
		file := filepath.Join(dir, "f x")
		if err := os.WriteFile(file, []byte(a), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "apply", "--unidiff-zero", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(f.Patch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v\n%s\n%s", err, out, f.Patch)
		}
		if got, _ := os.ReadFile(file); string(got) != b {
			t.Fatalf("git made %q, want %q", got, b)
		}
	}
}

func TestBounded(t *testing.T) {
	var a, b strings.Builder
	for i := range 20000 {
		a.WriteString("a" + strconv.Itoa(i) + "\n")
		b.WriteString("b" + strconv.Itoa(i) + "\n")
	}
	f := Diff("f", "f", a.String(), b.String())
	if f.Additions != 20000 || f.Deletions != 20000 || apply(t, a.String(), f.Patch) != b.String() {
		t.Errorf("+%d -%d, want 20000 each and a patch that applies", f.Additions, f.Deletions)
	}
}

func TestRead(t *testing.T) {
	// As opencode writes it.
	svn := "Index: /w/new.txt\n=====\n--- /w/new.txt\n+++ /w/new.txt\n@@ -1,2 +1,2 @@\n-l1\n+L1\n l2\n"
	// As qwen writes it, then git's form, with lines that look like headers.
	two := "Index: new.txt\n===\n--- new.txt\tOriginal\n+++ new.txt\tWritten\n@@ -0,0 +1,2 @@\n+l1\n+l2\n" +
		"diff --git a/x b/x\nindex 0..1\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n--- a\n-++ b\n"
	for name, c := range map[string]struct {
		patch string
		want  []File
	}{
		"svn": {svn, []File{{"/w/new.txt", "/w/new.txt", "--- /w/new.txt\n+++ /w/new.txt\n@@ -1,2 +1,2 @@\n-l1\n+L1\n l2\n", 1, 1}}},
		"two": {two, []File{
			{"new.txt", "new.txt", "--- a/new.txt\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+l1\n+l2\n", 2, 0},
			{"x", "", "--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n--- a\n-++ b\n", 0, 2},
		}},
		"no end":       {"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y", []File{{"a", "b", "--- a/a\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n", 1, 1}}},
		"trimmed":      {"--- a\n+++ a\n@@ -1,2 +1,2 @@\n\n-x\n+y\n", []File{{"a", "a", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n \n-x\n+y\n", 1, 1}}},
		"nothing":      {"hello\n@@ -1 +1 @@\n-a\n+b\n", nil},
		"header only":  {"--- a\n+++ b\n", nil},
		"broken count": {"--- a\n+++ b\n@@ -x +y @@\n-a\n", nil},
	} {
		got := Read(c.patch)
		if len(got) != len(c.want) {
			t.Errorf("%s: %d files, want %d", name, len(got), len(c.want))
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %#v\nwant %#v", name, got[i], c.want[i])
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file\n")
	f.Add("Index: q\n--- \"a\\\"b\"\n+++ q\tx\n@@ -0,0 +1 @@\n+\xff\n")
	f.Fuzz(func(t *testing.T, patch string) {
		for _, file := range Read(patch) {
			again := Read(file.Patch)
			if len(again) != 1 || again[0].Additions != file.Additions || again[0].Deletions != file.Deletions {
				t.Fatalf("%q reads as %#v, and that as %#v", patch, file, again)
			}
		}
	})
}
