package render

import (
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/agenthost/agenthost/contract"
)

// style is an ANSI SGR parameter.
type style string

const (
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// printer remembers whether the next character starts a line.
type printer struct {
	w         io.Writer
	lineStart bool
}

// write writes s unless an error came before.
func (t *Text) write(p *printer, s string) {
	if t.opts.Terminal && p == &t.out {
		s = printable(s, "\n\t")
	}
	if s == "" || t.err != nil {
		return
	}
	p.lineStart = s[len(s)-1] == '\n'
	_, t.err = io.WriteString(p.w, s)
}

// lines writes each line of text as a note.
func (t *Text) lines(depth int, st style, mark, text string) {
	for line := range strings.Lines(text) {
		t.note(depth, st, mark, strings.TrimRight(line, "\r\n"))
	}
}

// note writes one line, indented by the depth of the sub-agent it is about.
func (t *Text) note(depth int, st style, mark, text string) {
	if t.opts.Terminal && !t.out.lineStart {
		// In the middle of a text: what comes of it goes on below the note.
		t.write(&t.out, "\n")
	}
	line := mark + printable(text, "\t")
	if t.opts.Color {
		line = "\x1b[" + string(st) + "m" + line + "\x1b[0m"
	}
	t.write(&t.notes, strings.Repeat("  ", depth)+line+"\n")
}

// printable leaves out the control characters that are not in keep, so that an
// agent cannot move the cursor or rename the window, and the characters that
// turn the direction of what follows.
func printable(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune(keep, r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
}

// usage is like "2400 tokens in, 180 out, $0.0120".
func usage(u contract.Usage) string {
	s := strconv.FormatInt(u.InputTokens, 10) + " tokens in, " + strconv.FormatInt(u.OutputTokens, 10) + " out"
	if u.Cost != nil {
		s += ", $" + strconv.FormatFloat(*u.Cost, 'f', 4, 64)
	}
	return s
}

// duration is like " (1.2s)", empty for what took no noticeable time.
func duration(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return " (" + d.Round(100*time.Millisecond).String() + ")"
}

// size is like "512.0 KiB".
func size(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n), 0
	for f >= 1024 && unit < 4 {
		f /= 1024
		unit++
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + " KMGT"[unit:unit+1] + "iB"
}
