package unidiff

import (
	"strconv"
	"strings"
)

// Read splits a patch into its files. Headers of git, Subversion ("Index:") and
// plain diff -u are understood, names are returned without git's a/ and b/ and
// without time stamps; Patch holds the hunks under a header of this package. Text
// that is no part of a file's hunks is dropped. A patch without a single hunk
// gives nothing.
func Read(patch string) []File {
	r := reader{}
	for _, line := range lines(patch) {
		r.take(line)
	}
	r.finish()
	return r.files
}

type reader struct {
	files            []File
	oldName, newName string
	named            bool // both header lines were seen
	hunks            strings.Builder
	adds, dels       int
	oldLeft, newLeft int // lines that the current hunk still has
}

func (r *reader) take(line string) {
	text := strings.TrimRight(line, "\r\n")
	switch {
	case r.oldLeft > 0 || r.newLeft > 0:
		r.body(line)
	case strings.HasPrefix(text, `\ `):
		if r.hunks.Len() > 0 {
			r.hunks.WriteString(line)
		}
	case strings.HasPrefix(text, "--- "):
		r.finish()
		r.oldName = name(text[4:], "a/")
	case strings.HasPrefix(text, "+++ ") && r.hunks.Len() == 0:
		r.newName, r.named = name(text[4:], "b/"), true
	case strings.HasPrefix(text, "@@ ") && r.named:
		if r.oldLeft, r.newLeft = counts(text); r.oldLeft+r.newLeft > 0 {
			r.hunks.WriteString(text + "\n")
		}
	}
}

// body takes a line of a hunk.
func (r *reader) body(line string) {
	switch line[0] {
	case '+':
		r.newLeft--
		r.adds++
	case '-':
		r.oldLeft--
		r.dels++
	case '\\':
	default: // a context line; some writers trim the blank of an empty one
		r.oldLeft--
		r.newLeft--
		if line == "\n" || line == "\r\n" {
			line = " " + line
		}
	}
	r.hunks.WriteString(line)
	if !strings.HasSuffix(line, "\n") {
		r.hunks.WriteString("\n")
	}
}

func (r *reader) finish() {
	if r.hunks.Len() > 0 {
		r.files = append(r.files, File{
			OldPath: r.oldName, NewPath: r.newName, Additions: r.adds, Deletions: r.dels,
			Patch: Header(r.oldName, r.newName) + r.hunks.String(),
		})
	}
	*r = reader{files: r.files}
}

// name reads a file name of a header line.
func name(s, prefix string) string {
	if strings.HasPrefix(s, `"`) {
		if q, err := strconv.QuotedPrefix(s); err == nil {
			s, _ = strconv.Unquote(q)
		}
	} else if i := strings.IndexByte(s, '\t'); i >= 0 {
		s = s[:i]
	}
	if s == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(s, prefix)
}

// counts reads the line counts of "@@ -1,2 +3,4 @@". It gives zeros for what it
// cannot read.
func counts(s string) (oldLines, newLines int) {
	f := strings.Fields(s)
	if len(f) < 4 || f[0] != "@@" {
		return 0, 0
	}
	oldLines, ok1 := count(f[1], "-")
	newLines, ok2 := count(f[2], "+")
	if !ok1 || !ok2 {
		return 0, 0
	}
	return oldLines, newLines
}

// count reads "-1,2"; without a comma the count is 1.
func count(s, sign string) (n int, ok bool) {
	s, ok = strings.CutPrefix(s, sign)
	start, rest, has := strings.Cut(s, ",")
	if !has {
		rest = "1"
	}
	n, err := strconv.Atoi(rest)
	_, bad := strconv.Atoi(start)
	return n, ok && err == nil && bad == nil && n >= 0
}

// Shift moves all hunks of a patch down by n lines: for a patch of a snippet
// whose place in the file is known.
func Shift(patch string, n int) string {
	var b strings.Builder
	oldLeft, newLeft := 0, 0
	for _, line := range lines(patch) {
		if oldLeft > 0 || newLeft > 0 {
			switch line[0] {
			case '+':
				newLeft--
			case '-':
				oldLeft--
			case '\\':
			default:
				oldLeft--
				newLeft--
			}
		} else if f := strings.Fields(line); len(f) >= 4 && f[0] == "@@" {
			oldLeft, newLeft = counts(strings.TrimRight(line, "\n"))
			line = "@@ " + shifted(f[1], n) + " " + shifted(f[2], n) + " @@\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// shifted moves "-1,2" by n lines.
func shifted(s string, n int) string {
	start, rest, has := strings.Cut(s[1:], ",")
	at, err := strconv.Atoi(start)
	if err != nil {
		return s
	}
	s = s[:1] + strconv.Itoa(at+n)
	if has {
		s += "," + rest
	}
	return s
}
