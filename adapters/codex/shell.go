package codex

import "strings"

// rawCommand is what the shell gets. The server writes a command as the words of
// an argument list in POSIX quoting: /bin/bash -lc 'echo hi'. Anything but exactly
// a shell, its flag and one word is returned as it is: a policy must see what runs.
func rawCommand(command string) string {
	words, ok := shellWords(command)
	if !ok || len(words) != 3 || words[1] != "-lc" && words[1] != "-c" {
		return command
	}
	switch words[0][strings.LastIndexByte(words[0], '/')+1:] {
	case "bash", "sh", "zsh", "dash", "ksh":
		return words[2]
	}
	return command
}

// shellWords splits a list of words in POSIX quoting. ok is false for what is no
// such list: open quotes, or anything that a shell would expand.
func shellWords(s string) (words []string, ok bool) {
	var b strings.Builder
	open := false // a word is being read
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ':
			if open {
				words = append(words, b.String())
				b.Reset()
				open = false
			}
			continue
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			b.WriteString(s[i+1 : i+1+end])
			i += 1 + end
		case '"':
			n, fine := doubleQuoted(&b, s[i+1:])
			if !fine {
				return nil, false
			}
			i += n
		case '\\':
			if i+1 == len(s) || s[i+1] == '\n' {
				return nil, false
			}
			i++
			b.WriteByte(s[i])
		case '$', '`', '\n', '\t', ';', '&', '|', '<', '>', '(', ')', '*', '?', '[', '#', '~', '!', '{':
			return nil, false
		default:
			b.WriteByte(c)
		}
		open = true
	}
	if open {
		words = append(words, b.String())
	}
	return words, true
}

// doubleQuoted reads to the closing quote and returns how many bytes that are.
func doubleQuoted(b *strings.Builder, s string) (int, bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return i + 1, true
		case '$', '`':
			return 0, false
		case '\\':
			if i+1 == len(s) {
				return 0, false
			}
			if strings.IndexByte("$`\"\\", s[i+1]) < 0 {
				b.WriteByte(c)
				continue
			}
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return 0, false
}
