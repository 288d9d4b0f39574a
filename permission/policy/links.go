package policy

import "path"

// links are the symlinks that one analysis has read, so that it sees each path in
// one state and asks the kernel once. A nil *links remembers nothing.
type links struct {
	known []link
	// direct are paths without a link in them: the session's directory first.
	direct []string
	// lists is the memory of lists of paths.
	lists []string
	// bent: there is a link on the way of one, so that each part is asked for.
	bent bool
}

type link struct {
	path, target string
	gone         bool
}

// maxKnownLinks bounds what is looked through for each path; a request about more
// paths asks the kernel again.
const maxKnownLinks = 64

// room is a list of n empty texts, which nobody else appends to.
func (l *links) room(n int) []string {
	if l == nil {
		return make([]string, n)
	}
	from := len(l.lists)
	if from+n > cap(l.lists) {
		from, l.lists = 0, make([]string, 0, max(n, listBlock))
	}
	l.lists = l.lists[:from+n]
	return l.lists[from : from+n : from+n]
}

// listBlock is how many texts are asked memory for at once.
const listBlock = 96

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

// directPart is how much of the absolute path, whole segments, is known to have no
// symlink in it.
func (l *links) directPart(abs string) int {
	if l == nil {
		return 0
	}
	known := 0
	for _, d := range l.direct {
		if _, in := below(d, abs); in {
			return len(abs)
		}
		if _, in := below(abs, d); in {
			known = max(known, len(d))
		}
	}
	if l.bent || path.Clean(abs) != abs {
		return known
	}
	if !l.ask(abs) {
		// One link is mostly on the way of others as well.
		l.bent = true
		return known
	}
	return len(abs)
}

// lookAhead asks about the absolute path before it is wanted; a link on its way says
// nothing about others.
func (l *links) lookAhead(abs string) {
	if path.Clean(abs) == abs {
		l.ask(abs)
	}
}

// ask asks the kernel about an absolute, clean path, and remembers one without a link.
func (l *links) ask(abs string) bool {
	if !straight(abs) {
		return false
	}
	if l.direct == nil {
		l.direct = make([]string, 0, 4)
	}
	if len(l.direct) < maxKnownLinks {
		l.direct = append(l.direct, abs)
	}
	return true
}
