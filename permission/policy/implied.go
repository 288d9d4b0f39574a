package policy

import (
	"strings"

	"github.com/agenthost/agenthost/permission/shell"
)

// Some tools do by another way what rules for other tools are about: text typed into
// a running program may be a command, a request for permissions names the files it
// is for. Deny and ask rules for those count here, too; allow rules do not.

// The tools that imply others.
const (
	toolTyped       = "write-stdin"
	toolPermissions = "request-permissions"
)

// typed adds what is typed into a running program. What it means there is not known;
// a shell takes it for a script.
func (a *Analysis) typed() {
	args, err := readArgs(a.req.Args, aboutCommand)
	if err != nil {
		a.unclear = err.Error()
		return
	}
	if len(args.commands) > 1 {
		a.unclear = "it names more than one text"
	}
	it := &a.items[0]
	for _, text := range args.commands {
		if line := strings.TrimRight(text, "\r\n"); line != "" {
			it.text, it.wide = line, fold(line)
		}
		s := a.scripts.Read(text)
		if s.Opaque != "" && s.Opaque != shell.Empty {
			it.implied = append(it.implied, item{text: text, command: &shell.Command{Source: text, Dynamic: s.Opaque, Blind: true}})
		}
		for _, c := range s.Commands {
			it.implied = append(it.implied, item{text: c.Source, command: c})
		}
		for i := range s.Redirects {
			if rd := &s.Redirects[i]; rd.Dynamic == "" && rd.Write {
				p := a.env.locate(rd.Path.Text, a.req.Cwd)
				it.implied = append(it.implied, item{text: rd.Source, tool: "write", place: &p})
			}
		}
	}
}

// permissions adds the places that an agent wants to use.
func (a *Analysis) permissions() {
	args, err := readArgs(a.req.Args, aboutPath)
	if err != nil {
		a.unclear = err.Error()
		return
	}
	it := &a.items[0]
	for _, raw := range args.paths {
		p := a.env.locate(raw, a.req.Cwd)
		for _, tool := range []string{"read", "write"} {
			it.implied = append(it.implied, item{text: raw, tool: tool, place: &p})
		}
	}
}

// impliedRule is the first rule of a kind about what it implies, and how sure that
// is.
func (p *Policy) impliedRule(kind Verdict, it *item, a *Analysis) (*Rule, chance) {
	var maybeRule *Rule
	for i := range it.implied {
		x := &it.implied[i]
		if x.command == nil {
			if r := p.thingRule(kind, x, a); r != nil {
				return r, yes
			}
			continue
		}
		r, how := p.restrict(kind, x.command, a)
		if how == yes {
			return r, yes
		}
		if how == maybe && maybeRule == nil {
			maybeRule = r
		}
		if r, _, how := p.fileRule(kind, x.command, a); how == yes {
			return r, yes
		} else if how == maybe && maybeRule == nil {
			maybeRule = r
		}
	}
	if maybeRule != nil {
		return maybeRule, maybe
	}
	return nil, no
}

// reaches reports whether some deny rule for files may be about what a request for
// permissions opens up: all below the places that it names, the network, or what
// could not be read.
func (p *Policy) reaches(it *item, a *Analysis) bool {
	if it.tool != toolPermissions {
		return false
	}
	for _, tool := range []string{"read", "write", "edit", "delete", "web-fetch", "network-access"} {
		if p.mayDenyTool(tool, a) {
			return true
		}
	}
	return false
}
