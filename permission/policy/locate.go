package policy

import (
	"os"
	"path"
	"slices"
	"strings"
)

const (
	// maxPath is longer than any path a kernel takes (PATH_MAX is 4096).
	maxPath = 8192
	// maxLinks is how many symlinks a kernel follows before it gives up, and so
	// do we: the path is not allowed.
	maxLinks = 40
)

// place is where a path leads.
type place struct {
	// raw is the path as the agent gave it.
	raw string
	// lexical are the readings of raw as an absolute, clean path, real the same
	// with symlinks resolved. Parts that do not exist are kept as they are.
	lexical, real []string
	// wide are all of them folded.
	wide []string
	// why says why it must not be allowed, empty when it may.
	why string
}

// locate finds where raw leads from cwd. It reads symlinks and nothing else.
func (e Env) locate(raw, cwd string) place {
	p := place{raw: raw}
	if p.why = e.oddPath(raw); p.why != "" && p.why != oddURL {
		return p
	}
	// Nearly every path has one reading: one piece of memory for the three lists.
	room := e.links.room(6)
	p.lexical, p.real, p.wide = room[0:0:1], room[1:1:3], room[3:3:6]
	var two [2]string
	for _, abs := range e.readings(two[:0], raw, cwd) {
		// A program that cleans the path first takes the ".." off before the link,
		// the kernel follows the link before it goes up.
		clean := path.Clean(abs)
		p.lexical = addNew(p.lexical, clean)
		p.follow(e, clean)
		if strings.Contains(abs, "/../") || strings.HasSuffix(abs, "/..") {
			p.follow(e, abs)
		}
	}
	if len(p.real) == 0 && p.why == "" {
		p.why = "it is relative, and the session has no directory"
	}
	p.widen()
	return p
}

func (p *place) widen() {
	for _, s := range p.lexical {
		p.wide = addNew(p.wide, fold(s))
	}
	for _, s := range p.real {
		if !slices.Contains(p.lexical, s) {
			p.wide = addNew(p.wide, fold(s))
		}
	}
}

func (p *place) follow(e Env, abs string) {
	real, why := e.resolve(abs)
	if p.why == "" {
		p.why = why
	}
	p.real = addNew(p.real, real)
}

const oddURL = "it is an address, not a path"

// oddPath says why raw is no path that can be compared.
func (e Env) oddPath(raw string) string {
	switch {
	case strings.TrimSpace(raw) == "":
		return "the path is empty"
	case len(raw) > maxPath:
		return "the path is too long"
	case strings.IndexByte(raw, 0) >= 0:
		return "the path holds a NUL"
	case strings.HasPrefix(fold(raw), "file:") || strings.Contains(raw, "://"):
		return oddURL
	}
	if e.Windows {
		return oddWindows(raw)
	}
	return ""
}

// oddWindows says why raw may be another spelling of a path.
func oddWindows(raw string) string {
	s := strings.ReplaceAll(raw, `\`, "/")
	if strings.HasPrefix(s, "//?/") || strings.HasPrefix(s, "//./") {
		return "it is a device path"
	}
	if len(s) > 1 && s[1] == ':' {
		s = s[2:]
	}
	for _, seg := range strings.Split(s, "/") {
		switch {
		case strings.Contains(seg, ":"):
			return "it names a stream of a file"
		case seg != "." && seg != ".." && strings.TrimRight(seg, ". ") != seg:
			return "it ends in a dot or blank, which Windows leaves out"
		case strings.Contains(seg, "~") && strings.Trim(seg[strings.LastIndexByte(seg, '~')+1:], "0123456789") != seg[strings.LastIndexByte(seg, '~')+1:]:
			return "it may be a short name"
		}
	}
	return ""
}

// readings appends the absolute paths that raw may mean to out.
func (e Env) readings(out []string, raw, cwd string) []string {
	if e.Windows {
		raw, cwd = strings.ReplaceAll(raw, `\`, "/"), strings.ReplaceAll(cwd, `\`, "/")
	}
	if strings.HasPrefix(fold(raw), "file:") {
		raw = "/" + strings.TrimLeft(raw[len("file:"):], "/")
	}
	if e.isAbs(raw) {
		return append(out, raw)
	}
	home := e.Home != "" && (raw == "~" || strings.HasPrefix(raw, "~/"))
	if home {
		out = append(out, e.Home+raw[1:])
	}
	// Some tools expand ~, others take it for a name, which there mostly is not.
	if e.isAbs(cwd) && (!home || exists(cwd+"/~")) {
		out = append(out, cwd+"/"+raw)
	}
	return out
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

func (e Env) isAbs(p string) bool {
	if e.Windows {
		return len(p) > 2 && p[1] == ':' && p[2] == '/' || strings.HasPrefix(p, "//")
	}
	return strings.HasPrefix(p, "/")
}

// resolve follows the symlinks of an absolute path the way a kernel does.
func (e Env) resolve(abs string) (string, string) {
	root, rest := "/", strings.TrimPrefix(abs, "/")
	if e.Windows && len(abs) > 2 && abs[1] == ':' {
		root, rest = abs[:2]+"/", strings.TrimPrefix(abs[2:], "/")
	}
	done := root
	if !e.Windows {
		if n := e.links.directPart(abs); n > 0 {
			done, rest = abs[:n], abs[n:]
		}
	}
	links, exists := 0, true
	for rest != "" {
		var seg string
		seg, rest, _ = strings.Cut(rest, "/")
		switch seg {
		case "", ".":
			continue
		case "..":
			done, exists = up(done, root), true
			continue
		}
		next := joinAs(abs, done, seg)
		if !exists {
			done = next
			continue
		}
		if magic(next) {
			return next, "it leads through /proc or /dev/fd to a place that only the agent's process knows"
		}
		target, gone := e.links.read(next)
		if target == "" {
			// No link, or nothing there. What cannot be looked into is taken as it
			// stands: whoever may not look cannot open it either.
			exists = !gone
			done = next
			continue
		}
		if links++; links > maxLinks {
			return next, "it leads through too many symlinks"
		}
		if e.Windows {
			target = strings.ReplaceAll(target, `\`, "/")
		}
		if e.isAbs(target) {
			done = root
			target = strings.TrimPrefix(strings.TrimPrefix(target, root), "/")
		}
		rest = target + "/" + rest
		if len(rest) > maxPath {
			return next, "it leads through too many symlinks"
		}
	}
	return done, ""
}

// magic reports whether p is a link of the kernel that means something else for
// each process.
func magic(p string) bool {
	if p == "/dev/fd" || p == "/dev/stdin" || p == "/dev/stdout" || p == "/dev/stderr" {
		return true
	}
	if !strings.HasPrefix(p, "/proc/") {
		return false
	}
	switch path.Base(p) {
	case "self", "thread-self", "cwd", "root", "exe", "fd", "map_files":
		return true
	}
	return false
}

func up(p, root string) string {
	if p == root {
		return root
	}
	i := strings.LastIndexByte(p, '/')
	if i < len(root) {
		return root
	}
	return p[:i]
}

func join(dir, seg string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + seg
	}
	return dir + "/" + seg
}

// joinAs is join; where abs begins with it, it takes no memory of its own.
func joinAs(abs, dir, seg string) string {
	n := len(dir)
	if n > 0 && dir[n-1] == '/' {
		n--
	}
	end := n + 1 + len(seg)
	if end <= len(abs) && abs[n] == '/' && abs[n+1:end] == seg && abs[:n] == dir[:n] {
		return abs[:end]
	}
	return join(dir, seg)
}

func addNew(list []string, s string) []string {
	for _, x := range list {
		if x == s {
			return list
		}
	}
	return append(list, s)
}

// below gives p relative to dir, and whether it is in it; dir itself is "".
func below(p, dir string) (string, bool) {
	if dir == "" {
		return "", false
	}
	if p == dir {
		return "", true
	}
	if dir == "/" {
		return strings.TrimPrefix(p, "/"), strings.HasPrefix(p, "/")
	}
	if len(p) <= len(dir) || p[len(dir)] != '/' || !strings.HasPrefix(p, dir) {
		return "", false
	}
	return p[len(dir)+1:], true
}
