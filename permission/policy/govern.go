package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/permission/shell"
)

// Some files make programs run what they say: the hooks and settings of a repository,
// tasks of an editor, an agent's own settings. Who may write them may run anything,
// the next time somebody asks for git status. So no wildcard of an allow rule covers
// the element of a path that tells them: it has to stand in the pattern, as options
// that run a program have to.

// changes reports whether a tool changes the files it is used on.
func changes(tool string) bool {
	switch tool {
	case "edit", "write", "delete", "move", "notebook-edit":
		return true
	}
	return false
}

// governors are the elements of pl, folded, that make it a file that governs what
// programs run. What the session's directory and the home directory lie in does not
// count.
func (a *Analysis) governors(pl *place) []string {
	var out []string
	for _, list := range [...][]string{pl.real, pl.lexical} {
		for _, p := range list {
			for _, s := range governing(a.inside(p)) {
				out = addNew(out, s)
			}
		}
	}
	return out
}

// inside gives p relative to the session's directory or to the home directory, and as
// it is when it is in neither.
func (a *Analysis) inside(p string) string {
	for _, dir := range [...]string{a.realCwd, a.req.Cwd} {
		if rel, in := below(p, dir); in {
			return rel
		}
	}
	for _, dir := range [...]string{a.homeDir().real, a.env.Home} {
		if rel, in := below(p, dir); in {
			return rel
		}
	}
	return p
}

// governing are the elements of a path, folded, that make some program run something.
func governing(p string) []string {
	var out []string
	p = fold(p)
	for segment := range strings.SplitSeq(p, "/") {
		if governs(segment) || strings.HasPrefix(segment, ".") && strings.ContainsRune(segment, shell.AnyText) {
			out = append(out, segment)
		}
	}
	if base := path.Base(p); governsAlone(base) {
		out = append(out, base)
	}
	return out
}

// governs reports whether all that is in a directory of this name is such a file.
func governs(segment string) bool {
	switch segment {
	case ".git", ".hg", ".svn", ".jj", ".claude", ".codex", ".gemini", ".qwen", ".opencode", ".agents", ".agenthost", ".cursor",
		".vscode", ".zed", ".fleet", ".idea", ".husky", ".devcontainer", ".direnv", ".ssh", ".aws", ".gnupg", ".kube", ".docker",
		".config", ".local", ".cargo", ".mvn", ".gradle", ".yarn", ".bundle":
		return true
	}
	return false
}

// governsAlone reports whether a file of this name is one.
func governsAlone(base string) bool {
	switch base {
	case ".mcp.json", ".envrc", ".gitmodules", ".gitconfig", ".gitattributes", ".hgrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".inputrc", ".gdbinit", ".lldbinit", ".bazelrc",
		".npmrc", ".yarnrc", ".yarnrc.yml", ".pre-commit-config.yaml", "lefthook.yml", ".ripgreprc", ".curlrc", ".wgetrc", ".netrc", ".tool-versions", "mise.toml":
		return true
	}
	return false
}

// names reports whether the elements, folded, stand in p as they are.
func (p *pathPattern) names(elements []string) bool {
	if len(elements) == 0 {
		return true
	}
	own := strings.FieldsFunc(p.wide, func(c rune) bool { return strings.ContainsRune("/{},", c) })
	for _, e := range elements {
		if !slices.Contains(own, e) {
			return false
		}
	}
	return true
}

// governs reports whether c, a command that a wildcard may cover, changes a file that
// makes some program run something, as far as c names it.
func (a *Analysis) governs(c *shell.Command) bool {
	if len(c.Words) < 2 || c.Words[0].Kind != shell.Known {
		return false
	}
	program := programName(c.Words[0].Text)
	governed := func(w shell.Word) bool {
		for _, it := range a.operandItems(w, []string{"write"}) {
			if len(a.governors(it.place)) > 0 {
				return true
			}
		}
		return false
	}
	if u, ok := usesOf(program); ok {
		for _, x := range usesBy(program, u, c) {
			if slices.ContainsFunc(x.tools, changes) && governed(x.word) {
				return true
			}
		}
	}
	// What an option that writes a file names, in the same word or the next.
	for i, w := range c.Words[1:] {
		if w.Kind == shell.Known && c.Words[i].Spell > 0 && i > 0 && governed(w) {
			return true
		}
		if w.Kind != shell.Known || w.Spell == 0 {
			continue
		}
		value := w.Text[min(2, len(w.Text)):]
		if _, after, ok := strings.Cut(w.Text, "="); ok {
			value = after
		}
		if value != "" && governed(shell.Word{Text: value}) {
			return true
		}
	}
	return false
}
