package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// bareBytes need no quotes anywhere in a word.
const bareBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"

// Join writes words as a shell would take them. Marks are shown as * and #.
func Join(words []Word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.String())
	}
	return b.String()
}

// String is the word as a shell would take it.
func (w Word) String() string {
	if w.Kind != Known || strings.ContainsRune(w.Text, AnyNumber) {
		return strings.Map(func(c rune) rune {
			switch c {
			case AnyText:
				return '*'
			case AnyNumber:
				return '#'
			}
			return c
		}, w.Text)
	}
	if w.Home || w.Text != "" && strings.Trim(w.Text, bareBytes) == "" {
		return w.Text
	}
	q, err := syntax.Quote(w.Text, syntax.LangBash)
	if err != nil {
		return w.Text
	}
	return q
}
