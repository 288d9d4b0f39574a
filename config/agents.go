package config

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// agents reads agents: settings by name, and agents of the user's own under
// "custom".
func (r *reader) agents(n *yaml.Node, path string, d *document) {
	r.each(n, path, nil, func(name, at string, v *yaml.Node) {
		if name == "custom" {
			r.items(v, at, func(at string, v *yaml.Node) { d.custom = append(d.custom, r.customAgent(v, at, d.custom)) })
			return
		}
		d.agents[name] = r.agent(v, at)
	})
	if d.known == nil {
		return
	}
	d.known = slices.Clone(d.known)
	for _, a := range d.custom {
		d.known = append(d.known, a.Name)
	}
	r.strangers(n, path, d.known)
}

// strangers has a fault for each agent that there is not: what is set for it would be
// set for nobody.
func (r *reader) strangers(n *yaml.Node, path string, known []string) {
	n = resolve(n)
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		k := resolve(n.Content[i])
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || k.Value == "custom" || contains(known, k.Value) {
			continue
		}
		hint := suggest(k.Value, slices.Concat(known, []string{"custom"}))
		if hint == "" {
			hint = "; one of your own stands under agents.custom"
		}
		r.fault(k, join(path, k.Value), "unknown agent %q%s", k.Value, hint)
	}
}

func (r *reader) agent(n *yaml.Node, path string) Agent {
	var a Agent
	known := []string{"command", "args", "env", "passEnv", "model", "mode", "thinking", "settings"}
	r.each(n, path, known, func(name, at string, v *yaml.Node) {
		switch name {
		case "command":
			a.Command = r.command(v, at)
		case "args":
			a.Args = r.list(v, at)
		case "env":
			a.Env = r.env(v, at)
		case "passEnv":
			a.PassEnv = r.list(v, at)
		case "model":
			a.Model = r.scalar(v, at)
		case "mode":
			a.Mode = r.scalar(v, at)
		case "thinking":
			a.Thinking = r.scalar(v, at)
		case "settings":
			a.Settings = r.texts(v, at)
		}
	})
	return a
}

// command reads an argv. A text alone with spaces in it was meant for a shell,
// which is not used.
func (r *reader) command(n *yaml.Node, path string) []string {
	argv := r.list(n, path)
	if resolve(n).Kind == yaml.ScalarNode && strings.ContainsAny(resolve(n).Value, " \t\"'") {
		r.fault(n, path, `want a list such as [agent, --acp], got %s`, describe(resolve(n)))
	} else if len(argv) > 0 && argv[0] == "" {
		r.fault(n, path, "want a program, got an empty text")
	}
	return argv
}

// env reads variables: a mapping, or a list of NAME=VALUE.
func (r *reader) env(n *yaml.Node, path string) []Pair {
	var env []Pair
	add := func(v *yaml.Node, at, name, value string) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			r.fault(v, at, "want the name and value of a variable, got %q", name)
			return
		}
		env = append(env, Pair{name, value})
	}
	if n = resolve(n); n.Kind != yaml.SequenceNode {
		r.each(n, path, nil, func(name, at string, v *yaml.Node) { add(v, at, name, r.scalar(v, at)) })
		return env
	}
	r.items(n, path, func(at string, v *yaml.Node) {
		text := r.scalar(v, at)
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			r.fault(v, at, "want NAME=VALUE, got no =") // it may be a secret
			return
		}
		add(v, at, name, value)
	})
	return env
}

// customAgent reads one agent of the user's own; before are the ones above it.
func (r *reader) customAgent(n *yaml.Node, path string, before []CustomAgent) CustomAgent {
	a := CustomAgent{At: r.at(n, path)}
	known := []string{"name", "title", "command", "install", "login", "versionArgs", "env", "passEnv", "quirks"}
	r.each(n, path, known, func(name, at string, v *yaml.Node) {
		switch name {
		case "name":
			a.Name = r.scalar(v, at)
		case "title":
			a.Title = r.scalar(v, at)
		case "command":
			a.Command = r.command(v, at)
		case "install":
			a.Install = r.scalar(v, at)
		case "login":
			a.Login = r.scalar(v, at)
		case "versionArgs":
			a.VersionArgs = r.list(v, at)
		case "env":
			a.Env = r.env(v, at)
		case "passEnv":
			a.PassEnv = r.list(v, at)
		case "quirks":
			a.Quirks = r.quirks(v, at)
		}
	})
	switch {
	case a.Name == "":
		r.fault(n, path, "want a name, got none")
	case a.Name == "custom" || strings.ContainsAny(a.Name, " \t/\\") || strings.HasPrefix(a.Name, "-"):
		r.fault(n, path+".name", "want a name without spaces and slashes, got %q", a.Name)
	}
	if len(a.Command) == 0 {
		r.fault(n, path, "want a command, got none")
	}
	for _, b := range before {
		if a.Name != "" && b.Name == a.Name {
			r.fault(n, path+".name", "want a name of its own, got %q again", a.Name)
		}
	}
	return a
}

// quirks reads an agent's deviations from ACP.
func (r *reader) quirks(n *yaml.Node, path string) Quirks {
	var q Quirks
	flags := map[string]*bool{
		"nameFromTitle": &q.NameFromTitle, "titleIsCommand": &q.TitleIsCommand, "readFile": &q.ReadFile, "writeFile": &q.WriteFile,
		"terminal": &q.Terminal, "rewind": &q.Rewind, "noResume": &q.NoResume, "imagesAlone": &q.ImagesAlone,
		"missingReadsEmpty": &q.MissingReadsEmpty, "noElicitation": &q.NoElicitation, "subagents": &q.Subagents,
	}
	texts := map[string]*string{
		"startMode": &q.StartMode, "nameFromID": &q.NameFromID, "noLoad": &q.NoLoad, "errorText": &q.ErrorText,
		"since": &q.Since,
	}
	times := map[string]*time.Duration{"replaySettle": &q.ReplaySettle, "stubWait": &q.StubWait}
	known := []string{"modes", "freeModes", "tools", "usage", "steer", "fork", "narrowOptions", "launchTakes"}
	for name := range times {
		known = append(known, name)
	}
	for name := range flags {
		known = append(known, name)
	}
	for name := range texts {
		known = append(known, name)
	}
	slices.Sort(known)
	r.each(n, path, known, func(name, at string, v *yaml.Node) {
		switch {
		case flags[name] != nil:
			*flags[name] = r.flag(v, at)
		case texts[name] != nil:
			*texts[name] = r.scalar(v, at)
		case name == "modes":
			q.Modes = r.texts(v, at)
		case name == "freeModes":
			q.FreeModes = r.list(v, at)
		case name == "tools":
			q.Tools = r.texts(v, at)
		case name == "usage":
			q.Usage = r.word(v, at, "turn", "session", "last-request")
		case name == "steer":
			q.Steer = r.word(v, at, "advertised", "prompt", "drain", "never")
		case name == "fork":
			q.Fork = r.word(v, at, "advertised", "branch", "never")
		case name == "narrowOptions":
			q.NarrowOptions = r.list(v, at)
		case name == "launchTakes":
			q.LaunchTakes = r.list(v, at)
			for _, o := range q.LaunchTakes {
				if !slices.Contains(LaunchOptions(), o) {
					r.fault(v, at, "want some of %q, got %q", LaunchOptions(), o)
				}
			}
		case times[name] != nil:
			d, err := parseDuration(r.scalar(v, at))
			if err != nil {
				r.fault(v, at, "%v", err)
			}
			*times[name] = d
		}
	})
	return q
}
