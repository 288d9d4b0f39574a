package config

import (
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// kind is what a key's value is.
type kind int

const (
	text     kind = iota
	word          // one of key.values
	boolean       // true or false
	count         // an integer
	size          // bytes: 65536, 64KiB, 16MiB, 1GiB
	duration      // 20ms, 10m, 2h, 30d, or 0
	dir           // an absolute path; ~ is the home directory
	address       // ws:// or wss://
)

// key is one scalar of the configuration.
type key struct {
	path string
	kind kind
	// def is the default as one would write it, empty for none.
	def    string
	values []string
	// least is the smallest number, size (bytes) or duration (nanoseconds).
	least int64
	// optional: 0 is allowed although it is below least.
	optional bool
	doc      string
}

// keys is the table: everything that is not a list or a map of the user's.
func keys() []key {
	return []key{
		{path: "stateDir", kind: dir, doc: "Where sessions, journals, grants and sockets are kept. Default: $XDG_STATE_HOME/agenthost or ~/.local/state/agenthost."},
		{path: "log.level", kind: word, def: "info", values: []string{"debug", "info", "warn", "error"}, doc: "What the host logs on stderr. debug includes what agents say."},
		{path: "log.format", kind: word, def: "text", values: []string{"text", "json"}, doc: "How it is written."},
		{
			path: "permissions.mode", kind: word, def: "default", values: []string{"default", "acceptEdits", "plan", "bypassPermissions"},
			doc: "The permission mode that sessions begin with.",
		},
		{path: "permissions.allowBypass", kind: boolean, def: "false", doc: "Lets sessions use bypassPermissions at all. A remote client cannot switch this on."},
		{path: "permissions.timeout", kind: duration, def: "10m", doc: "How long an ask waits for a person before it is rejected; 0 waits for ever."},
		{
			path: "permissions.onAsk", kind: word, values: []string{"wait", "deny", "fail", "prompt"},
			doc: "What becomes of an ask that needs a person: wait for one, deny at once, fail the run, prompt at the terminal. Default: prompt at a terminal, deny without one, wait with --input envelopes.",
		},
		{path: "permissions.remember", kind: word, def: "host", values: []string{"host", "agent"}, doc: "Who remembers an allow-always. What an agent remembers leaves no trace."},
		{path: "journal.sync", kind: word, def: "interval", values: []string{"off", "interval", "always"}, doc: "When envelopes are forced to the disk: never, shortly after, or before anything goes on. Decisions and ends of turns always are, except with off."},
		{path: "journal.interval", kind: duration, def: "20ms", least: int64(time.Millisecond), doc: "How long after an envelope the disk is forced with sync: interval."},
		{path: "journal.segmentBytes", kind: size, def: "16MiB", least: 64 << 10, doc: "The size from which on a journal begins a new file."},
		{path: "journal.retention", kind: duration, def: "0", least: int64(time.Hour), optional: true, doc: "How long a session that is over is kept; 0 keeps it for ever."},
		{path: "nativeLog.enabled", kind: boolean, def: "true", doc: "Keeps what agents and host said to each other, without secrets, for finding faults."},
		{path: "nativeLog.fileBytes", kind: size, def: "16MiB", least: 64 << 10, doc: "The size from which on a new file is begun."},
		{path: "nativeLog.files", kind: count, def: "8", least: 2, doc: "How many files are kept for each session."},
		{path: "limits.lineBytes", kind: size, def: "64MiB", least: 1 << 20, doc: "The longest line of an agent's output; longer ones are dropped with a notice."},
		{path: "limits.outputBytes", kind: size, def: "256KiB", least: 1 << 10, doc: "The longest tool output in an envelope; longer ones are cut and marked. The native log has them whole."},
		{path: "limits.stderrBytes", kind: size, def: "16KiB", least: 1 << 10, doc: "How much of the end of an agent's stderr is kept for error reports."},
		{path: "limits.start", kind: duration, def: "2m", least: int64(time.Second), doc: "How long an agent may take until its session is open."},
		{path: "limits.stall", kind: duration, def: "1m", least: int64(time.Second), optional: true, doc: "After how long without a sign of life of a busy agent a notice is given, five times that while a tool runs; 0 for never."},
		{path: "limits.abort", kind: duration, def: "20s", least: int64(time.Second), doc: "How long an agent may take to end an aborted turn before it is stopped."},
		{path: "limits.stop", kind: duration, def: "3s", least: int64(10 * time.Millisecond), doc: "The grace of each step of stopping an agent."},
		{path: "limits.quiet", kind: duration, def: "2s", least: int64(10 * time.Millisecond), doc: "How long an agent that spoke without a prompt may be silent until its turn is taken as ended."},
		{path: "limits.restarts", kind: count, def: "3", doc: "How often in a row an agent that died is started again for the next prompt."},
		{path: "serve.maxSessions", kind: count, def: "64", least: 1, doc: "How many agents `agenthost serve` runs at once; one more is refused."},
		{path: "serve.idle", kind: duration, def: "0", least: int64(time.Second), optional: true, doc: "After how long without a turn and a viewer an agent is stopped; its session stays and goes on with the next message. 0 for never."},
		{path: "serve.resume", kind: boolean, def: "false", doc: "Starts the agents again that ran when the host ended. Without it they start with the next message."},
		{path: "serve.restart", kind: word, def: "message", values: []string{"message", "always"}, doc: "When an agent that died is started again: with the next message, or always, by itself and with a back-off."},
		{path: "serve.filesBytes", kind: size, def: "1GiB", least: 1 << 20, doc: "How much uploaded files may take; old ones go for new ones."},
		{path: "relay.url", kind: address, doc: "The relay that `agenthost serve` dials out to, ws:// or wss://; none when empty."},
		{path: "relay.tokenFile", kind: dir, doc: "The file that holds the host's token for the relay."},
		{path: "relay.profile", kind: word, def: "extended", values: []string{"extended", "strict"}, doc: "strict leaves out everything beyond the draft of session protocol v2."},
	}
}

// sections are the top-level keys that hold others, with what is said of them.
func sections() []struct{ name, doc string } {
	return []struct{ name, doc string }{
		{"log", "What the host itself logs."},
		{"permissions", "What decides when no person does."},
		{"journal", "How sessions are kept."},
		{"nativeLog", "The raw frames between agents and host."},
		{"limits", "Bounds on what agents may send and how long they may take."},
		{"serve", "The host as a daemon."},
		{"relay", "Where the host dials out to."},
		{"agents", "Settings by agent, and agents of your own."},
		{"prices", "What models cost, for agents that report no cost."},
	}
}

// env is the variable of the key: AGENTHOST_JOURNAL_SEGMENT_BYTES.
func (k key) env() string { return prefix + snake(k.path) }

// prefix begins every variable.
const prefix = "AGENTHOST_"

// snake turns a path into the form of variables.
func snake(path string) string {
	var b strings.Builder
	for i, r := range path {
		switch {
		case r == '.' || r == '-':
			r = '_'
		case unicode.IsUpper(r) && i > 0:
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// parse reads a value as a person writes it. home is for ~.
func (k key) parse(s, home string) (any, error) {
	switch k.kind {
	case word:
		if !slices.Contains(k.values, s) {
			return nil, fmt.Errorf("want one of %s, got %q%s", strings.Join(k.values, ", "), s, suggest(s, k.values))
		}
		return s, nil
	case boolean:
		switch s {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("want true or false, got %q", s)
	case count:
		n, err := strconv.Atoi(s)
		if err != nil || int64(n) < k.least {
			return nil, fmt.Errorf("want an integer of at least %d, got %q", k.least, s)
		}
		return n, nil
	case size:
		n, err := parseSize(s)
		if err != nil {
			return nil, err
		}
		if n < k.least {
			return nil, fmt.Errorf("want at least %s, got %q", formatSize(k.least), s)
		}
		return n, nil
	case duration:
		d, err := parseDuration(s)
		if err != nil {
			return nil, err
		}
		if least := time.Duration(k.least); d < least && (d != 0 || !k.optional) {
			return nil, fmt.Errorf("want at least %s, got %q", least, s)
		}
		return d, nil
	case dir:
		return parsePath(s, home)
	case address:
		return parseAddress(s)
	default:
		return s, nil
	}
}

// parseSize reads a number of bytes with an optional unit.
func parseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGTiB ")
	unit := strings.TrimSpace(s[len(digits):])
	factor, ok := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 0 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("want a number of bytes such as 65536, 64KiB or 16MiB, got %q", s)
	}
	return n * factor, nil
}

// formatSize writes a number of bytes with the largest unit that leaves no rest.
func formatSize(n int64) string {
	unit := "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n < 1024 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	if unit == "B" {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10) + unit
}

// parseDuration reads a duration of 0 or more; days are allowed.
func parseDuration(s string) (time.Duration, error) {
	fault := fmt.Errorf("want a duration such as 20ms, 10m, 2h or 30d, or 0, got %q", s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 36500 {
			return 0, fault
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fault
	}
	return d, nil
}

// parsePath reads an absolute path.
func parsePath(s, home string) (string, error) {
	if s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, `~\`) {
		if home == "" {
			return "", fmt.Errorf("want a home directory for %q, got none: HOME is not set", s)
		}
		s = filepath.Join(home, s[1:])
	}
	if !filepath.IsAbs(s) {
		return "", fmt.Errorf("want an absolute path or one that begins with ~/, got %q", s)
	}
	return filepath.Clean(s), nil
}

// parseAddress reads a relay's URL, empty for none.
func parseAddress(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return "", fmt.Errorf("want a URL such as wss://relay.example/, got %q", redactURL(s))
	}
	return s, nil
}

// redactURL leaves out what of a URL may be secret.
func redactURL(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i] + "…"
	}
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			s = scheme + "://…" + rest[at:]
		}
	}
	return s
}
