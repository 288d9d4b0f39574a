package policy

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/agenthost/agenthost/permission/shell"
)

// args are the arguments of a tool call that say what it is about.
type args struct {
	commands, paths, urls, dirs []string
	// rest are the other members, for the key of a grant: name and raw value.
	rest []member
	// argv are further words of the command.
	argv []string
	// environment: the call sets variables.
	environment bool
}

type member struct {
	name  string
	value jsontext.Value
}

const (
	// maxArgs bounds what is looked through; longer arguments are for a person.
	maxArgs = 16 << 20
	// maxNest is how deep paths are looked for: changes[].path and the like.
	maxNest = 4
	// maxSubjects bounds the files of one patch.
	maxSubjects = 2000
)

// errArgs are arguments that cannot be relied on: the agent may read them
// differently than we do.
var errArgs = errors.New("the arguments cannot be read")

// readArgs finds what a call is about, whatever the agent calls it.
func readArgs(raw jsontext.Value, cl class) (args, error) {
	var a args
	if len(raw) > maxArgs {
		return a, fmt.Errorf("%w: %d bytes", errArgs, len(raw))
	}
	// Duplicate names and broken UTF-8 are errors: which of two values the agent
	// takes is not known.
	d, done := decoder(raw)
	defer done()
	if d.PeekKind() != '{' {
		return a, fmt.Errorf("%w: want an object", errArgs)
	}
	if err := a.object(d, cl, 0); err != nil {
		return a, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return a, fmt.Errorf("%w: there is more after the object", errArgs)
	}
	if len(a.argv) > 0 {
		if err := a.joinWords(); err != nil {
			return a, err
		}
	}
	if len(a.commands)+len(a.paths)+len(a.urls) > maxSubjects {
		return a, fmt.Errorf("%w: they name too many files", errArgs)
	}
	return a, nil
}

// decoders are those that are not in use, each with its source.
var decoders = sync.Pool{New: func() any { return new(source) }}

// source is read in place, as a bytes.Buffer is; any other reader is copied.
type source struct {
	bytes.Buffer
	decoder jsontext.Decoder
}

// decoder reads raw until done is called. Nothing that it gives may be kept.
func decoder(raw jsontext.Value) (d *jsontext.Decoder, done func()) {
	s := decoders.Get().(*source)
	s.Buffer = *bytes.NewBuffer(raw)
	s.decoder.Reset(&s.Buffer)
	return &s.decoder, func() {
		s.Buffer = bytes.Buffer{}
		s.decoder.Reset(&s.Buffer)
		decoders.Put(s)
	}
}

func (a *args) object(d *jsontext.Decoder, cl class, depth int) error {
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("%w: %v", errArgs, err)
	}
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return fmt.Errorf("%w: %v", errArgs, err)
		}
		name := tok.String()
		if err := a.member(d, name, cl, depth); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// member reads one value by the name it stands under.
func (a *args) member(d *jsontext.Decoder, name string, cl class, depth int) error {
	key := plainKey(name)
	switch {
	case cl == aboutCommand && isCommandKey(key):
		return a.command(d, name)
	case cl == aboutCommand && depth == 0 && (key == "args" || key == "arguments") && d.PeekKind() == '[':
		return a.texts(d, name, &a.argv)
	case cl == aboutCommand && isDirKey(key):
		return a.texts(d, name, &a.dirs)
	case cl == aboutCommand && (key == "env" || key == "environment"):
		v, err := d.ReadValue()
		a.environment = a.environment || err == nil && !emptyValue(v)
		return wrapArgs(err)
	case cl == aboutPath && isPathKey(key):
		return a.texts(d, name, &a.paths)
	case cl == aboutPath && isPatchKey(key):
		return a.patch(d, name)
	case cl == aboutPath && isListKey(key) && depth < maxNest:
		return a.list(d, name, cl, depth)
	case cl == aboutURL && isURLKey(key):
		return a.texts(d, name, &a.urls)
	}
	v, err := d.ReadValue()
	if err != nil {
		return wrapArgs(err)
	}
	if depth == 0 && (cl == aboutCommand || cl == aboutPath && isGlobKey(key)) {
		a.rest = append(a.rest, member{name: name, value: v.Clone()})
	}
	return nil
}

// joinWords makes one command of a program and the arguments beside it.
func (a *args) joinWords() error {
	if len(a.commands) != 1 || strings.ContainsAny(a.commands[0], " \t\n;|&<>$`'\"\\(){}*?[]~#!") {
		return fmt.Errorf("%w: want a program beside its arguments", errArgs)
	}
	list := []shell.Word{{Text: a.commands[0]}}
	for _, w := range a.argv {
		list = append(list, shell.Word{Text: w})
	}
	a.commands[0] = shell.Join(list)
	return nil
}

func wrapArgs(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %v", errArgs, err)
	}
	return nil
}

// plainKey makes filePath, file_path and FilePath the same.
func plainKey(name string) string {
	if strings.ContainsAny(name, "_- ") {
		name = strings.Map(func(c rune) rune {
			if c == '_' || c == '-' || c == ' ' {
				return -1
			}
			return c
		}, name)
	}
	return fold(name)
}

func isCommandKey(k string) bool {
	switch k {
	case "command", "cmd", "commandline", "script", "shellcommand", "argv":
		return true
	}
	return false
}

func isDirKey(k string) bool {
	switch k {
	case "cwd", "workdir", "workingdirectory", "workingdir", "directory", "dir", "dirpath":
		return true
	}
	return false
}

func isPathKey(k string) bool {
	switch k {
	case "path", "filepath", "file", "filename", "absolutepath", "abspath", "notebookpath", "targetfile", "targetpath", "relativepath",
		"directory", "dir", "dirpath", "folder", "source", "destination", "src", "dst", "dest", "oldpath", "newpath", "sourcepath", "destinationpath",
		"from", "to", "movepath", "renamefrom", "renameto", "paths", "files", "filepaths", "uri", "fileuri", "target", "imagepath", "absolutefilepath",
		"documenturi", "searchpath", "basepath", "root", "newname", "oldname":
		return true
	}
	return false
}

func isPatchKey(k string) bool {
	switch k {
	case "patch", "patchtext", "diff", "unifieddiff", "input", "patchcontent":
		return true
	}
	return false
}

// isListKey are members that hold objects with paths, files by path among them.
func isListKey(k string) bool {
	switch k {
	case "changes", "edits", "operations", "locations", "filechanges", "items", "replacements", "kind":
		return true
	}
	return false
}

// isGlobKey are members that say which files a search looks at.
func isGlobKey(k string) bool { return k == "pattern" || k == "glob" || k == "include" }

func isURLKey(k string) bool {
	switch k {
	case "url", "uri", "href", "link", "address", "urls", "links", "host":
		return true
	}
	return false
}

// texts reads a string, or an array of strings or of objects with paths.
func (a *args) texts(d *jsontext.Decoder, name string, to *[]string) error {
	switch d.PeekKind() {
	case '"':
		tok, err := d.ReadToken()
		if err != nil {
			return wrapArgs(err)
		}
		*to = append(*to, tok.String())
		return nil
	case 'n':
		_, err := d.ReadToken()
		return wrapArgs(err)
	case '[':
		if _, err := d.ReadToken(); err != nil {
			return wrapArgs(err)
		}
		for d.PeekKind() != ']' {
			var err error
			if d.PeekKind() == '{' {
				err = a.object(d, aboutPath, 1)
			} else {
				err = a.texts(d, name, to)
			}
			if err != nil {
				return err
			}
			if len(*to) > maxSubjects {
				return fmt.Errorf("%w: %s names too much", errArgs, name)
			}
		}
		_, err := d.ReadToken()
		return wrapArgs(err)
	}
	return fmt.Errorf("%w: want %s as a string, got %v", errArgs, name, d.PeekKind())
}

// command reads a script, or the words of one command.
func (a *args) command(d *jsontext.Decoder, name string) error {
	if d.PeekKind() != '[' {
		return a.texts(d, name, &a.commands)
	}
	var words []string
	if err := a.texts(d, name, &words); err != nil {
		return err
	}
	list := make([]shell.Word, len(words))
	for i, w := range words {
		list[i] = shell.Word{Text: w}
	}
	a.commands = append(a.commands, shell.Join(list))
	return nil
}

// list reads an array of objects, or an object by path: {"a.go": {…}}.
func (a *args) list(d *jsontext.Decoder, name string, cl class, depth int) error {
	switch d.PeekKind() {
	case '[':
		if _, err := d.ReadToken(); err != nil {
			return wrapArgs(err)
		}
		for d.PeekKind() != ']' {
			if err := a.list(d, name, cl, depth+1); err != nil {
				return err
			}
		}
		_, err := d.ReadToken()
		return wrapArgs(err)
	case '{':
		if plainKey(name) == "changes" && depth == 0 {
			return a.byPath(d)
		}
		return a.object(d, cl, depth+1)
	}
	_, err := d.ReadValue()
	return wrapArgs(err)
}

// byPath reads {"path": change, …}.
func (a *args) byPath(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return wrapArgs(err)
	}
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return wrapArgs(err)
		}
		a.paths = append(a.paths, tok.String())
		if d.PeekKind() == '{' {
			err = a.object(d, aboutPath, 1)
		} else {
			_, err = d.ReadValue()
		}
		if err != nil {
			return wrapArgs(err)
		}
	}
	_, err := d.ReadToken()
	return wrapArgs(err)
}

// patch reads the paths of a patch. A text that names none adds none.
func (a *args) patch(d *jsontext.Decoder, name string) error {
	if d.PeekKind() != '"' {
		return a.list(d, name, aboutPath, maxNest)
	}
	tok, err := d.ReadToken()
	if err != nil {
		return wrapArgs(err)
	}
	a.paths = append(a.paths, patchPaths(tok.String())...)
	return nil
}

func emptyValue(v jsontext.Value) bool {
	s := strings.TrimSpace(string(v))
	return s == "null" || s == "{}" || s == "[]" || s == `""`
}

// patchPaths are the files that a patch names: those of the envelope format
// (*** Update File:), of unified diffs and of git's.
func patchPaths(text string) []string {
	var out []string
	add := func(p string) {
		p, _, _ = strings.Cut(p, "\t")
		p = strings.TrimRight(p, "\r")
		if strings.HasPrefix(p, `"`) {
			// Git's quoted names: a name that is empty is never allowed.
			out = append(out, "", strings.Trim(p, `"`))
			return
		}
		if p != "" && p != "/dev/null" && !slices.Contains(out, p) && len(out) <= maxSubjects {
			out = append(out, p)
		}
	}
	old := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "*** Update File: "), strings.HasPrefix(trimmed, "*** Add File: "),
			strings.HasPrefix(trimmed, "*** Delete File: "), strings.HasPrefix(trimmed, "*** Move to: "),
			strings.HasPrefix(trimmed, "*** Rename to: "), strings.HasPrefix(trimmed, "Moved to: "):
			_, p, _ := strings.Cut(trimmed, ": ")
			add(p)
		case strings.HasPrefix(line, "--- "):
			old = line[4:]
		case strings.HasPrefix(line, "+++ "):
			from, to := sides(old, line[4:])
			add(from)
			add(to)
		case strings.HasPrefix(line, "rename from "), strings.HasPrefix(line, "rename to "),
			strings.HasPrefix(line, "copy from "), strings.HasPrefix(line, "copy to "):
			_, p, _ := strings.Cut(line[7:], " ")
			add(strings.TrimPrefix(p, "to "))
		case strings.HasPrefix(line, "diff --git "):
			if p, q, ok := strings.Cut(line[len("diff --git "):], " b/"); ok {
				add(strings.TrimPrefix(p, "a/"))
				add(q)
			}
		}
	}
	return out
}

// sides takes git's a/ and b/ off the two names of a diff.
func sides(old, to string) (string, string) {
	a, okA := strings.CutPrefix(old, "a/")
	b, okB := strings.CutPrefix(to, "b/")
	if (okA || strings.HasPrefix(old, "/dev/null")) && (okB || strings.HasPrefix(to, "/dev/null")) {
		if !okA {
			a = old
		}
		if !okB {
			b = to
		}
		return a, b
	}
	return old, to
}
