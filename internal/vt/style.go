package vt

import (
	"strconv"
)

// color is 0 for the default, else its kind in the upper byte.
type color uint32

const (
	indexed   color = 1 << 24 // lower byte: 0 to 255
	trueColor color = 2 << 24 // lower three: red, green, blue
	kindMask  color = 0xff << 24
)

// attrs are the properties of a character that are not colours.
type attrs uint16

const (
	bold attrs = 1 << iota
	faint
	italic
	blink
	reverse
	hidden
	strike
	overline
	// underlines are three bits: none, single, double, curly, dotted, dashed.
	underline1
	underlines   = underline1 * 7
	maxUnderline = 5
)

func (a attrs) underline() int { return int(a&underlines) / int(underline1) }

func (a attrs) withUnderline(n int) attrs { return a&^underlines | attrs(n)*underline1 }

// style is how a character is shown. The zero value is plain.
type style struct {
	fg, bg, under color
	attrs         attrs
	link          uint16 // index in Terminal.links
}

// erased is what an erased cell has of a pen: its background.
func (s style) erased() style { return style{bg: s.bg} }

// appendSGR appends what makes any pen this one, but for its link.
func (s style) appendSGR(b []byte) []byte {
	b = append(b, "\x1b[0"...)
	for _, a := range []struct {
		attr attrs
		code string
	}{{bold, ";1"}, {faint, ";2"}, {italic, ";3"}, {blink, ";5"}, {reverse, ";7"}, {hidden, ";8"}, {strike, ";9"}, {overline, ";53"}} {
		if s.attrs&a.attr != 0 {
			b = append(b, a.code...)
		}
	}
	switch n := s.attrs.underline(); n {
	case 0:
	case 1:
		b = append(b, ";4"...)
	default:
		b = strconv.AppendInt(append(b, ";4:"...), int64(n), 10)
	}
	b = s.fg.append(b, 30, ";38")
	b = s.bg.append(b, 40, ";48")
	b = s.under.appendUnder(b)
	return append(b, 'm')
}

// append appends the parameters that set a foreground (base 30) or background (40).
func (c color) append(b []byte, base int64, extended string) []byte {
	value := int64(c &^ kindMask)
	switch {
	case c&kindMask == indexed && value < 8:
		return strconv.AppendInt(append(b, ';'), base+value, 10)
	case c&kindMask == indexed && value < 16:
		return strconv.AppendInt(append(b, ';'), base+60+value-8, 10)
	case c&kindMask == indexed:
		return strconv.AppendInt(append(append(b, extended...), ";5;"...), value, 10)
	case c&kindMask == trueColor:
		b = append(append(b, extended...), ";2"...)
		for shift := 16; shift >= 0; shift -= 8 {
			b = strconv.AppendInt(append(b, ';'), value>>shift&0xff, 10)
		}
	}
	return b
}

// appendUnder appends those of an underline's colour, with colons, so that a terminal
// without such colours takes none of them for something else.
func (c color) appendUnder(b []byte) []byte {
	value := int64(c &^ kindMask)
	switch c & kindMask {
	case indexed:
		return strconv.AppendInt(append(b, ";58:5:"...), value, 10)
	case trueColor:
		b = append(b, ";58:2:"...)
		for shift := 16; shift >= 0; shift -= 8 {
			b = strconv.AppendInt(append(b, ':'), value>>shift&0xff, 10)
		}
	}
	return b
}

// sgr applies Select Graphic Rendition to a pen.
func (s *style) sgr(p params) {
	if len(p) == 0 {
		p = params{{value: 0}}
	}
	for i := 0; i < len(p); {
		n := p.group(i) // the parameter with its subparameters
		switch code := p[i].or(0); code {
		case 38, 48, 58:
			c, used, ok := p[i:].color(n)
			n = used
			if ok {
				s.setColor(code, c)
			}
		case 4:
			s.attrs = s.attrs.withUnderline(1)
			if n > 1 {
				if kind := p[i+1].or(1); kind <= maxUnderline {
					s.attrs = s.attrs.withUnderline(kind)
				}
			}
		default:
			if n == 1 {
				s.plain(code)
			}
		}
		i += n
	}
}

func (s *style) setColor(code int, c color) {
	switch code {
	case 38:
		s.fg = c
	case 48:
		s.bg = c
	case 58:
		s.under = c
	}
}

// plain applies a parameter that stands alone.
func (s *style) plain(code int) {
	switch {
	case code == 0:
		*s = style{link: s.link}
	case code == 21:
		s.attrs = s.attrs.withUnderline(2)
	case code == 22:
		s.attrs &^= bold | faint
	case code == 24:
		s.attrs = s.attrs.withUnderline(0)
	case code == 39, code == 49, code == 59:
		s.setColor(code-1, 0)
	case code >= 30 && code <= 37:
		s.fg = indexed | color(code-30)
	case code >= 40 && code <= 47:
		s.bg = indexed | color(code-40)
	case code >= 90 && code <= 97:
		s.fg = indexed | color(code-90+8)
	case code >= 100 && code <= 107:
		s.bg = indexed | color(code-100+8)
	default:
		set, unset := attrOf(code)
		s.attrs = s.attrs&^unset | set
	}
}

// attrOf says what the codes of simple attributes do.
func attrOf(code int) (set, unset attrs) {
	switch code {
	case 1:
		return bold, 0
	case 2:
		return faint, 0
	case 3:
		return italic, 0
	case 5, 6:
		return blink, 0
	case 7:
		return reverse, 0
	case 8:
		return hidden, 0
	case 9:
		return strike, 0
	case 53:
		return overline, 0
	case 23:
		return 0, italic
	case 25:
		return 0, blink
	case 27:
		return 0, reverse
	case 28:
		return 0, hidden
	case 29:
		return 0, strike
	case 55:
		return 0, overline
	}
	return 0, 0
}

// color reads an extended colour (ISO 8613-6): 38:2:id:r:g:b, 38:2:r:g:b, 38:5:n, or
// the same with semicolons and without the id. p begins with it, group is how many
// parameters are joined by colons; used is how many belong to it.
func (p params) color(group int) (c color, used int, ok bool) {
	if group > 1 {
		c = p[1:group].components()
		return c, group, c != 0
	}
	if len(p) < 2 {
		return 0, len(p), false
	}
	used = 3
	if p[1].or(0) == 2 {
		used = 5
	}
	if used > len(p) {
		return 0, len(p), false
	}
	c = p[1:used].components()
	return c, used, c != 0
}

// components is the colour of 2:r:g:b, 2:id:r:g:b or 5:n, 0 for none.
func (p params) components() color {
	switch {
	case p[0].or(0) == 5 && len(p) >= 2:
		if n := p[1].or(0); n <= 255 {
			return indexed | color(n)
		}
	case p[0].or(0) == 2 && len(p) >= 4:
		rgb := p[1:4]
		if len(p) > 4 {
			rgb = p[2:5]
		}
		c := trueColor
		for i, part := range rgb {
			c |= color(min(part.or(0), 255)) << (16 - 8*i)
		}
		return c
	}
	return 0
}
