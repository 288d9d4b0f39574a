package render

import "strings"

// Plain is a title or a description, which are inline markdown, as text: `code`, **bold**
// and backslash escapes become what they show. What is between backticks is as it
// stands, so that a command is shown as it would run; marks that nothing closes are
// text. Use it where markdown is not rendered, and make the text harmless afterwards.
func Plain(md string) string {
	if !strings.ContainsAny(md, "\\`*") {
		return md
	}
	parts, open := []string{}, -1 // the place of a ** that may begin bold text
	for i := 0; i < len(md); {
		switch rest := md[i:]; {
		case rest[0] == '\\' && len(rest) > 1 && punctuation(rest[1]):
			parts = append(parts, rest[1:2])
			i += 2
		case rest[0] == '`':
			shown, n := code(rest)
			parts = append(parts, shown)
			i += n
		case strings.HasPrefix(rest, "**"):
			before, after := byte(' '), byte(' ')
			if i > 0 {
				before = md[i-1]
			}
			if len(rest) > 2 {
				after = rest[2]
			}
			switch {
			case open >= 0 && before != ' ':
				parts[open], open = "", -1
				parts = append(parts, "")
			case open < 0 && after != ' ':
				open = len(parts)
				parts = append(parts, "**")
			default:
				parts = append(parts, "**")
			}
			i += 2
		default:
			n := strings.IndexAny(rest[1:], "\\`*") + 1
			if n == 0 {
				n = len(rest)
			}
			parts = append(parts, rest[:n])
			i += n
		}
	}
	if open >= 0 && strings.HasSuffix(md, cut) {
		parts[open] = "" // its end was cut off
	}
	return strings.Join(parts, "")
}

// cut is the end of a title or a description that was too long.
const cut = "…"

// code is what the code span at the start of md shows, and its length; of backticks that
// nothing closes it is them.
func code(md string) (shown string, n int) {
	fence := md[:len(md)-len(strings.TrimLeft(md, "`"))]
	for end := len(fence); end < len(md); {
		i := strings.IndexByte(md[end:], '`')
		if i < 0 {
			break
		}
		end += i
		run := len(md[end:]) - len(strings.TrimLeft(md[end:], "`"))
		if run == len(fence) {
			shown = md[len(fence):end]
			// A space on both sides sets off backticks that belong to it.
			if len(shown) > 2 && shown[0] == ' ' && shown[len(shown)-1] == ' ' && strings.Trim(shown, " ") != "" {
				shown = shown[1 : len(shown)-1]
			}
			return shown, end + run
		}
		end += run
	}
	if strings.HasSuffix(md, cut) {
		return md[len(fence):], len(md)
	}
	return fence, len(fence)
}

// punctuation reports whether a backslash takes the meaning of c away (CommonMark 0.31,
// section 2.4).
func punctuation(c byte) bool {
	return c > ' ' && c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z' && c < 0x7f
}
