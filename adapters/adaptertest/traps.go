package adaptertest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// trapSection is the heading of the table that Traps checks.
const trapSection = "## Traps and their tests"

// Traps checks the table in a document's section "Traps and their tests", so that
// it cannot rot: its last two cells say where a trap is handled and which tests
// fail without that. In both all code spans count.
//
//   - `file.go` is a file; the spans after it that are no files are words in it.
//   - `TestName` is a test, `TestName/subtest` one of its cases, of which the
//     beginning of the name is enough; `dir TestName` is one of another package.
//
// A file or dir without a slash is of the package that is being tested, whose
// directory is the working directory; with one it is relative to root.
func Traps(t *testing.T, doc, root string) {
	t.Helper()
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	rows, faults := 0, []string(nil)
	read := func(name string) string {
		if strings.Contains(name, "/") {
			name = filepath.Join(root, filepath.FromSlash(name))
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return ""
		}
		return string(data)
	}
	tests := func(dir string) string {
		at := "."
		if dir != "" {
			at = filepath.Join(root, filepath.FromSlash(dir))
		}
		var all strings.Builder
		files, _ := filepath.Glob(filepath.Join(at, "*_test.go"))
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
		return all.String()
	}
	_, section, found := strings.Cut(string(text), trapSection)
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if cells, ok := trapRow(line); ok {
			rows++
			faults = append(faults, trapFaults(cells, read, tests)...)
		}
	}
	if !found || rows == 0 {
		t.Fatalf("%s has no table in a section %q", doc, trapSection)
	}
	for _, f := range faults {
		t.Errorf("%s: %s", path.Base(doc), f)
	}
}

// trapRow is the cells of a line of the table, false for its head and for others.
func trapRow(line string) (cells []string, ok bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") {
		return nil, false
	}
	cells = strings.Split(strings.Trim(line, "|"), "|")
	return cells, len(cells) < 3 || strings.TrimSpace(cells[len(cells)-1]) != "tests"
}

// trapFaults says what of a row is not there. read gives a file's text, empty when
// there is none; tests gives the text of all tests of a directory.
func trapFaults(cells []string, read, tests func(string) string) []string {
	trap := strings.TrimSpace(cells[0])
	if len(cells) < 3 {
		return []string{trap + ": want a trap, what is done, where, and its tests"}
	}
	var out []string
	fault := func(format string, args ...any) { out = append(out, trap+": "+fmt.Sprintf(format, args...)) }
	text := ""
	where := spans(cells[len(cells)-2])
	for _, word := range where {
		switch {
		case strings.HasSuffix(word, ".go"):
			if text = read(word); text == "" {
				fault("there is no file %s", word)
			}
		case !strings.Contains(text, word):
			fault("%s is not in the file before it", word)
		}
	}
	named := spans(cells[len(cells)-1])
	for _, word := range named {
		dir, name, elsewhere := strings.Cut(word, " ")
		if !elsewhere || !strings.HasPrefix(name, "Test") {
			dir, name = "", word
		}
		name, sub, _ := strings.Cut(name, "/")
		switch have := tests(dir); {
		case !strings.Contains(have, "func "+name+"("):
			fault("there is no test %s", word)
		case sub != "" && !strings.Contains(have, `"`+sub):
			fault("%s has no case that begins with %q", name, sub)
		}
	}
	if len(where) == 0 || len(named) == 0 {
		fault("want where it is handled, and a test")
	}
	return out
}

// spans are the code spans of a cell.
func spans(cell string) []string {
	var out []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}
