package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// LoadOptions say where a configuration comes from.
type LoadOptions struct {
	// File is the flag --config. When it is empty AGENTHOST_CONFIG counts, and then
	// the default path, whose file may be missing.
	File string
	// Environ is the environment as NAME=VALUE; nil is the process's.
	Environ []string
	// Set are values given by flags, by the path of their key. They win.
	Set map[string]Override
	// KnownEnv are variables of the prefix AGENTHOST_ that are no keys and are not
	// to be warned of.
	KnownEnv []string
	// KnownAgents are the names of the agents that there are beside those that the
	// file adds. Nil checks no name.
	KnownAgents []string
	// Check is a further check of the whole, nil for none. Its error makes the load
	// fail; a Faults is joined with the others.
	Check func(Config) error
}

// Override is a value with what gave it, like "--log-level".
type Override struct{ Value, Source string }

// Load reads the configuration. The error is Faults when it is wrong, and another
// one when the file cannot be read.
func Load(o LoadOptions) (Config, error) {
	data, src, err := o.read()
	if err != nil {
		return Config{}, err
	}
	return o.build(data, src)
}

// source is a file that was found.
type source struct {
	path string // empty when there is none
	warn string // what is odd about it
}

// DefaultFile is the path of the configuration file when nobody names one, empty
// when there is no home directory.
func DefaultFile(environ []string) string {
	env := environment(environ)
	if dir := env["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) { // the specification says to ignore others
		return filepath.Join(dir, "agenthost", "config.yaml")
	}
	if dir := env["APPDATA"]; runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "agenthost", "config.yaml")
	}
	if home := homeOf(env); home != "" {
		return filepath.Join(home, ".config", "agenthost", "config.yaml")
	}
	return ""
}

// Path is the file that Load reads, and whether it must be there.
func (o LoadOptions) Path() (path string, must bool) {
	environ := o.environ()
	if path = o.File; path == "" {
		path = environment(environ)[prefix+"CONFIG"]
	}
	if path != "" {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		return path, true
	}
	return DefaultFile(environ), false
}

func (o LoadOptions) environ() []string {
	if o.Environ == nil {
		return os.Environ()
	}
	return o.Environ
}

// environment makes a map of NAME=VALUE; the last of a name counts.
func environment(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok {
			env[name] = value
		}
	}
	return env
}

func homeOf(env map[string]string) string {
	if home := env["HOME"]; home != "" || runtime.GOOS != "windows" {
		return home
	}
	return env["USERPROFILE"]
}

// read reads the file. A default file that is missing is an empty one.
func (o LoadOptions) read() ([]byte, source, error) {
	path, must := o.Path()
	if path == "" {
		return nil, source{}, nil
	}
	data, info, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, source{}, nil
	}
	if err != nil {
		return nil, source{}, fmt.Errorf("reading the configuration: %w", err)
	}
	s := source{path: path}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		s.warn = path + " can be written by everybody: so can the rules of what agents may do"
	}
	return data, s, nil
}

// build makes a Config of a file's content and the other layers.
func (o LoadOptions) build(data []byte, src source) (Config, error) {
	env := environment(o.environ())
	home := homeOf(env)
	doc, faults := parseFile(data, src.path, home, o.KnownAgents)
	l := layers{
		v: viper.NewWithOptions(viper.KeyDelimiter("::")), home: home, faults: faults, origins: map[string]string{}, values: map[string]any{},
	}
	l.defaults(env)
	l.file(doc)
	l.environment(env)
	l.overrides(o.Set)

	c := Config{File: src.path, Custom: doc.custom, agents: doc.agents, prices: doc.prices, origins: l.origins}
	if err := l.v.UnmarshalExact(&c); err != nil {
		// The values are checked, so this is a mistake in the table of keys.
		return Config{}, fmt.Errorf("filling the configuration: %w", err)
	}
	c.Permissions.Rules = doc.rules
	if src.warn != "" {
		c.Warnings = append(c.Warnings, src.warn)
	}
	c.Warnings = append(c.Warnings, doc.warnings...)
	c.Warnings = append(c.Warnings, l.agentEnvironment(env, c.agents, o.KnownEnv, doc.known)...)
	l.whole(c)
	if len(l.faults) > 0 {
		return Config{}, l.faults
	}
	if o.Check != nil {
		if err := o.Check(c); err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

// layers lays the sources over each other.
type layers struct {
	v       *viper.Viper
	home    string
	origins map[string]string
	values  map[string]any
	faults  Faults
}

// put parses a value and gives it to set.
func (l *layers) put(k key, text string, from Fault, set func(string, any)) {
	x, err := k.parse(text, l.home)
	if err != nil {
		from.Text = err.Error()
		from.Path = k.path
		l.faults = append(l.faults, from)
		return
	}
	l.values[k.path] = x
	l.origins[k.path] = from.File
	if from.Line > 0 {
		l.origins[k.path] = fmt.Sprintf("%s:%d", from.File, from.Line)
	}
	set(strings.ReplaceAll(k.path, ".", "::"), x)
}

func (l *layers) defaults(env map[string]string) {
	for _, k := range keys() {
		switch {
		case k.path == "stateDir":
			k.def = "~/.local/state/agenthost"
			if dir := env["XDG_STATE_HOME"]; filepath.IsAbs(dir) {
				k.def = filepath.Join(dir, "agenthost")
			}
			if l.home == "" && strings.HasPrefix(k.def, "~") {
				continue // whole says so, unless a layer sets it
			}
		case k.def == "":
			continue
		}
		l.put(k, k.def, Fault{File: "default"}, l.v.SetDefault)
	}
}

func (l *layers) file(d document) {
	tree := map[string]any{}
	for _, k := range keys() {
		v, ok := d.values[k.path]
		if !ok {
			continue
		}
		l.put(k, v.text, v.from, func(path string, x any) {
			at := tree
			section, name, nested := strings.Cut(path, "::")
			if nested {
				if at[section] == nil {
					at[section] = map[string]any{}
				}
				at, _ = at[section].(map[string]any)
				section = name
			}
			at[section] = x
		})
	}
	if err := l.v.MergeConfigMap(tree); err != nil {
		l.faults = append(l.faults, Fault{Text: err.Error()})
	}
}

// environment lays the variables over it. An empty one counts as not set.
func (l *layers) environment(env map[string]string) {
	for _, k := range keys() {
		if text := env[k.env()]; text != "" {
			l.put(k, text, Fault{File: k.env()}, l.v.Set)
		}
	}
}

func (l *layers) overrides(set map[string]Override) {
	table := map[string]key{}
	for _, k := range keys() {
		table[k.path] = k
	}
	for _, path := range slices.Sorted(maps.Keys(set)) {
		k, ok := table[path]
		if !ok {
			l.faults = append(l.faults, Fault{File: set[path].Source, Path: path, Text: "unknown key" + suggest(path, slices.Sorted(maps.Keys(table)))})
			continue
		}
		l.put(k, set[path].Value, Fault{File: set[path].Source}, l.v.Set)
	}
}

// agentEnvironment applies AGENTHOST_AGENTS_NAME_MODEL, _MODE and _THINKING, and
// returns a warning for each variable of the prefix that means nothing. names are the
// agents that there are, nil for any.
func (l *layers) agentEnvironment(env map[string]string, agents map[string]Agent, also, names []string) (warnings []string) {
	known := append([]string{prefix + "CONFIG"}, also...)
	for _, k := range keys() {
		known = append(known, k.env())
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, prefix) || contains(known, name) {
			continue
		}
		rest, ok := strings.CutPrefix(name, prefix+"AGENTS_")
		i := strings.LastIndexByte(rest, '_')
		if ok && i > 0 {
			agent := agentOf(rest[:i], agents, names)
			known := names == nil || contains(names, agent)
			if known && setAgent(agents, agent, rest[i+1:], env[name]) {
				continue
			}
			if !known {
				warnings = append(warnings, fmt.Sprintf("the variable %s means nothing: unknown agent %q%s", name, agent, suggest(agent, names)))
				continue
			}
		}
		warnings = append(warnings, fmt.Sprintf("the variable %s means nothing%s", name, suggest(name, known)))
	}
	return warnings
}

// agentOf is the agent whose name a variable tells: one that the file has something
// for, or else one of names.
func agentOf(variable string, agents map[string]Agent, names []string) string {
	for _, have := range slices.Concat(slices.Sorted(maps.Keys(agents)), names) {
		if snake(strings.ToLower(have)) == variable {
			return have
		}
	}
	return strings.ReplaceAll(strings.ToLower(variable), "_", "-")
}

// setAgent sets one value of an agent. Empty values count as not set.
func setAgent(agents map[string]Agent, name, setting, text string) bool {
	a := agents[name]
	field, ok := map[string]*string{"MODEL": &a.Model, "MODE": &a.Mode, "THINKING": &a.Thinking}[setting]
	if ok && text != "" {
		*field = text
		agents[name] = a
	}
	return ok
}

// whole checks what concerns several keys.
func (l *layers) whole(c Config) {
	add := func(path, text string) {
		f := Fault{Path: path, Text: text}
		if at := l.origins[path]; at != "default" {
			f.File = at
		}
		l.faults = append(l.faults, f)
	}
	if c.StateDir == "" && l.values["stateDir"] == nil {
		add("stateDir", "want a directory, got none: neither HOME nor XDG_STATE_HOME is set")
	}
	if c.Permissions.Mode == "bypassPermissions" && !c.Permissions.AllowBypass {
		add("permissions.mode", "want permissions.allowBypass: true with bypassPermissions, got false")
	}
	modes := key{kind: word, values: []string{"default", "acceptEdits", "plan", "bypassPermissions"}}
	for _, name := range c.Agents() {
		mode := c.agents[name].Mode
		if mode == "" {
			continue
		}
		if _, err := modes.parse(mode, ""); err != nil {
			add("agents."+name+".mode", err.Error())
		}
		if mode == "bypassPermissions" && !c.Permissions.AllowBypass {
			add("agents."+name+".mode", "want permissions.allowBypass: true with bypassPermissions, got false")
		}
	}
}
