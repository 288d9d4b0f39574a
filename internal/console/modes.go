package console

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// modes follows what an agent writes, to know what it changed at the terminal and where
// a sequence is under way. It looks at each byte once and keeps no text.
type modes struct {
	rows   int // of the terminal, 0 for not known
	at     parse
	params []byte // of the control sequence that is under way, bounded
	osc    []byte // the beginning of the operating system command, bounded

	private map[int]bool // DEC modes that are not as they were at first
	ansi    map[int]bool
	alt     int    // the mode that switched to the alternate screen, 0 for none
	kitty   [2]int // keyboard flags pushed, of the normal and the alternate screen
	kittied bool   // or set without being pushed

	other, keypad, region, cursor, shifted, linked, progress bool
	charsets                                                 [4]bool
	colours                                                  map[int]bool // OSC numbers that put them back
	titles                                                   int          // pushed
}

// parse is where in a sequence the output is.
type parse int

const (
	ground parse = iota
	escaped
	charset
	control
	command  // OSC
	commandE // an escape within: ST, if a backslash follows
	text     // DCS, SOS, PM, APC
	textE
)

const (
	// maxParams bounds what is kept of one sequence: longer ones change no mode.
	maxParams = 64
	// maxModes bounds the modes that are remembered; there are about forty.
	maxModes = 128
)

func newModes() *modes {
	return &modes{private: map[int]bool{}, ansi: map[int]bool{}, colours: map[int]bool{}}
}

// see takes what was written to the terminal.
func (m *modes) see(p []byte) {
	for len(p) > 0 {
		if m.at == ground {
			// Text is by far the most: only shifts and escapes end it.
			i := bytes.IndexByte(p, 0x1b)
			plain := p
			if i >= 0 {
				plain = p[:i]
			}
			if s := bytes.LastIndexAny(plain, "\x0e\x0f"); s >= 0 {
				m.shifted = plain[s] == 0x0e
			}
			if i < 0 {
				return
			}
			m.at, p = escaped, p[i+1:]
			continue
		}
		m.step(p[0])
		p = p[1:]
	}
}

// step takes a byte of a sequence.
func (m *modes) step(b byte) {
	switch m.at {
	case escaped:
		m.escape(b)
	case charset:
		m.designate(b)
	case control:
		switch {
		case b >= 0x40 && b <= 0x7e:
			m.at = ground
			m.csi(b)
		case b == 0x1b:
			m.at = escaped
		case b == 0x18 || b == 0x1a:
			m.at = ground
		case len(m.params) < maxParams:
			m.params = append(m.params, b)
		}
	case command:
		switch b {
		case 0x07, 0x18, 0x1a:
			m.endOSC(b == 0x07)
		case 0x1b:
			m.at = commandE
		default:
			if len(m.osc) < maxParams {
				m.osc = append(m.osc, b)
			}
		}
	case commandE:
		m.endOSC(true)
		if b != '\\' {
			m.at = escaped
			m.step(b)
		}
	case text:
		switch b {
		case 0x1b:
			m.at = textE
		case 0x18, 0x1a:
			m.at = ground
		}
	case textE:
		m.at = ground
		if b != '\\' {
			m.at = escaped
			m.step(b)
		}
	case ground:
	}
}

func (m *modes) escape(b byte) {
	m.at = ground
	switch b {
	case '[':
		m.at, m.params = control, m.params[:0]
	case ']':
		m.at, m.osc = command, m.osc[:0]
	case 'P', 'X', '^', '_':
		m.at = text
	case '(', ')', '*', '+', ' ', '#', '%', '-', '.', '/': // one more byte follows
		m.at, m.params = charset, append(m.params[:0], b)
	case 0x1b:
		m.at = escaped
	case '=':
		m.keypad = true
	case '>':
		m.keypad = false
	case 'c':
		m.forget()
	}
}

// designate is the byte that names a character set.
func (m *modes) designate(b byte) {
	m.at = ground
	if i := bytes.IndexByte([]byte("()*+"), m.params[0]); i >= 0 {
		m.charsets[i] = b != 'B'
	}
}

// csi takes a control sequence that is whole.
func (m *modes) csi(final byte) {
	p := string(m.params)
	switch {
	case (final == 'h' || final == 'l') && len(p) > 0 && p[0] == '?':
		for _, n := range numbers(p[1:]) {
			m.setPrivate(n, final == 'h')
		}
	case final == 'h' || final == 'l':
		for _, n := range numbers(p) {
			set(m.ansi, n, final == 'h')
		}
	case final == 'u' && len(p) > 0:
		m.keyboard(p)
	case final == 'm' && len(p) > 0 && p[0] == '>':
		m.other = p != ">4" && p != ">" && p != ">4;0"
	case final == 'r' && (p == "" || p[0] != '?'):
		n := numbers(p)
		whole := n[0] <= 1 && (len(n) < 2 || n[1] == 0 || n[1] == m.rows)
		m.region = !whole
	case final == 'q' && len(p) > 0 && p[len(p)-1] == ' ':
		m.cursor = p != " " && p != "0 "
	case final == 't':
		switch numbers(p)[0] {
		case 22:
			m.titles = min(m.titles+1, 10)
		case 23:
			m.titles = max(m.titles-1, 0)
		}
	case final == 'p' && p == "!":
		alt, kitty := m.alt, m.kitty
		m.forget()
		m.alt, m.kitty = alt, kitty // a soft reset leaves those
	}
}

// keyboard takes CSI > flags u, CSI < number u and CSI = flags ; mode u.
func (m *modes) keyboard(p string) {
	screen := 0
	if m.alt != 0 {
		screen = 1
	}
	n := numbers(p[1:])
	switch p[0] {
	case '>':
		m.kitty[screen] = min(m.kitty[screen]+1, 16)
	case '<':
		m.kitty[screen] = max(0, m.kitty[screen]-max(1, n[0]))
	case '=':
		m.kittied = n[0] != 0
	}
}

// initially says which DEC modes are on at first: wrapping, the cursor.
func initially(n int) bool { return n == 7 || n == 25 }

func (m *modes) setPrivate(n int, on bool) {
	switch n {
	case 47, 1047, 1049:
		m.alt = 0
		if on {
			m.alt = n
		}
	case 3, 1048: // clears the screen; saves the cursor
	default:
		set(m.private, n, on != initially(n))
	}
}

func set(in map[int]bool, n int, changed bool) {
	if !changed {
		delete(in, n)
	} else if len(in) < maxModes {
		in[n] = true
	}
}

func (m *modes) endOSC(whole bool) {
	m.at = ground
	if !whole {
		return
	}
	head, rest, _ := bytes.Cut(m.osc, []byte(";"))
	n, err := strconv.Atoi(string(head))
	if err != nil {
		return
	}
	switch {
	case n == 8: // params ; URI
		_, uri, _ := bytes.Cut(rest, []byte(";"))
		m.linked = len(uri) > 0
	case n == 9 && bytes.HasPrefix(rest, []byte("4;")):
		m.progress = !bytes.HasPrefix(rest, []byte("4;0"))
	case (n == 4 || n >= 10 && n <= 19) && !bytes.HasSuffix(rest, []byte("?")):
		m.colours[100+n] = true
	case n == 104 || n >= 110 && n <= 119:
		delete(m.colours, n)
	}
}

// numbers are the parameters of a control sequence, one at least: what is none is 0.
func numbers(p string) []int {
	var out []int
	for s := range strings.SplitSeq(p, ";") {
		s, _, _ := strings.Cut(s, ":")
		n, err := strconv.Atoi(s)
		if err != nil {
			n = 0
		}
		out = append(out, n)
	}
	return out
}

// changed reports whether a terminal has something that the agent left behind.
func (m *modes) changed() bool {
	return m.at != ground || m.alt != 0 || len(m.private) > 0 || len(m.ansi) > 0 || m.kitty != [2]int{} || m.kittied || m.region
}

// restore is what brings the terminal back into its first modes, wherever the agent
// stopped. The modes are then those of a new one.
func (m *modes) restore() []byte {
	var b []byte
	add := func(s string) { b = append(b, s...) }
	switch m.at {
	case ground:
	case text, textE, command, commandE:
		add("\x1b\\")
	default:
		add("\x18")
	}
	if m.private[2026] { // else what follows is not shown
		add("\x1b[?2026l")
	}
	for i, c := range "()*+" {
		if m.charsets[i] {
			add("\x1b" + string(c) + "B")
		}
	}
	for _, one := range []struct {
		is  bool
		seq string
	}{
		{m.shifted, "\x0f"},
		{m.linked, "\x1b]8;;\x1b\\"},
		{m.progress, "\x1b]9;4;0;\x1b\\"},
		{m.keypad, "\x1b>"},
		{m.other, "\x1b[>4m"},
		{m.region, "\x1b7\x1b[r\x1b8"},
		{m.cursor, "\x1b[0 q"},
	} {
		if one.is {
			add(one.seq)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(m.private)) {
		if initially(n) {
			add("\x1b[?" + strconv.Itoa(n) + "h")
		} else {
			add("\x1b[?" + strconv.Itoa(n) + "l")
		}
	}
	for _, n := range slices.Sorted(maps.Keys(m.ansi)) {
		add("\x1b[" + strconv.Itoa(n) + "l")
	}
	for _, n := range slices.Sorted(maps.Keys(m.colours)) {
		add("\x1b]" + strconv.Itoa(n) + "\x1b\\")
	}
	add(m.restoreScreens())
	for range m.titles {
		add("\x1b[23;0t")
	}
	add("\x1b[m")
	m.forget()
	return b
}

// forget takes all as it was at first.
func (m *modes) forget() {
	rows := m.rows
	*m = *newModes()
	m.rows = rows
}

// restoreScreens pops the keyboard of each screen while it is shown.
func (m *modes) restoreScreens() string {
	pop := func(n int) string {
		if n == 0 {
			return ""
		}
		return "\x1b[<" + strconv.Itoa(n) + "u"
	}
	s := ""
	if m.kittied {
		s += "\x1b[=0u"
	}
	if m.alt != 0 {
		s += pop(m.kitty[1]) + "\x1b[m\x1b[?" + strconv.Itoa(m.alt) + "l"
	}
	return s + pop(m.kitty[0])
}
