package policy

import (
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

// fileRule is the first rule of a kind that is about a file or an address that c,
// or anything it runs, names.
func (p *Policy) fileRule(kind Verdict, c *shell.Command, a *Analysis) (*Rule, *shell.Command) {
	if r := p.fileRuleOne(kind, c, a); r != nil {
		return r, c
	}
	for _, in := range c.Inner {
		if r, at := p.fileRule(kind, in.Command, a); r != nil {
			return r, at
		}
	}
	for _, h := range c.Hidden {
		if r, at := p.fileRule(kind, h, a); r != nil {
			return r, at
		}
	}
	return nil, nil
}

func (p *Policy) fileRuleOne(kind Verdict, c *shell.Command, a *Analysis) *Rule {
	if len(c.Words) < 2 || c.Words[0].Kind != shell.Known || !p.hasFileRules(kind) {
		return nil
	}
	program := programName(c.Words[0].Text)
	u, ok := usesOf(program)
	if !ok {
		return nil
	}
	operands := operandsOf(c)
	if u.first > len(operands) {
		return nil
	}
	operands = operands[u.first:]
	inPlace := (program == "sed" || program == "gsed" || program == "yq") && changesInPlace(c)
	for i, w := range operands {
		tools := []string{u.each}
		if u.last != "" && i == len(operands)-1 {
			tools = append(tools, u.last)
		}
		if inPlace {
			tools = append(tools, "edit")
		}
		for _, it := range a.operandItems(w, tools) {
			if r := p.thingRule(kind, &it, a); r != nil {
				return r
			}
		}
	}
	return nil
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
	var out []shell.Word
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
// may be in.
func (a *Analysis) operandItems(w shell.Word, tools []string) []item {
	var out []item
	for _, tool := range tools {
		if tool == "web-fetch" {
			if !strings.Contains(w.Text, ".") && !strings.Contains(w.Text, ":") {
				continue
			}
			addr := parseAddress(w.Text)
			out = append(out, item{tool: tool, address: &addr})
			continue
		}
		raw := w.Text
		if w.Home {
			if a.env.Home == "" {
				continue
			}
			raw = a.env.Home + raw[1:]
		}
		for i, dir := range a.dirs {
			if i > 0 && a.went == wentNowhere {
				break
			}
			pl := a.env.locate(raw, dir)
			out = append(out, item{tool: tool, place: &pl})
		}
	}
	return out
}
