package vt

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// maxColor is how long the name of a colour may be, in bytes.
const maxColor = 64

// osc does an operating system command. End is how it ended, and how its answer does.
func (t *Terminal) osc(s []byte, end string) {
	number, rest, _ := bytes.Cut(s, []byte{';'})
	n, err := strconv.Atoi(string(number))
	if err != nil || number[0] == '+' || number[0] == '-' {
		return
	}
	switch n {
	case 0, 2:
		t.title, t.titled = validText(rest, maxTitle), true
	case 4:
		t.setPalette(rest)
	case 104:
		t.resetPalette(rest)
	case 8:
		t.hyperlink(rest)
	case 10, 11, 12:
		t.dynamicColor(n, rest, end)
	case 110, 111, 112:
		delete(t.colors, n-100)
	}
}

// hyperlink is OSC 8: parameters;URL, nothing behind the semicolon ends the link.
func (t *Terminal) hyperlink(s []byte) {
	link := ""
	if len(s) <= maxLink {
		link = validText(s, maxLink)
	}
	if _, url, _ := strings.Cut(link, ";"); url == "" {
		link = ""
	}
	t.cursor.pen.link = t.number(&t.links, link)
}

// dynamicColor is OSC 10 (text), 11 (background) and 12 (cursor): several may follow
// each other.
func (t *Terminal) dynamicColor(n int, s []byte, end string) {
	for value := range bytes.SplitSeq(s, []byte{';'}) {
		if n > 12 {
			return
		}
		if string(value) == "?" {
			t.answer(fmt.Sprintf("\x1b]%d;%s%s", n, t.color(n), end))
		} else if name := validText(value, maxColor); name != "" {
			t.colors[n] = name
		}
		n++
	}
}

// color is a dynamic colour: light on dark when the program set none.
func (t *Terminal) color(n int) string {
	if name := t.colors[n]; len(name) > 4 && name[:4] == "rgb:" {
		return name
	}
	if n == 11 {
		return "rgb:0000/0000/0000"
	}
	return "rgb:ffff/ffff/ffff"
}

// setPalette is OSC 4: pairs of a number and a colour.
func (t *Terminal) setPalette(s []byte) {
	parts := bytes.Split(s, []byte{';'})
	for ; len(parts) >= 2; parts = parts[2:] {
		n, err := strconv.Atoi(string(parts[0]))
		name := validText(parts[1], maxColor)
		if err != nil || n < 0 || n > 255 || name == "" || name == "?" {
			continue
		}
		t.palette[n] = name
	}
}

func (t *Terminal) resetPalette(s []byte) {
	if len(s) == 0 {
		clear(t.palette)
		return
	}
	for part := range bytes.SplitSeq(s, []byte{';'}) {
		if n, err := strconv.Atoi(string(part)); err == nil {
			delete(t.palette, n)
		}
	}
}
