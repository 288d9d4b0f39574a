package prompt

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agenthost/agenthost/contract/render"
	"github.com/agenthost/agenthost/permission"
)

func (s *screen) printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.Raw {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	// A screen that is gone is noticed by the input.
	_, _ = io.WriteString(s.Out, text)
}

func (s *screen) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *screen) bold(t string) string  { return s.paint("1", t) }
func (s *screen) faint(t string) string { return s.paint("2", t) }
func (s *screen) warn(t string) string  { return s.paint("33", t) }

// show writes the ask; all of it, or as much as fits at first.
func (s *screen) show(all bool) {
	a := s.ask
	who := clean(a.Agent)
	if who == "" {
		who = "the agent"
	}
	if a.Subagent != "" {
		who += ", sub-agent " + clean(a.Subagent)
	}
	s.printf("\n%s asks: %s\n", s.bold(who), s.bold(clean(render.Plain(a.Title))))
	if a.Description != "" && a.Description != a.Title {
		s.printf("  %s\n", s.faint(clean(render.Plain(a.Description))))
	}
	s.printf("  %s %s\n", s.faint("tool"), clean(a.Tool))
	s.printf("  %s   %s\n", s.faint("in"), clean(a.Cwd))
	if a.Question != nil {
		if m := a.Question.Message; m != "" {
			s.printf("  %s\n", clean(m))
		}
		return
	}
	s.printf("%s", s.body(a, all))
	s.menu()
}

// menu writes the keys that count.
func (s *screen) menu() {
	if s.ask.Question != nil {
		return
	}
	keys := []string{"y yes"}
	if len(s.ask.Always) > 0 {
		keys = append(keys, "a always ("+clean(shorten(strings.Join(s.ask.Always, "; "), 60))+")")
	}
	keys = append(keys, "n no")
	if s.ask.CanMessage {
		keys = append(keys, "N no, and say why")
	}
	if s.canEdit() {
		keys = append(keys, "e edit")
	}
	keys = append(keys, "d all of it", "? why")
	if !s.Raw {
		keys[len(keys)-1] += ", and Enter:"
	}
	s.printf("%s ", strings.Join(keys, " · "))
}

// why writes the verdict part by part.
func (s *screen) why() {
	v := s.ask.Verdict
	s.printf("\n")
	if v.Why != "" {
		s.printf("  %s\n", clean(v.Why))
	}
	for _, p := range v.Parts {
		s.printf("  %-5s %s\n", p.Verdict, clean(p.Command))
		if p.Rule != "" {
			s.printf("        %s\n", s.faint("by "+clean(p.Rule)))
		}
		if p.Why != "" {
			s.printf("        %s\n", s.faint(clean(p.Why)))
		}
	}
	if len(v.Parts) == 0 && v.Why == "" {
		s.printf("  no rule is about it\n")
	}
	if !s.ask.Deadline.IsZero() {
		s.printf("  %s\n", s.faint("without an answer it is refused at "+s.ask.Deadline.Local().Format("15:04:05")))
	}
}

// body is what is asked about: a command, a diff, or the arguments.
func (s *screen) body(a *permission.Ask, all bool) string {
	most := s.Lines
	if most == 0 {
		most = 40
	}
	lines := bodyLines(a)
	left := 0
	if !all && len(lines) > most {
		left, lines = len(lines)-most, lines[:most]
	}
	var b strings.Builder
	for _, l := range lines {
		text := clean(l.text)
		if !all {
			text = shorten(text, 400)
		}
		switch l.mark {
		case '+':
			text = s.paint("32", "+"+text)
		case '-':
			text = s.paint("31", "-"+text)
		case '@':
			text = s.paint("36", text)
		case '$':
			text = s.bold("$ " + text)
		}
		fmt.Fprintf(&b, "    %s\n", text)
	}
	if left > 0 {
		fmt.Fprintf(&b, "    %s\n", s.warn(fmt.Sprintf("… and %d more lines: d shows all", left)))
	}
	return b.String()
}

// shorten cuts text for one line.
func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}

// clean makes text of an agent harmless for a terminal: no control character, and
// nothing that hides or reorders what stands around it.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\n':
			return '⏎'
		case r < ' ' || r >= 0x7f && r < 0xa0, r >= 0x200B && r <= 0x200F && r != 0x200D, r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F,
			r == 0xFEFF, r == 0x00AD, r >= 0xFDD0 && r <= 0xFDEF, r >= 0xE0000 && r <= 0xE007F:
			return '�'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

// arg is one argument.
type arg struct {
	name  string
	value jsontext.Value
}

// text is the argument as text: a string without quotes, anything else as JSON.
func (a arg) text() string {
	if a.value.Kind() != '"' {
		return string(a.value)
	}
	b, err := jsontext.AppendUnquote(nil, a.value)
	if err != nil {
		return string(a.value)
	}
	return string(b)
}

func parseArgs(v jsontext.Value) ([]arg, error) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if d.PeekKind() != '{' {
		return nil, errors.New("want an object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var out []arg
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := tok.String()
		val, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, arg{name: name, value: val.Clone()})
	}
	return out, nil
}

func joinArgs(list []arg) jsontext.Value {
	b := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		// The name was read from JSON, it can be written.
		b, _ = jsontext.AppendQuote(b, m.name)
		b = append(b, ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}
