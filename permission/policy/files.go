package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/permission/shell"
)

// Commands use files and addresses, too. Deny and ask rules for read, edit, write,
// delete, move and web-fetch are also about what well-known programs name among
// their operands. Allow rules are not: a command is allowed as a command.

// use is what a program does with its operands.
type use struct {
	// each is the tool that an operand is a use of, last the one of the last
	// operand when it differs.
	each, last string
	// first says how many operands are something else: a pattern, a mode.
	first int
}

func usesOf(program string) (use, bool) {
	switch program {
	case "cat", "bat", "batcat", "head", "tail", "less", "more", "most", "tac", "nl", "rev", "wc", "cut", "paste", "join", "comm", "diff", "cmp", "sort", "uniq",
		"od", "xxd", "hexdump", "strings", "base64", "base32", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum",
		"file", "zcat", "gzip", "bzip2", "xz", "zip", "fold", "fmt", "expand", "column", "source", ".", "scp", "open", "xdg-open", "code", "vi", "vim", "nvim",
		"view", "nano", "emacs", "ed", "ex":
		return use{each: "read"}, true
	case "grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "jq", "yq":
		// The first operand is a pattern, unless an option gives it.
		return use{each: "read"}, true
	case "cp", "ln", "install", "rsync":
		return use{each: "read", last: "write"}, true
	case "mv", "rename":
		return use{each: "move"}, true
	case "rm", "rmdir", "unlink", "shred":
		return use{each: "delete"}, true
	case "tee", "touch", "truncate", "mkdir", "mktemp", "split", "patch":
		return use{each: "write"}, true
	case "chmod", "chown", "chgrp", "chattr", "setfacl":
		return use{each: "write", first: 1}, true
	case "curl", "wget", "wget2", "http", "https", "xh", "lynx", "links", "w3m", "aria2c":
		return use{each: "web-fetch"}, true
	}
	return use{}, false
}

// namesOnly reports whether a program does nothing with the contents of the files
// that it is given.
func namesOnly(program string) bool {
	switch program {
	case "echo", "printf", "print", "test", "[", "[[", "true", "false", ":", "cd", "pushd", "popd", "pwd", "ls", "dir", "stat", "du", "tree", "find", "gfind",
		"fd", "fdfind", "which", "type", "command", "basename", "dirname", "realpath", "readlink", "export", "declare", "local", "readonly", "typeset", "unset",
		"alias", "set", "exit", "return", "sleep", "seq", "date", "kill", "ps", "id", "whoami", "hostname", "uname", "expr":
		return true
	}
	return false
}

// fileRule is the first rule of a kind that is about a file or an address that c,
// or anything it runs, names, the command that does, and how sure that is.
func (p *Policy) fileRule(kind Verdict, c *shell.Command, a *Analysis) (*Rule, *shell.Command, chance) {
	if !p.hasFileRules(kind) {
		return nil, nil, no
	}
	rule, at, how := (*Rule)(nil), (*shell.Command)(nil), no
	more := func(c *shell.Command) bool {
		if r, in, h := p.fileRule(kind, c, a); h > how {
			rule, at, how = r, in, h
		}
		return how == yes
	}
	if rule, how = p.fileRuleOne(kind, c, a); rule != nil {
		at = c
	}
	if how == yes {
		return rule, at, how
	}
	for _, in := range c.Inner {
		if more(in.Command) {
			return rule, at, how
		}
	}
	for _, h := range c.Hidden {
		if more(h) {
			return rule, at, how
		}
	}
	return rule, at, how
}

func (p *Policy) fileRuleOne(kind Verdict, c *shell.Command, a *Analysis) (*Rule, chance) {
	if len(c.Words) == 0 || c.Words[0].Kind != shell.Known || len(c.Words) < 2 && !c.Tail {
		return nil, no
	}
	program := programName(c.Words[0].Text)
	u, ok := usesOf(program)
	if !ok {
		if namesOnly(program) || len(c.Inner) > 0 {
			return nil, no
		}
		// Nobody knows what it does with the files that it is given.
		return p.mayUse(kind, c, a, []string{anyFile})
	}
	var rule *Rule
	how := no
	for _, x := range usesBy(program, u, c) {
		items := a.operandItems(x.word, x.tools)
		for i := range items {
			r := p.thingRule(kind, &items[i], a)
			switch {
			case r == nil:
			case x.sure:
				return r, yes
			case how == no:
				rule, how = r, maybe
			}
		}
	}
	if how == no {
		rule, how = p.mayUse(kind, c, a, toolsOf(program, u))
	}
	return rule, how
}

// fileUse is a word of a command and the tools that it is a use of.
type fileUse struct {
	word  shell.Word
	tools []string
	// sure: it is such a use; else it may be one.
	sure bool
}

// usesBy are the uses that the operands of a well-known program are.
func usesBy(program string, u use, c *shell.Command) []fileUse {
	operands := operandsOf(c)
	if u.first > len(operands) {
		return nil
	}
	operands = operands[u.first:]
	inPlace := (program == "sed" || program == "gsed" || program == "yq") && changesInPlace(c)
	var out []fileUse
	for i, w := range operands {
		tools := []string{u.each}
		last := i == len(operands)-1
		if u.last != "" && last {
			tools = append(tools, u.last)
		}
		if inPlace {
			tools = append(tools, "edit")
		}
		out = append(out, fileUse{w, tools, true})
		if u.last == "" && u.each != "move" || !filesIn(w) {
			continue
		}
		// It ends up under its name in the directory that comes last, or anywhere
		// that an option names.
		tool := "write"
		base := shell.Word{Text: path.Base(w.Text), Kind: w.Kind}
		switch dir := operands[len(operands)-1]; {
		case !last && filesIn(dir):
			isDir := strings.HasSuffix(dir.Text, "/") || path.Base(dir.Text) == "." || path.Base(dir.Text) == ".."
			dir.Text = path.Join(dir.Text, base.Text)
			out = append(out, fileUse{dir, []string{tool}, isDir})
		case last && len(operands) == 1:
			out = append(out, fileUse{base, []string{tool}, false})
		}
		if hasTarget(c) {
			out = append(out, fileUse{w, []string{tool}, false})
		}
	}
	return out
}

// filesIn reports whether w is a path that can be joined with another.
func filesIn(w shell.Word) bool { return w.Kind == shell.Known && w.Text != "" }

// hasTarget reports whether an option names the directory to copy to.
func hasTarget(c *shell.Command) bool {
	for _, w := range c.Words[1:] {
		if strings.HasPrefix(w.Text, "--t") || len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text, "t") {
			return true
		}
	}
	return false
}

// anyFile is what a program that nobody knows may do with a file: the rules about it
// are all those for certain files.
const anyFile = "\x00any-file"

func toolsOf(program string, u use) []string {
	tools := []string{u.each}
	if u.last != "" {
		tools = append(tools, u.last)
	}
	if program == "sed" || program == "gsed" || program == "yq" {
		tools = append(tools, "edit")
	}
	return tools
}

// mayUse is the first rule of a kind that may be about a file that c uses, though it
// cannot be told: words that are filled in when it runs, a directory that is not known, values glued to options,
// directories that are searched with all below, files of options that write.
func (p *Policy) mayUse(kind Verdict, c *shell.Command, a *Analysis, tools []string) (*Rule, chance) {
	program := programName(c.Words[0].Text)
	_, wellKnown := usesOf(program)
	unknown := c.Tail
	words := a.memory.words[:0]
	defer func() { a.memory.words = words }()
	writes := false
	for i, w := range c.Words[1:] {
		switch {
		case w.Kind == shell.Unknown || w.Kind == shell.Dynamic:
			unknown = true
		case w.Kind == shell.Glob:
			words = append(words, w)
		case len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-':
			words = append(words, shell.Word{Text: w.Text[2:]})
		case !wellKnown && strings.HasPrefix(w.Text, "--"):
			if _, value, ok := strings.Cut(w.Text, "="); ok {
				words = append(words, shell.Word{Text: value})
			}
		case !wellKnown || i > 0 && c.Words[i].Spell > 0:
			words = append(words, w)
		}
		writes = writes || w.Spell > 0
		unknown = unknown || a.lost && relative(w.Text) && !strings.HasPrefix(w.Text, "-")
	}
	if writes {
		words = append(words, operandsOf(c)...)
		tools = append(slices.Clone(tools), "write")
	}
	if unknown && wellKnown {
		for _, tool := range tools {
			if r := p.firstFileRule(kind, tool, a); r != nil {
				return r, maybe
			}
		}
	}
	for _, w := range words {
		items := a.operandItems(w, tools)
		for i := range items {
			if r := p.thingRule(kind, &items[i], a); r != nil {
				return r, maybe
			}
			if r := p.meets(kind, &items[i], w, a); r != nil {
				return r, maybe
			}
		}
	}
	return p.below(kind, c, a, tools)
}

// firstFileRule is the first rule of a kind about certain files or addresses of tool.
func (p *Policy) firstFileRule(kind Verdict, tool string, a *Analysis) *Rule {
	for _, r := range p.things(kind, tool) {
		if !r.any && r.applies(a) {
			return r
		}
	}
	return nil
}

// meets is a rule about a file that the glob w may name.
func (p *Policy) meets(kind Verdict, it *item, w shell.Word, a *Analysis) *Rule {
	if w.Kind != shell.Glob || it.place == nil {
		return nil
	}
	for _, r := range p.things(kind, it.tool) {
		if !r.applies(a) {
			continue
		}
		for i := range r.paths {
			for _, wide := range it.place.wide {
				if r.paths[i].meets(wide, a) {
					return r
				}
			}
		}
	}
	return nil
}

// below is a rule about files in a directory that c works on with all below it.
func (p *Policy) below(kind Verdict, c *shell.Command, a *Analysis, tools []string) (*Rule, chance) {
	if !descends(c) {
		return nil, no
	}
	operands := operandsOf(c)
	if len(operands) < 2 {
		operands = append(operands, shell.Word{Text: "."})
	}
	for _, w := range operands {
		for _, it := range a.operandItems(w, tools) {
			if it.place == nil {
				continue
			}
			for _, r := range p.things(kind, it.tool) {
				if r.applies(a) && r.reachesBelow(it.place, a) {
					return r, maybe
				}
			}
		}
	}
	return nil, no
}

// descends reports whether c works on directories with all that is in them.
func descends(c *shell.Command) bool {
	switch programName(c.Words[0].Text) {
	case "rg", "ag", "ack", "rsync", "tar", "mv", "zip":
		return true
	}
	for _, w := range c.Words[1:] {
		if strings.HasPrefix(w.Text, "--rec") || strings.HasPrefix(w.Text, "--arch") || strings.HasPrefix(w.Text, "--deref") ||
			len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text, "rRa") {
			return true
		}
	}
	return false
}

// hasFileRules reports whether there are rules of a kind that commands may fall
// under besides those for commands.
func (p *Policy) hasFileRules(kind Verdict) bool {
	if kind == Deny {
		return p.denyFiles
	}
	return p.askFiles
}

func aboutFiles(list []*Rule) bool {
	for _, r := range list {
		if c := classOf(r.tool); !r.any && (c == aboutPath || c == aboutURL) {
			return true
		}
	}
	return false
}

// operandsOf are the words of c that are no options, and the values that options
// carry in the same word.
func operandsOf(c *shell.Command) []shell.Word {
	out := make([]shell.Word, 0, len(c.Words)-1)
	ended := false
	for _, w := range c.Words[1:] {
		switch {
		case w.Kind != shell.Known && w.Kind != shell.Glob:
		case !ended && w.Text == "--":
			ended = true
		case !ended && len(w.Text) > 1 && w.Text[0] == '-':
			if _, value, ok := strings.Cut(w.Text, "="); ok {
				out = append(out, shell.Word{Text: value})
			}
		default:
			out = append(out, w)
		}
	}
	return out
}

func changesInPlace(c *shell.Command) bool {
	for _, w := range c.Words[1:] {
		if strings.HasPrefix(w.Text, "--in") || len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text, "iI") {
			return true
		}
	}
	return false
}

// operandItems are the uses that an operand may be, in every directory the script
// may be in. They are good until it is called again.
func (a *Analysis) operandItems(w shell.Word, tools []string) []item {
	out := a.memory.uses[:0]
	defer func() { a.memory.uses = out }()
	if slices.Contains(tools, "web-fetch") && strings.ContainsAny(w.Text, ".:") {
		addr := parseAddress(w.Text)
		out = append(out, item{tool: "web-fetch", address: &addr})
	}
	raw := w.Text
	if w.Home {
		if a.env.Home == "" {
			return out
		}
		raw = a.env.Home + raw[1:]
	}
	for _, tool := range tools {
		if tool == "web-fetch" {
			continue
		}
		for i, dir := range a.dirs {
			if i > 0 && a.went == wentNowhere {
				break
			}
			out = append(out, item{tool: tool, place: a.operand(raw, dir)})
		}
	}
	return out
}

// located is a word that was located from dir.
type located struct {
	raw, dir string
	place    *place
}

// maxLocated bounds what is looked through for each word.
const maxLocated = 32

// operand locates a word of a command from dir, once for all kinds of rules and all
// tools. Nobody may change the place.
func (a *Analysis) operand(raw, dir string) *place {
	for i := range a.operands {
		if l := &a.operands[i]; l.raw == raw && l.dir == dir {
			return l.place
		}
	}
	p := a.memory.keep(a.env.locate(raw, dir))
	if len(a.operands) < maxLocated {
		a.operands = append(a.operands, located{raw, dir, p})
	}
	return p
}
