package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper is a program that runs the command in its arguments.
type wrapper struct {
	// transparent: running it is no more than running the command.
	transparent bool
	// flags are short options that stand alone, valued those that take the rest
	// of the word or the next one.
	flags, valued string
	// long are long options that stand alone or carry =value, longValued those
	// that may take the next word.
	long, longValued []string
	// unclear are short options after which the command counts as not transparent.
	unclear string
	// operands come before the command: a duration, a directory.
	operands int
	// sub is a word that must come first: uv run.
	sub string
	// assigns: NAME=value before the command sets its environment.
	assigns bool
	// script: the arguments are joined and given to a shell.
	script bool
	// numeric: -10 is an option.
	numeric bool
}

func lookupWrapper(name string) (wrapper, bool) {
	switch name {
	case "nohup":
		return wrapper{transparent: true, long: []string{"help", "version"}}, true
	case "nice":
		return wrapper{transparent: true, valued: "n", longValued: []string{"adjustment"}, numeric: true}, true
	case "ionice":
		return wrapper{transparent: true, flags: "t", valued: "cn", long: []string{"ignore"}, longValued: []string{"class", "classdata"}}, true
	case "timeout", "gtimeout":
		return wrapper{
			transparent: true, flags: "v", valued: "ks", long: []string{"foreground", "preserve-status", "verbose"},
			longValued: []string{"kill-after", "signal"}, operands: 1,
		}, true
	case "time":
		return wrapper{transparent: true, flags: "pvlh", valued: "fo", unclear: "oa", long: []string{"portability", "verbose"}, longValued: []string{"format"}}, true
	case "stdbuf":
		return wrapper{transparent: true, valued: "ioe", longValued: []string{"input", "output", "error"}}, true
	case "setsid":
		return wrapper{transparent: true, flags: "cfw", long: []string{"ctty", "fork", "wait"}}, true
	case "exec":
		return wrapper{transparent: true, flags: "cl", valued: "a"}, true
	case "builtin", "noglob", "nocorrect":
		return wrapper{transparent: true}, true
	case "command":
		return wrapper{transparent: true, flags: "p"}, true
	case "caffeinate":
		return wrapper{transparent: true, flags: "disum", valued: "tw"}, true
	case "busybox", "toybox":
		return wrapper{transparent: true}, true
	case "unbuffer":
		return wrapper{transparent: true, flags: "p"}, true
	case "sudo":
		return wrapper{
			flags: "AbBEHKkNnPS", valued: "CDghpRrTtuU", long: []string{"askpass", "background", "bell", "preserve-env", "set-home", "non-interactive", "reset-timestamp", "stdin"},
			longValued: []string{"user", "group", "chdir", "chroot", "host", "prompt", "close-from", "role", "type", "command-timeout", "other-user"}, assigns: true,
		}, true
	case "doas":
		return wrapper{flags: "nL", valued: "uCa"}, true
	case "chroot":
		return wrapper{longValued: []string{"userspec", "groups"}, long: []string{"skip-chdir"}, operands: 1}, true
	case "taskset":
		return wrapper{flags: "ca", operands: 1}, true
	case "chrt":
		return wrapper{flags: "abfior", operands: 1}, true
	case "strace", "ltrace":
		return wrapper{flags: "cCdfhiqrtTvVxyFknwzZ", valued: "abeEIoOpPsSuUX"}, true
	case "uv", "poetry", "pipenv", "pdm", "rye", "hatch":
		return wrapper{sub: "run"}, true
	case "bundle", "mise", "direnv", "rbenv", "pyenv", "asdf", "rtx", "fnm", "volta":
		return wrapper{sub: "exec"}, true
	case "watch":
		return wrapper{
			transparent: true, flags: "bcdegprtwxCR", valued: "nq", long: []string{"beep", "color", "no-color", "errexit", "chgexit", "precise", "no-rerun", "no-title", "no-wrap", "exec", "differences"},
			longValued: []string{"interval", "equexit"}, script: true,
		}, true
	}
	return wrapper{}, false
}

// unwrap follows what cmd runs.
func (r *reader) unwrap(name string, cmd *Command, redirs []*syntax.Redirect) {
	if r.depth >= maxDepth {
		if isWrapper(name) {
			cmd.blind("it wraps too many commands to follow")
		}
		return
	}
	switch {
	case isShell(name):
		r.shell(cmd, redirs)
	case name == "env":
		r.env(cmd)
	case name == "xargs", name == "gxargs":
		r.xargs(cmd)
	case name == "find", name == "gfind":
		r.find(cmd)
	case name == "eval", name == "emulate":
		r.hide(cmd, joined(cmd.Words[1:]))
		cmd.blind("eval runs text")
	case name == "trap":
		r.trap(cmd)
	case name == "source", name == ".":
		cmd.Exact = "it runs the commands of a file"
	case isRemote(name):
		r.hideAll(cmd)
		cmd.Exact = "it runs what its arguments say, elsewhere or in another language"
	case isInterpreter(name):
		readsStdin(cmd)
	case strings.HasPrefix(name, "fish"), name == "csh", name == "tcsh", name == "nu", name == "elvish", name == "xonsh",
		name == "pwsh", name == "powershell", name == "powershell.exe", name == "cmd.exe", name == "cmd" && windowsCmd(cmd.Words):
		r.hideAll(cmd)
		cmd.blind("it is a shell whose language is not read here")
	default:
		if w, ok := lookupWrapper(name); ok {
			r.wrapped(cmd, w)
		}
	}
	r.hideOptions(cmd)
	for _, in := range cmd.Inner {
		in.inherit(cmd.Assigns)
	}
	if cmd.Transparent && !Trusted(cmd.Words[0].Text) {
		// A program of that name somewhere else may do anything.
		cmd.Transparent = false
	}
}

// windowsCmd reports whether cmd is given an option of the Windows shell.
func windowsCmd(words []Word) bool {
	for _, w := range words[1:] {
		if strings.EqualFold(w.Text, "/c") || strings.EqualFold(w.Text, "/k") || strings.EqualFold(w.Text, "/r") {
			return true
		}
	}
	return false
}

func isWrapper(name string) bool {
	_, ok := lookupWrapper(name)
	return ok || isShell(name) || name == "env" || name == "xargs" || name == "find" || name == "trap" || isRemote(name)
}

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "rbash", "yash", "posh":
		return true
	}
	return false
}

// isRemote are programs that run a command given in their arguments in a way
// that is not followed: on another machine, as another user, in a container, in
// a terminal, later, or by a language of their own.
func isRemote(name string) bool {
	switch name {
	case "ssh", "mosh", "su", "runuser", "pkexec", "setpriv", "nsenter", "unshare", "systemd-run", "flock", "script", "expect",
		"parallel", "entr", "tmux", "screen", "at", "batch", "crontab", "osascript", "gdb", "lldb", "valgrind", "perf", "dotenv",
		"nix-shell", "nix", "conda", "xvfb-run", "dbus-run-session", "firejail", "bwrap", "proot", "fakeroot", "nodemon", "concurrently",
		"watchexec", "hyperfine", "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "nano", "pico", "coproc", "rlwrap", "socat", "nc", "ncat", "netcat",
		"setarch", "linux32", "linux64", "i386", "arch", "prlimit", "cgexec", "chpst", "softlimit", "run-parts", "start-stop-daemon", "daemonize",
		"psql", "mysql", "mariadb", "sqlite3", "mongo", "mongosh", "redis-cli", "duckdb", "sqlplus", "osqueryi", "dc", "bc", "m4", "gnuplot",
		"dumb-init", "tini", "gosu", "su-exec", "s6-setuidgid", "rsh", "rexec", "kexec", "qemu-x86_64", "wine", "mono", "java":
		return true
	}
	return false
}

// isInterpreter are programs that take their program from standard input when no
// file is named.
func isInterpreter(name string) bool {
	switch name {
	case "python", "python2", "python3", "pypy", "pypy3", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "bun", "deno", "tsx",
		"ts-node", "irb", "R", "Rscript", "julia", "tclsh", "wish", "guile", "racket", "ghci", "scala", "groovy":
		return true
	}
	return false
}

// readsStdin marks an interpreter that is given neither a file nor an option
// that only tells something.
func readsStdin(cmd *Command) {
	python := strings.HasPrefix(Program(cmd.Words[0].Text), "py")
	for i := 1; i < len(cmd.Words); i++ {
		w := cmd.Words[i]
		switch {
		case w.Text == "-" || fromStream(w.Text):
			cmd.blind("it runs what comes on standard input")
			return
		case python && pythonOption(w.Text) > 0:
			i += pythonOption(w.Text) - 1
		case !strings.HasPrefix(w.Text, "-") || w.Spell > 0:
			return
		case w.Text == "--version" || w.Text == "--help" || w.Text == "-V" || w.Text == "-h" || w.Text == "-v" || w.Text == "--list":
			return
		}
	}
	cmd.blind("it runs what comes on standard input")
}

// pythonOption is how many words an option of Python takes that names no program,
// 0 for any other word: -W error, -X dev, -Wd.
func pythonOption(word string) int {
	switch {
	case word == "--check-hash-based-pycs":
		return 2
	case len(word) < 2 || word[0] != '-' || word[1] == '-':
		return 0
	}
	switch at := strings.IndexAny(word, "WXcm"); {
	case at < 0 || word[at] == 'c' || word[at] == 'm':
		return 0
	case at == len(word)-1:
		return 2
	}
	return 1
}

// fromStream reports whether a file is no file but a stream that anything may
// come on.
func fromStream(file string) bool {
	file = path.Clean(file)
	return strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/")
}

// sub makes a command of some words of an outer one.
func (r *reader) sub(outer *Command, words []Word) *Command {
	c := &Command{Source: Join(words), Words: append([]Word(nil), words...), Tail: outer.Tail}
	for i := range c.Words {
		c.Words[i].Spell = 0
	}
	deeper := *r
	deeper.depth++
	deeper.resolve(c, nil)
	return c
}

// inner adds the command that begins at words[at] of cmd.
func (r *reader) inner(cmd *Command, at int, assigns []Assign) {
	c := r.sub(cmd, cmd.Words[at:])
	c.inherit(assigns)
	cmd.Inner = append(cmd.Inner, Inner{Command: c, At: at})
}

// nested reads text as a script and returns its commands. Redirections and
// changes of directory in it count like those of the outer script.
func (r *reader) nested(text string) ([]*Command, string) {
	if *r.budget -= len(text); *r.budget < 0 {
		return nil, "it holds too much text to read"
	}
	if why := unreadable(text); why != "" {
		return nil, why
	}
	file, err := r.kit.parse(text)
	if err != nil {
		return nil, "it cannot be parsed: " + err.Error()
	}
	var list []*Command
	deeper := reader{src: text, script: r.script, sink: &list, depth: r.depth + 1, budget: r.budget, muted: r.muted, kit: r.kit}
	deeper.stmts(file.Stmts)
	return list, ""
}

// hide adds the commands of text for forbidding only.
func (r *reader) hide(cmd *Command, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	var aside Script
	quiet := reader{script: &aside, depth: r.depth + 1, budget: r.budget, kit: r.kit}
	list, _ := quiet.nested(text)
	cmd.Hidden = append(cmd.Hidden, list...)
	// ProxyCommand=…, core.pager=…
	if name, value, ok := strings.Cut(text, "="); ok && value != "" && !strings.ContainsAny(name, " \t\n;|&") {
		list, _ := quiet.nested(value)
		cmd.Hidden = append(cmd.Hidden, list...)
	}
}

// hideAll adds every way to read a command out of the words of cmd.
func (r *reader) hideAll(cmd *Command) {
	const most = 16
	for i := 1; i < len(cmd.Words) && i <= most; i++ {
		w := cmd.Words[i]
		if strings.ContainsAny(w.Text, " ;|&\n") {
			r.hide(cmd, w.Text)
		} else if !strings.HasPrefix(w.Text, "-") {
			cmd.Hidden = append(cmd.Hidden, &Command{Source: Join(cmd.Words[i:]), Words: cmd.Words[i:], Tail: cmd.Tail})
		}
	}
	r.hide(cmd, joined(cmd.Words[1:]))
}

// hideOptions adds what may be a command in the value of an option that has to be
// spelled: --to-command=…, --pre …, -x '…', CC=….
func (r *reader) hideOptions(cmd *Command) {
	for i := 1; i < len(cmd.Words); i++ {
		w := cmd.Words[i]
		if w.Spell == 0 {
			continue
		}
		if value := strings.TrimPrefix(w.Text[min(w.Spell, len(w.Text)):], "="); value != "" {
			r.hide(cmd, value)
		}
		if i+1 == len(cmd.Words) {
			break
		}
		if next := cmd.Words[i+1]; strings.ContainsAny(next.Text, " ;|&\n") {
			r.hide(cmd, next.Text)
		} else if !strings.HasPrefix(next.Text, "-") {
			cmd.Hidden = append(cmd.Hidden, &Command{Source: Join(cmd.Words[i+1:]), Words: cmd.Words[i+1:], Tail: cmd.Tail})
		}
	}
}

// joined is the text that a shell gets from words joined by blanks.
func joined(words []Word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.Text
	}
	return strings.Join(parts, " ")
}

// wrapped follows a wrapper by its table entry.
func (r *reader) wrapped(cmd *Command, w wrapper) {
	at, assigns, transparent, ok := w.find(cmd.Words)
	if !ok {
		r.hideAll(cmd)
		cmd.Exact = "it cannot be told what it runs"
		return
	}
	if at >= len(cmd.Words) {
		return // it runs nothing
	}
	if cmd.Words[0].Text == "command" && at == 1 && lookupOnly(cmd.Words[1].Text) {
		return
	}
	if w.script {
		r.scriptOf(cmd, at)
		return
	}
	r.inner(cmd, at, assigns)
	cmd.Transparent = transparent
	if moves(cmd.Words[:at]) {
		r.elsewhere()
	}
}

// moves reports whether a wrapper, given by its words before the command, runs that in
// another directory.
func moves(words []Word) bool {
	switch Program(words[0].Text) {
	case "chroot", "direnv":
		return true
	case "sudo":
		for _, w := range words[1:] {
			if len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text, "DR") {
				return true
			}
		}
	}
	for _, w := range words[1:] {
		for _, o := range []string{"-C", "--cd", "--chdir", "--chroot", "--dir", "--project", "--work"} {
			if strings.HasPrefix(w.Text, o) {
				return true
			}
		}
	}
	return false
}

// elsewhere notes that a command may run in another directory than the script.
func (r *reader) elsewhere() {
	if !r.muted {
		r.script.Chdirs = append(r.script.Chdirs, Chdir{Dynamic: true})
	}
}

func lookupOnly(word string) bool {
	return word == "-v" || word == "-V" || word == "-pv" || word == "-pV"
}

// scriptOf follows a wrapper that gives its words to sh -c.
func (r *reader) scriptOf(cmd *Command, at int) {
	for _, w := range cmd.Words[at:] {
		if w.Kind != Known {
			cmd.Exact = "it runs text that is not known"
			return
		}
	}
	if cmd.Tail {
		cmd.Exact = "it runs text that is not known"
		return
	}
	list, why := r.nested(joined(cmd.Words[at:]))
	if why != "" {
		cmd.blind(why)
		return
	}
	for _, c := range list {
		cmd.Inner = append(cmd.Inner, Inner{Command: c, At: at, Text: true})
	}
	cmd.Transparent = len(list) > 0
}

// find gives the index of the wrapped command in words, len(words) for none, and
// false when an option is not known.
func (w wrapper) find(words []Word) (at int, assigns []Assign, transparent, ok bool) {
	transparent = w.transparent
	i := 1
	if w.sub != "" {
		if len(words) < 2 || words[1].Text != w.sub {
			return len(words), nil, false, true
		}
		i++
	}
	for ; i < len(words); i++ {
		t := words[i].Text
		if words[i].Kind != Known {
			return 0, nil, false, false
		}
		if t == "--" {
			i++
			break
		}
		if len(t) < 2 || t[0] != '-' {
			break
		}
		skip, clear, known := w.option(t)
		if !known {
			// command -v is no option of a wrapped command.
			return i, nil, transparent, words[0].Text == "command" && lookupOnly(t)
		}
		transparent = transparent && clear
		i += skip
	}
	for w.assigns && i < len(words) && words[i].Kind == Known && settingName(words[i].Text) > 0 {
		name, value, _ := strings.Cut(words[i].Text, "=")
		assigns = append(assigns, Assign{Name: name, Value: Word{Text: value}})
		words[i].Spell = len(name) + 1
		i++
	}
	return min(i+w.operands, len(words)), assigns, transparent, true
}

// option reads one option word: how many further words it takes, whether the
// wrapper stays transparent, whether it is known at all.
func (w wrapper) option(t string) (skip int, clear, known bool) {
	if strings.HasPrefix(t, "--") {
		name, _, value := strings.Cut(t[2:], "=")
		for _, l := range w.long {
			if name == l {
				return 0, true, true
			}
		}
		for _, l := range w.longValued {
			if name == l && value {
				return 0, true, true
			} else if name == l {
				return 1, true, true
			}
		}
		return 0, false, false
	}
	if w.numeric && strings.Trim(t[1:], "-0123456789") == "" {
		return 0, true, true
	}
	clear = !strings.ContainsAny(t[1:], w.unclear) || w.unclear == ""
	for i := 1; i < len(t); i++ {
		switch {
		case strings.IndexByte(w.flags, t[i]) >= 0:
		case strings.IndexByte(w.valued, t[i]) >= 0:
			if i == len(t)-1 {
				return 1, clear, true
			}
			return 0, clear, true
		default:
			return 0, false, false
		}
	}
	return 0, clear, true
}
