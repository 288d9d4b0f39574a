package config

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/agenthost/agenthost/internal/redact"
)

// Show writes the configuration in force as YAML, each value with where it comes
// from. Secrets are masked. It can be read back, but for what is masked.
func (c Config) Show() string {
	b := printer{secrets: redact.New(c.Secrets()...)}
	if c.File == "" {
		b.WriteString("# no file\n")
	} else {
		fmt.Fprintf(&b, "# %s\n", c.File)
	}
	section := ""
	for _, k := range keys() {
		name := k.path
		if head, rest, nested := strings.Cut(k.path, "."); nested {
			if head != section {
				if section == "permissions" {
					c.showRules(&b)
				}
				fmt.Fprintf(&b, "%s:\n", head)
				section = head
			}
			name = "  " + rest
		}
		fmt.Fprintf(&b, "%s: %s", name, b.scalar(c.text(k)))
		if origin := c.origins[k.path]; origin != "" {
			fmt.Fprintf(&b, "  # %s", origin)
		}
		b.WriteByte('\n')
	}
	c.showAgents(&b)
	c.showPrices(&b)
	return b.String()
}

// printer writes YAML without secrets.
type printer struct {
	strings.Builder
	secrets *redact.Redactor
}

// text writes a key's value as one would in the file.
func (c Config) text(k key) string {
	switch v := k.of(c).(type) {
	case time.Duration:
		return formatDuration(v)
	case int64:
		return formatSize(v)
	default:
		return fmt.Sprint(v)
	}
}

// of is the key's value in c.
func (k key) of(c Config) any {
	return map[string]any{
		"stateDir": c.StateDir, "log.level": c.Log.Level, "log.format": c.Log.Format,
		"permissions.mode": c.Permissions.Mode, "permissions.allowBypass": c.Permissions.AllowBypass, "permissions.timeout": c.Permissions.Timeout,
		"permissions.onAsk": c.Permissions.OnAsk, "permissions.remember": c.Permissions.Remember,
		"journal.sync": c.Journal.Sync, "journal.interval": c.Journal.Interval, "journal.segmentBytes": c.Journal.SegmentBytes,
		"journal.retention": c.Journal.Retention, "nativeLog.enabled": c.NativeLog.Enabled, "nativeLog.fileBytes": c.NativeLog.FileBytes,
		"nativeLog.files": c.NativeLog.Files, "limits.lineBytes": c.Limits.LineBytes, "limits.outputBytes": c.Limits.OutputBytes,
		"limits.stderrBytes": c.Limits.StderrBytes, "limits.start": c.Limits.Start, "limits.stall": c.Limits.Stall, "limits.abort": c.Limits.Abort,
		"limits.stop": c.Limits.Stop, "limits.quiet": c.Limits.Quiet, "limits.restarts": c.Limits.Restarts,
		"serve.maxSessions": c.Serve.MaxSessions, "serve.idle": c.Serve.Idle, "serve.resume": c.Serve.Resume,
		"serve.restart": c.Serve.Restart, "serve.filesBytes": c.Serve.FilesBytes,
		"relay.url": c.Relay.URL, "relay.tokenFile": c.Relay.TokenFile, "relay.profile": c.Relay.Profile,
	}[k.path]
}

// formatDuration leaves out zero units: 10m, not 10m0s.
func formatDuration(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// scalar writes a text so that it reads back as that text.
func (b *printer) scalar(s string) string {
	if s = b.secrets.String(s); s == "" {
		return ""
	}
	return strings.TrimSuffix(nodeYAML(yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}), "\n")
}

func nodeYAML(n yaml.Node) string {
	// A number or a boolean needs no quotes: every value is read as it is written.
	if plainWord(n.Value) {
		return n.Value
	}
	n.Style = yaml.DoubleQuotedStyle
	out, err := yaml.Marshal(&n)
	if err != nil {
		return `""`
	}
	return string(out)
}

// plainWord reports whether a text needs no quotes in YAML.
func plainWord(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && r != '.' && r != '/' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return s != "" && s[0] != '-' && !slices.Contains([]string{"null", "Null", "NULL"}, s)
}

func (c Config) showRules(b *printer) {
	if len(c.Permissions.Rules) == 0 {
		return
	}
	b.WriteString("  rules:\n")
	for _, r := range c.Permissions.Rules {
		for _, kind := range []struct{ name, text string }{{"allow", r.Allow}, {"ask", r.Ask}, {"deny", r.Deny}} {
			if kind.text != "" {
				fmt.Fprintf(b, "    - %s: %s  # %s\n", kind.name, b.scalar(kind.text), r.At)
			}
		}
		if len(r.Agents) > 0 {
			fmt.Fprintf(b, "      agents: %s\n", b.list(r.Agents))
		}
		if r.Cwd != "" {
			fmt.Fprintf(b, "      cwd: %s\n", b.scalar(r.Cwd))
		}
		if r.Subagent != nil {
			fmt.Fprintf(b, "      subagent: %t\n", *r.Subagent)
		}
	}
}

func (b *printer) list(list []string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		if texts[i] = b.scalar(s); s == "" {
			texts[i] = `""`
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func (c Config) showAgents(b *printer) {
	if len(c.agents) == 0 && len(c.Custom) == 0 {
		return
	}
	b.WriteString("agents:\n")
	for _, name := range c.Agents() {
		a := c.agents[name]
		fmt.Fprintf(b, "  %s:\n", b.scalar(name))
		showLists(b, "    ", a.Command, a.Args, a.PassEnv)
		showTexts(b, "    ", [][2]string{{"model", a.Model}, {"mode", a.Mode}, {"thinking", a.Thinking}})
		showPairs(b, "    ", "env", a.Env)
		var settings []Pair
		for name, value := range a.Settings {
			settings = append(settings, Pair{name, value})
		}
		slices.SortFunc(settings, func(a, b Pair) int { return strings.Compare(a.Name, b.Name) })
		showPairs(b, "    ", "settings", settings)
	}
	if len(c.Custom) == 0 {
		return
	}
	b.WriteString("  custom:\n")
	for _, a := range c.Custom {
		fmt.Fprintf(b, "    - name: %s  # %s\n", b.scalar(a.Name), a.At)
		showTexts(b, "      ", [][2]string{{"title", a.Title}, {"install", a.Install}, {"login", a.Login}})
		showLists(b, "      ", a.Command, nil, a.PassEnv)
		if len(a.VersionArgs) > 0 {
			fmt.Fprintf(b, "      versionArgs: %s\n", b.list(a.VersionArgs))
		}
		showPairs(b, "      ", "env", a.Env)
	}
}

func showTexts(b *printer, indent string, texts [][2]string) {
	for _, t := range texts {
		if t[1] != "" {
			fmt.Fprintf(b, "%s%s: %s\n", indent, t[0], b.scalar(t[1]))
		}
	}
}

func showLists(b *printer, indent string, command, args, pass []string) {
	for _, l := range []struct {
		name string
		list []string
	}{{"command", command}, {"args", args}, {"passEnv", pass}} {
		if l.list != nil {
			fmt.Fprintf(b, "%s%s: %s\n", indent, l.name, b.list(l.list))
		}
	}
}

func showPairs(b *printer, indent, name string, pairs []Pair) {
	if len(pairs) == 0 {
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, name)
	for _, p := range pairs {
		value := p.Value
		if redact.SecretName(p.Name) {
			value = redact.Mask
		}
		fmt.Fprintf(b, "%s  %s: %s\n", indent, b.scalar(p.Name), b.scalar(value))
	}
}

func (c Config) showPrices(b *printer) {
	if len(c.prices) == 0 {
		return
	}
	b.WriteString("prices:\n")
	models := make([]string, 0, len(c.prices))
	for m := range c.prices {
		models = append(models, m)
	}
	slices.Sort(models)
	for _, m := range models {
		p := c.prices[m]
		fmt.Fprintf(b, "  %s: {input: %g, output: %g, cacheRead: %g, cacheWrite: %g}\n", b.scalar(m), p.Input, p.Output, p.CacheRead, p.CacheWrite)
	}
}

// Secrets are the values of the configuration that are to be kept out of every
// log: give them to redact.New.
func (c Config) Secrets() []string {
	var secrets []string
	add := func(pairs []Pair) {
		for _, p := range pairs {
			if redact.SecretName(p.Name) {
				secrets = append(secrets, p.Value)
			}
		}
	}
	for _, a := range c.agents {
		add(a.Env)
		for name, value := range a.Settings {
			add([]Pair{{name, value}})
		}
	}
	for _, a := range c.Custom {
		add(a.Env)
	}
	slices.Sort(secrets)
	return slices.Compact(secrets)
}

// LogValue keeps a Config that is logged by mistake from telling its secrets.
func (c Config) LogValue() slog.Value { return slog.StringValue("config of " + c.File) }

// String is for fmt; like LogValue it tells no secrets.
func (c Config) String() string { return "config of " + c.File }

// GoString is for %#v.
func (c Config) GoString() string { return c.String() }
