// Package askfirst says what an agent is to be told that runs some things without
// asking, so that it asks where a rule may be about them (Options.AskFirst).
//
// Agents have languages of their own for that, which say less than rules do. So what
// they are told is a little wider than the rule, and found in its text here: the program
// of a command, the longest text that every command holds which names such a file.
// agenthost decides what is asked.
//
// # Guarantees
//
// What a pattern does not say plainly is everything: too much is asked rather than too
// little.
//
// # Testing
//
// go test ./adapters/askfirst runs a table; the adapters test what they make of it.
package askfirst

import (
	"path"
	"strings"
)

// Program is the program that a pattern for commands is about, without its directory,
// and the variable that it sets before, if that is what it begins with; both are empty
// for a pattern that is about any command.
func Program(pattern string) (name, variable string) {
	first, _, _ := strings.Cut(strings.TrimLeft(pattern, " "), " ")
	set, _, assigns := strings.Cut(first, "=")
	switch {
	case assigns && Plain(set):
		return "", set
	case first == "" || !Plain(first):
		return "", ""
	}
	return path.Base(first), ""
}

// Text is the longest text that a command or a call holds which names a file of the
// pattern: within one element of the path, without wildcards. It is empty when that is
// not plain.
func Text(pattern string) string {
	if strings.ContainsAny(pattern, `()\`) {
		return ""
	}
	pattern = strings.TrimPrefix(pattern, "${cwd}")
	if i := strings.IndexAny(pattern, "{["); i >= 0 {
		pattern = pattern[:i]
		pattern = pattern[:strings.LastIndexAny(pattern, "*?/")+1]
	}
	best := ""
	for _, s := range strings.FieldsFunc(pattern, func(c rune) bool { return strings.ContainsRune("*?/~", c) }) {
		if len(s) > len(best) && Plain(s) {
			best = s
		}
	}
	return best
}

// Host is the host of a pattern for addresses, empty for any.
func Host(pattern string) string {
	if _, rest, ok := strings.Cut(pattern, "://"); ok {
		pattern = rest
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(pattern, "domain:"), "/")
	if strings.ContainsAny(host, "*:[") {
		return ""
	}
	return host
}

// Server is the server of a pattern for MCP tools, empty for any.
func Server(pattern string) string {
	server, _, ok := strings.Cut(pattern, "/")
	if !ok || strings.ContainsAny(server, "*?[") {
		return ""
	}
	return server
}

// Plain reports whether a word of a pattern stands for itself.
func Plain(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+") == ""
}
