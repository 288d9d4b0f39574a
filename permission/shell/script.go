package shell

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Marks in Word.Text. Both are noncharacters of Unicode; a script that holds
// one is opaque.
const (
	// AnyText stands for text that the file system fills in when the script
	// runs: what a glob in the script matches. It never holds a "/".
	AnyText = '\uFDD0'
	// AnyNumber stands for digits that are known only when the script runs: $?,
	// $#, $$, the number of a file descriptor.
	AnyNumber = '\uFDD1'
)

// Script is what a shell script would do.
type Script struct {
	// Commands are the simple commands in the order of the text.
	Commands []*Command
	// Redirects are the files that redirections open.
	Redirects []Redirect
	// Chdirs are the changes of directory: cd, pushd, popd, chdir.
	Chdirs []Chdir
	// Opaque says why the script cannot be read at all, empty when it can.
	// Commands may hold some of it nevertheless.
	Opaque string

	normal *normal
}

// normal is made when it is asked for.
type normal struct {
	mu   sync.Mutex
	text string
	// file is what src was parsed to, nil when text is made, or nobody wants it for
	// the time being: it takes most of the memory.
	file *syntax.File
	src  string
	// kits print it.
	kits *kits
}

// Normal is the script in canonical spacing, the same for scripts that differ in
// nothing but blanks. Empty when Opaque is set. It is safe for concurrent use.
func (s *Script) Normal() string {
	if s.Opaque != "" || s.normal == nil {
		return ""
	}
	n := s.normal
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.text == "" {
		n.text = n.print()
		n.file = nil
	}
	return n.text
}

// Slim gives back the memory that only Normal needs; it reads the script again when it
// is called after all. It is safe for concurrent use.
func (s *Script) Slim() {
	if n := s.normal; n != nil {
		n.mu.Lock()
		n.file = nil
		n.mu.Unlock()
	}
}

func (n *normal) print() string {
	var b strings.Builder
	kit := n.kits.take()
	file, err := n.file, error(nil)
	if file == nil {
		file, err = kit.parse(n.src)
	}
	if err == nil {
		err = kit.printer.Print(&b, file)
	}
	n.kits.give(kit, len(n.src))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// Command is one simple command.
type Command struct {
	// Source is the command as a person may read it.
	Source string
	// Assigns are the assignments before it: NAME=value command. A command of
	// nothing but assignments has no Words.
	Assigns []Assign
	// Words are its arguments after quotes were resolved, the program first.
	Words []Word
	// Tail says that words follow that nobody knows: xargs appends them.
	Tail bool
	// Plain says that the program is known, and that none of its options writes a
	// file or runs a program: words that nobody knows do no more than known ones.
	Plain bool
	// Dynamic says why it cannot be told what runs: a variable, eval, a script on
	// standard input. Empty when it can be told.
	Dynamic string
	// Blind says that it may run anything; else Dynamic is about its arguments.
	Blind bool
	// Exact says why no wildcard may cover any word: the program runs what its
	// arguments say, in a language or at a place that is not read here. Empty
	// otherwise.
	Exact string
	// Inner are the commands that this one runs, read from its words; At says
	// where in Words each begins.
	Inner []Inner
	// Transparent says that it does no more than run Inner.
	Transparent bool
	// Hidden are commands that may be in it, good enough for forbidding and not
	// for allowing: the readings of words that Exact, Dynamic or an unknown
	// option keeps from being sure.
	Hidden []*Command
}

// Inner is a command inside a command.
type Inner struct {
	*Command
	// At is the index in the outer Words of the word it begins with, or of the
	// word that holds its text when Text is set.
	At   int
	Text bool
}

// Assign is an assignment before a command.
type Assign struct {
	Name  string
	Value Word
}

// Kind says how well a word is known.
type Kind int

// The kinds of words.
const (
	// Known: Text is the word, but for AnyNumber in it.
	Known Kind = iota
	// Glob: one or more words, each Text with something for every AnyText.
	Glob
	// Unknown: any number of words: the output of a command, a brace expansion.
	Unknown
	// Dynamic: as Unknown, by a variable that anybody may have set.
	Dynamic
)

// Word is one argument.
type Word struct {
	// Text is the value after quotes are resolved. For Unknown and Dynamic it is
	// the source.
	Text string
	Kind Kind
	// Home says that it begins with an unquoted ~ or ~/.
	Home bool
	// Spell is how many bytes of Text a pattern has to hold literally: the word
	// is an option that writes a file or runs a program, or sets a variable.
	// 0 for any other word.
	Spell int
}

// Redirect is a file that a redirection opens.
type Redirect struct {
	// Source is the redirection as written.
	Source string
	// Path is the file's name as the shell sees it.
	Path Word
	// Write says that it is opened for writing, else for reading.
	Write bool
	// Dynamic says why the file cannot be told, empty when it can.
	Dynamic string
}

// Chdir is a change of directory.
type Chdir struct {
	// Dir is where to; nothing is known of it when Dynamic is set.
	Dir     Word
	Dynamic bool
	// Only says that it is the first command of the script and stands alone, so
	// that it is done before anything else.
	First bool
}

// blind marks c as running something that is not known.
func (c *Command) blind(why string) { c.Dynamic, c.Blind = why, true }

// inherit gives c and what it runs the assignments of the command around it.
func (c *Command) inherit(assigns []Assign) {
	if len(assigns) == 0 {
		return
	}
	c.Assigns = append(append([]Assign(nil), assigns...), c.Assigns...)
	for _, in := range c.Inner {
		in.inherit(assigns)
	}
}
