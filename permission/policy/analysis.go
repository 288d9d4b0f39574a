package policy

import (
	"encoding/json/jsontext"
	"path"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/permission/shell"
)

// Request is a use of a tool that is to be judged.
type Request struct {
	// Tool is canonical, Args its input.
	Tool string
	Args jsontext.Value
	// Cwd is the session's directory, absolute.
	Cwd string
	// Agent is the adapter's name, Subagent the id of the sub-agent, empty for the
	// main agent.
	Agent, Subagent string
	// Question: the agent asks a person something; nothing else may answer.
	Question bool
}

// Analysis is a request taken apart. It is not safe for concurrent use; making
// one reads the symlinks on the way of the paths it is about. Release gives its
// memory to the next one.
type Analysis struct {
	req   Request
	env   Env
	about class

	// dir is the session's directory; dirOK that it could be located. realCwd is it
	// with symlinks resolved.
	dir      place
	dirOK    bool
	realCwd  string
	home     *homeDir // nil until it is needed
	dirs     []string // where the script may be when a command runs
	went     went
	lost     bool // dirs are not all of them
	scripts  *shell.Cache
	script   *shell.Script
	items    []item
	rest     []member
	profiles map[*shell.Command]*profile
	operands []located
	unclear  string // why nothing may allow it
	missing  bool   // what it is about is missing or empty

	memory memory
}

// homeDir is the home directory: wide its folded spellings, real where it leads,
// empty when that cannot be told.
type homeDir struct {
	wide []string
	real string
}

// went says where a script has gone by cd.
type went int

const (
	wentNowhere went = iota
	wentBelow        // below the session's directory
	wentAway         // somewhere else, or nobody knows
)

// item is one part of an analysis.
type item struct {
	text string
	// command, or tool with place, or address, or only tool.
	command *shell.Command
	tool    string
	place   *place
	address *address
	// wide is text folded, of a tool that is only named.
	wide string
	// implied are uses of other tools that it amounts to, for forbidding.
	implied []item
	// governors are elements of place that an allow rule has to spell.
	governors []string
	// why says why it must not be allowed, empty when it may.
	why string
}

// Analyse takes q apart.
func (e Env) Analyse(q Request) *Analysis { return e.analyse(q, nil) }

// analyse is Analyse with scripts that were read before, nil for none.
func (e Env) analyse(q Request, scripts *shell.Cache) *Analysis {
	a := newAnalysis()
	e.links = &a.memory.links
	a.req, a.env, a.about, a.scripts = q, e, classOf(q.Tool), scripts
	switch a.about {
	case aboutCommand:
		a.commands()
	case aboutPath:
		a.paths()
	case aboutURL:
		a.urls()
	default:
		a.name()
	}
	if len(a.items) == 0 {
		a.missing = true
		if a.unclear == "" {
			a.unclear = "there is nothing in it to judge"
		}
	}
	return a
}

// locateDirs finds the session's directory, once. What names neither a file nor a
// command needs it only for the rules that are about certain directories.
func (a *Analysis) locateDirs() {
	if a.dirs != nil {
		return
	}
	a.dir = a.env.locate(a.req.Cwd, "")
	if a.dirOK = a.dir.why == "" && len(a.dir.real) == 1; a.dirOK {
		a.realCwd = a.dir.real[0]
		a.req.Cwd = a.dir.lexical[0]
	}
	a.dirs = addNew(append(a.memory.links.room(2)[:0], a.dir.lexical...), a.realCwd)
}

// lookAhead asks about the session's directory and a name in it at once: where the
// answer is that no link is on the way, it holds for both. An empty name does nothing.
func (a *Analysis) lookAhead(name string) {
	cwd := a.req.Cwd
	if name == "" || len(name) > maxPath || a.env.Windows || !a.env.isAbs(cwd) || name[0] == '~' || strings.IndexByte(name, 0) >= 0 {
		return
	}
	if !a.env.isAbs(name) {
		name = join(cwd, name)
	}
	if _, in := below(name, cwd); in {
		a.env.links.lookAhead(name)
	}
}

// firstOperand is the first word of s that may name a file, empty for none.
func firstOperand(s *shell.Script) string {
	for _, c := range s.Commands {
		for len(c.Inner) > 0 {
			c = c.Inner[0].Command
		}
		for i, w := range c.Words {
			if i > 0 && w.Kind == shell.Known && !w.Home && !strings.HasPrefix(w.Text, "-") {
				return w.Text
			}
		}
	}
	return ""
}

// homeDir finds the home directory, once.
func (a *Analysis) homeDir() *homeDir {
	if a.home != nil {
		return a.home
	}
	a.home = &homeDir{}
	if a.env.Home != "" {
		a.home.wide = []string{fold(path.Clean(a.env.Home))}
		if real, why := a.env.resolve(a.env.Home); why == "" {
			a.home.real = real
			a.home.wide = addNew(a.home.wide, fold(real))
		}
	}
	return a.home
}

func (a *Analysis) name() {
	if a.req.Tool == "" {
		a.unclear = "the tool has no name"
		return
	}
	name := a.req.Tool
	if a.about == aboutMCP {
		name = strings.TrimPrefix(name, "mcp/")
		if server, tool, ok := strings.Cut(name, "/"); !ok || server == "" || tool == "" {
			a.unclear = "the tool does not name its server"
		}
	}
	a.items = append(a.items, item{text: name, tool: a.req.Tool, wide: fold(name)})
	switch a.req.Tool {
	case toolTyped:
		a.locateDirs()
		a.typed()
	case toolPermissions:
		a.locateDirs()
		a.permissions()
	}
}

func (a *Analysis) urls() {
	args, err := readArgs(a.req.Args, aboutURL)
	if err != nil {
		a.unclear = err.Error()
	}
	if len(args.urls) == 0 && a.unclear == "" {
		a.unclear = "it names no address"
	}
	for _, u := range args.urls {
		addr := parseAddress(u)
		text := u
		if addr.why == "" {
			text = addr.String()
		}
		a.items = append(a.items, item{text: text, tool: a.req.Tool, address: &addr, why: addr.why})
	}
}

func (a *Analysis) paths() {
	args, err := readArgs(a.req.Args, aboutPath)
	if err != nil {
		a.unclear = err.Error()
	}
	if len(args.paths) > 0 {
		a.lookAhead(args.paths[0])
	}
	a.locateDirs()
	list := args.paths
	if len(list) == 0 && a.unclear == "" {
		if a.req.Tool == "grep" || a.req.Tool == "glob" {
			list = []string{a.req.Cwd} // searches the session's directory
		} else {
			a.unclear = "it names no file"
		}
	}
	if a.req.Tool == "glob" || a.req.Tool == "grep" {
		a.globs(args.rest)
	}
	for _, p := range list {
		a.addPath(a.req.Tool, p, p)
	}
}

// globs adds the directory that the pattern of a search begins in.
func (a *Analysis) globs(rest []member) {
	for _, m := range rest {
		if !isGlobKey(plainKey(m.name)) {
			continue
		}
		var s string
		if tok, err := jsontext.AppendUnquote(nil, m.value); err == nil {
			s = string(tok)
		}
		if lit := literalPrefix(s); strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || strings.Contains(s, "..") {
			if strings.Contains(s[len(lit):], "..") {
				a.unclear = "its pattern leads through .."
			}
			if a.req.Tool == "glob" {
				a.addPath(a.req.Tool, lit, s)
			}
		}
	}
}

func (a *Analysis) addPath(tool, raw, text string) *place {
	p := a.memory.keep(a.env.locate(raw, a.req.Cwd))
	a.items = append(a.items, item{text: text, tool: tool, place: p, why: p.why})
	return p
}

func (a *Analysis) commands() {
	args, err := readArgs(a.req.Args, aboutCommand)
	if err != nil {
		a.unclear = err.Error()
	}
	a.rest = args.rest
	switch {
	case len(args.commands) == 0 && a.unclear == "":
		a.unclear = "it names no command"
	case len(args.commands) > 1:
		a.unclear = "it names more than one command"
	case args.environment:
		a.unclear = "it sets variables of the command's environment"
	}
	if len(args.commands) == 0 {
		a.locateDirs()
	}
	for _, text := range args.commands {
		s := a.scripts.Read(text)
		if a.script == nil {
			a.script = s
			a.items = slices.Grow(a.items, len(s.Commands)+len(s.Redirects))
			a.lookAhead(firstOperand(s))
			a.locateDirs()
		}
		if s.Opaque != "" && a.unclear == "" {
			a.unclear = s.Opaque
		}
		a.follow(args.dirs, s.Chdirs)
		for _, c := range s.Commands {
			a.items = append(a.items, item{text: c.Source, command: c})
		}
		for i := range s.Redirects {
			a.redirect(&s.Redirects[i])
		}
	}
}

// follow finds where the commands run.
func (a *Analysis) follow(dirs []string, chdirs []shell.Chdir) {
	for _, d := range dirs {
		a.goTo(a.env.locate(d, a.req.Cwd))
	}
	a.lost = len(dirs) > 1 || len(dirs) > 0 && len(chdirs) > 0
	for _, c := range chdirs {
		if c.Dynamic || !c.First {
			a.went, a.lost = wentAway, true
		}
		if c.Dynamic {
			continue
		}
		dir := c.Dir.Text
		if c.Dir.Home {
			if a.env.Home == "" {
				a.went, a.lost = wentAway, true
				continue
			}
			dir = a.env.Home + dir[1:]
		} else if strings.HasPrefix(dir, "~") {
			dir = "./" + dir
		}
		a.goTo(a.env.locate(dir, a.req.Cwd))
	}
}

func (a *Analysis) goTo(p place) {
	if p.why != "" || !a.dirOK || len(p.real) != 1 {
		a.went, a.lost = wentAway, true
		return
	}
	for _, d := range append(p.lexical, p.real...) {
		if len(a.dirs) < 8 {
			a.dirs = addNew(slices.Clip(a.dirs), d)
		}
	}
	rel, in := below(p.real[0], a.realCwd)
	switch {
	case !in:
		a.went = wentAway
	case rel != "" && a.went == wentNowhere:
		a.went = wentBelow
	}
}

// firstChdir reports whether c is the cd that the script begins with.
func (a *Analysis) firstChdir(c *shell.Command) bool {
	return a.script != nil && len(a.script.Chdirs) == 1 && a.script.Chdirs[0].First &&
		len(a.script.Commands) > 0 && a.script.Commands[0] == c
}

// redirect adds the file of a redirection, in every directory it may be in.
func (a *Analysis) redirect(rd *shell.Redirect) {
	tool := "read"
	if rd.Write {
		tool = "write"
	}
	if rd.Dynamic != "" {
		a.items = append(a.items, item{text: rd.Source, tool: tool, why: rd.Dynamic})
		return
	}
	raw := rd.Path.Text
	switch {
	case rd.Path.Home && a.env.Home == "":
		a.items = append(a.items, item{text: rd.Source, tool: tool, why: "the home directory is not known"})
		return
	case rd.Path.Home:
		raw = a.env.Home + raw[1:]
	case strings.HasPrefix(raw, "~"):
		raw = "./" + raw // quoted
	}
	p := a.addPath(tool, raw, rd.Source)
	if a.env.isAbs(raw) || a.went == wentNowhere {
		return
	}
	it := &a.items[len(a.items)-1]
	if a.lost {
		it.why = "the directory it is in is known only when it runs"
	}
	for _, d := range a.dirs {
		more := a.env.locate(raw, d)
		for _, x := range more.lexical {
			p.lexical = addNew(p.lexical, x)
		}
		for _, x := range more.real {
			p.real = addNew(p.real, x)
		}
	}
	p.widen()
}

func (a *Analysis) profile(c *shell.Command) *profile {
	if a.profiles == nil {
		a.profiles = map[*shell.Command]*profile{}
	}
	p := a.profiles[c]
	if p == nil {
		p = a.profileOf(c)
		a.profiles[c] = p
	}
	return p
}
