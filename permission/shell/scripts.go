package shell

import (
	"slices"
	"strings"
)

// The checks of programs whose arguments are programs.

// markContaining marks words that hold one of the texts.
func markContaining(texts ...string) func([]Word) {
	return func(words []Word) {
		for i := range words {
			for _, t := range texts {
				if strings.Contains(words[i].Text, t) {
					words[i].Spell = len(words[i].Text)
				}
			}
		}
	}
}

// markGitGlobal marks the options before git's command: -c and -C change what
// every command runs. After it, -c and -C are harmless.
func markGitGlobal(words []Word) {
	t := tool{short: "cC"}
	end := tool{valued: gitValued()}.command(words)
	if end < 0 {
		end = len(words)
	}
	for i := range words[:end] {
		if words[i].Spell == 0 {
			words[i].Spell = t.spell(words[i].Text)
		}
		if i > 0 && slices.Contains(gitValued(), words[i-1].Text) {
			// A setting may name a program, and the settings of another directory
			// are not those that people know.
			words[i].Spell = len(words[i].Text)
			if words[i-1].Text == "-c" {
				words[i].Spell = max(settingName(words[i].Text), 1)
			}
		}
	}
	if end < len(words) && words[end].Text == "config" {
		for _, w := range words[end+1:] {
			switch w.Text {
			case "--get", "--get-all", "--get-regexp", "--list", "-l", "list", "get":
				return
			}
		}
		words[end].Spell = len(words[end].Text)
	}
}

// markTar marks a first word without a dash, tar's old way of giving options, and
// files on other machines.
func markTar(words []Word) {
	if len(words) > 0 && words[0].Text != "" && words[0].Text[0] != '-' && strings.ContainsAny(words[0].Text, "IFxcruATgW") {
		words[0].Spell = len(words[0].Text)
	}
	for i := range words {
		// host:file is fetched by rsh.
		if t := words[i].Text; strings.Contains(t, ":") && !strings.HasPrefix(t, "--") {
			words[i].Spell = len(t)
		}
	}
}

// markSed marks the scripts of sed unless they are of the forms that only print
// or replace.
func markSed(words []Word) {
	given := false // a script was given by -e
	for i := range words {
		w := &words[i]
		switch {
		case strings.HasPrefix(w.Text, "--expression="):
			given = true
			if !sedHarmless(w.Text[len("--expression="):]) {
				w.Spell = len(w.Text)
			}
		case strings.HasPrefix(w.Text, "--e"):
			given = true
			markSedNext(words, i)
		case len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-':
			k := strings.IndexByte(w.Text, 'e')
			if k < 0 {
				continue
			}
			given = true
			if k == len(w.Text)-1 {
				markSedNext(words, i)
			} else if !sedHarmless(w.Text[k+1:]) {
				w.Spell = len(w.Text)
			}
		}
	}
	if given {
		return
	}
	for i := range words {
		if t := words[i].Text; !strings.HasPrefix(t, "-") || t == "-" {
			if !sedHarmless(t) {
				words[i].Spell = len(t)
			}
			return
		}
	}
}

func markSedNext(words []Word, i int) {
	if i+1 < len(words) && !sedHarmless(words[i+1].Text) {
		words[i+1].Spell = len(words[i+1].Text)
	}
}

// sedHarmless reports whether a sed script is a list of simple commands that
// neither read nor write files nor run anything: [address]p d q = n and
// s/…/…/ with the flags g p i I m M and numbers.
func sedHarmless(s string) bool {
	if strings.ContainsAny(s, "\n{}") {
		return false
	}
	for {
		s = strings.TrimLeft(s, " ;")
		if s == "" {
			return true
		}
		var ok bool
		if s, ok = sedAddress(s); !ok {
			return false
		}
		if strings.HasPrefix(s, ",") {
			if s, ok = sedAddress(s[1:]); !ok {
				return false
			}
		}
		s = strings.TrimLeft(s, " !")
		if s == "" {
			return false
		}
		switch s[0] {
		case 'p', 'd', 'q', '=', 'n', 'N', 'P', 'D', 'h', 'H', 'g', 'G', 'x', 'l':
			s = s[1:]
		case 's', 'y':
			if s, ok = sedReplace(s); !ok {
				return false
			}
		default:
			return false
		}
		if s = strings.TrimLeft(s, " "); s != "" && s[0] != ';' {
			return false
		}
	}
}

// sedAddress takes a line number, $ or /regexp/ off s.
func sedAddress(s string) (string, bool) {
	switch {
	case s == "":
		return s, true
	case s[0] == '$':
		return s[1:], true
	case s[0] >= '0' && s[0] <= '9' || s[0] == '+' || s[0] == '~':
		return strings.TrimLeft(s, "0123456789+~"), true
	case s[0] == '/':
		rest, ok := sedUntil(s[1:], '/')
		return strings.TrimLeft(rest, "IM"), ok
	}
	return s, true
}

func sedReplace(s string) (string, bool) {
	if len(s) < 2 || s[1] == '\\' || s[1] >= 0x80 {
		return "", false
	}
	delim := s[1]
	rest, ok := sedUntil(s[2:], delim)
	if !ok {
		return "", false
	}
	if rest, ok = sedUntil(rest, delim); !ok {
		return "", false
	}
	return strings.TrimLeft(rest, "gpiIM0123456789"), true
}

// sedUntil returns what follows the next delim that no backslash stands before.
// A bracket may hide a delimiter from sed and not from us, so it is refused.
func sedUntil(s string, delim byte) (string, bool) {
	bracket := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[':
			bracket = true
		case s[i] == ']':
			bracket = false
		case s[i] == delim:
			return s[i+1:], !bracket
		}
	}
	return "", false
}

// markDate marks an operand that sets the clock.
func markDate(words []Word) {
	for i := range words {
		if t := words[i].Text; words[i].Spell == 0 && t != "" && strings.Trim(t, "0123456789.") == "" {
			words[i].Spell = len(t)
		}
	}
}

// markCurl marks addresses whose scheme curl expands: {file}:///etc/passwd.
func markCurl(words []Word) {
	for i := range words {
		t := words[i].Text
		if at := strings.IndexAny(t, "{["); at >= 0 && t[0] != '-' && !strings.Contains(t[:at], "://") {
			words[i].Spell = len(t)
		}
	}
}

// markAwk marks programs of awk that may run commands or write files, and what
// the names of files may make one of.
func markAwk(words []Word) {
	program := false // it was met
	for i := range words {
		t := words[i].Text
		valued := i > 0 && (words[i-1].Text == "-v" || words[i-1].Text == "-F")
		if !program && words[i].Kind != Known {
			words[i].Spell = max(1, len(t))
		}
		program = program || !strings.HasPrefix(t, "-") && !valued
		if strings.HasPrefix(t, "--source") || strings.HasPrefix(t, "-e") {
			words[i].Spell = len(t)
			continue
		}
		if strings.ContainsAny(t, "|>@`") || strings.Contains(t, "system") || strings.Contains(t, "getline") || strings.Contains(t, "close") {
			words[i].Spell = len(t)
		}
	}
}
