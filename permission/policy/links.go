package policy

import "strings"

// links are the symlinks that one analysis has read, so that it sees each path in
// one state and asks the kernel once. A nil *links remembers nothing.
type links struct {
	known []link
	// direct are directories that no link leads to: the session's first.
	direct []string
}

type link struct {
	path, target string
	gone         bool
}

// maxKnownLinks bounds what is looked through for each path; a request about more
// paths asks the kernel again.
const maxKnownLinks = 64

// read gives what the symlink path leads to, "" when it is no link; gone says that
// there is nothing of that name.
func (l *links) read(path string) (target string, gone bool) {
	if l == nil {
		return readlink(path)
	}
	for i := range l.known {
		if k := &l.known[i]; k.path == path {
			return k.target, k.gone
		}
	}
	target, gone = readlink(path)
	if l.known == nil {
		l.known = make([]link, 0, 4)
	}
	if len(l.known) < maxKnownLinks {
		l.known = append(l.known, link{path, target, gone})
	}
	return target, gone
}

// directPart is how much of the absolute path, whole segments, is known to exist
// without a link in it.
func (l *links) directPart(path string) int {
	if l == nil {
		return 0
	}
	known := 0
	for _, d := range l.direct {
		if _, in := below(path, d); in {
			known = max(known, len(d))
		}
	}
	// The last one or two segments are asked for one by one just as well.
	if strings.Count(path[known:], "/") < 3 || !plainPath(path) || !straight(path) {
		return known
	}
	if len(l.direct) < maxKnownLinks {
		l.direct = append(l.direct, path)
	}
	return len(path)
}

// plainPath reports whether path is clean as it stands; a name that begins with a
// dot is not looked at closely.
func plainPath(path string) bool {
	return !strings.Contains(path, "//") && !strings.Contains(path, "/.") && !strings.HasSuffix(path, "/")
}
