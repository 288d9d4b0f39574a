package unidiff

import (
	"strconv"
	"strings"
)

// context is the number of unchanged lines around a change.
const context = 3

// File is one file's change.
type File struct {
	// OldPath and NewPath are the file's names before and after. An empty OldPath
	// means that the file is new, an empty NewPath that it is deleted.
	OldPath, NewPath string
	// Patch is the unified diff with its two header lines, empty when nothing
	// changed.
	Patch                string
	Additions, Deletions int
}

// Diff compares two texts. An empty oldPath means that the file was not there,
// an empty newPath that it is gone; the text is ignored then.
func Diff(oldPath, newPath, oldText, newText string) File {
	if oldPath == "" {
		oldText = ""
	}
	if newPath == "" {
		newText = ""
	}
	f := File{OldPath: oldPath, NewPath: newPath}
	if binary(oldText) || binary(newText) {
		if oldText != newText {
			f.Patch = "Binary files " + header("a/", oldPath) + " and " + header("b/", newPath) + " differ\n"
		}
		return f
	}
	if oldText == newText && oldPath == newPath {
		return f
	}
	a, b := lines(oldText), lines(newText)
	var body strings.Builder
	for _, h := range hunks(script(intern(a, b))) {
		h.write(&body, &f, a, b)
	}
	f.Patch = Header(oldPath, newPath) + body.String()
	return f
}

// binary uses git's rule: a NUL in the first 8,000 bytes.
func binary(s string) bool { return strings.IndexByte(s[:min(len(s), 8000)], 0) >= 0 }

// lines splits a text after each line feed. The last line may lack it.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	list := strings.SplitAfter(s, "\n")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// intern gives equal lines equal numbers.
func intern(a, b []string) (x, y []int) {
	ids := make(map[string]int, len(a))
	number := func(list []string) []int {
		out := make([]int, len(list))
		for i, line := range list {
			id, ok := ids[line]
			if !ok {
				id = len(ids)
				ids[line] = id
			}
			out[i] = id
		}
		return out
	}
	return number(a), number(b)
}

// hunk is a run of stretches with the context around them.
type hunk struct {
	oldFrom, newFrom int // lines before the hunk
	ops              []op
}

// hunks groups changes that are at most two contexts apart.
func hunks(ops []op) []hunk {
	var list []hunk
	var h hunk
	oldLine, newLine := 0, 0
	for i, o := range ops {
		n := o.to - o.from
		switch {
		case o.kind != ' ':
			h.ops = append(h.ops, o)
		case len(h.ops) == 0: // before the first change
			skip := max(0, n-context)
			h = hunk{oldLine + skip, newLine + skip, []op{{' ', o.from + skip, o.to}}}
		case i == len(ops)-1:
			h.ops = append(h.ops, op{' ', o.from, o.from + min(n, context)})
		case n <= 2*context:
			h.ops = append(h.ops, o)
		default:
			h.ops = append(h.ops, op{' ', o.from, o.from + context})
			list = append(list, h)
			skip := n - context
			h = hunk{oldLine + skip, newLine + skip, []op{{' ', o.from + skip, o.to}}}
		}
		if o.kind != '+' {
			oldLine += n
		}
		if o.kind != '-' {
			newLine += n
		}
	}
	for _, o := range h.ops {
		if o.kind != ' ' {
			return append(list, h)
		}
	}
	return list
}

func (h hunk) write(w *strings.Builder, f *File, a, b []string) {
	oldLines, newLines := 0, 0
	for _, o := range h.ops {
		if o.kind != '+' {
			oldLines += o.to - o.from
		}
		if o.kind != '-' {
			newLines += o.to - o.from
		}
	}
	w.WriteString("@@ -" + span(h.oldFrom, oldLines) + " +" + span(h.newFrom, newLines) + " @@\n")
	for _, o := range h.ops {
		text := a
		switch o.kind {
		case '+':
			text = b
			f.Additions += o.to - o.from
		case '-':
			f.Deletions += o.to - o.from
		}
		for _, line := range text[o.from:o.to] {
			w.WriteByte(o.kind)
			w.WriteString(line)
			if !strings.HasSuffix(line, "\n") {
				w.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
}

// span writes "start,count" as POSIX diff -u has it: the count 1 is left out, and
// an empty range names the line before it.
func span(before, n int) string {
	switch n {
	case 0:
		return strconv.Itoa(before) + ",0"
	case 1:
		return strconv.Itoa(before + 1)
	}
	return strconv.Itoa(before+1) + "," + strconv.Itoa(n)
}

// Header returns the two header lines of a patch. A relative path gets git's
// prefix; an absolute one stands as it is.
func Header(oldPath, newPath string) string {
	return "--- " + header("a/", oldPath) + "\n+++ " + header("b/", newPath) + "\n"
}

func header(prefix, path string) string {
	if path == "" {
		return "/dev/null"
	}
	if !strings.HasPrefix(path, "/") {
		path = prefix + path
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return strconv.Quote(path) // git's C-style quoting, so that no name can break the line
	}
	if strings.Contains(path, " ") {
		return path + "\t" // ends the name for GNU patch, as git writes it
	}
	return path
}
