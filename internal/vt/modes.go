package vt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// modes are what SM, RM and the like set, but for origin mode, which DECSC saves.
type modes struct {
	insert  bool // IRM
	newLine bool // LNM
	wrap    bool // DECAWM
	visible bool // DECTCEM
	keypad  bool // DECKPAM
	mouse   int  // the mode that reports the mouse: 9, 1000 to 1003, 0 for none
	coding  int  // how: 1005, 1006, 1015, 1016, 0 for as it once was
	// private are the others: modes of the keyboard and the like, which have no
	// effect here. False is one that was set and unset.
	private map[int]bool
	shape   int   // DECSCUSR
	kitty   []int // kitty's keyboard flags: the stack, the current ones at its end
	keys    int   // xterm's modifyOtherKeys
}

const (
	// maxPrivate is how many different modes are kept that have no effect here.
	maxPrivate = 64
	// maxStack is how deep the stacks of key flags and titles are.
	maxStack = 16
)

func newModes() modes {
	return modes{wrap: true, visible: true, private: map[int]bool{}}
}

// setMode is SM and RM.
func (t *Terminal) setMode(mode int, on bool) {
	switch mode {
	case 4:
		t.modes.insert = on
	case 20:
		t.modes.newLine = on
	}
}

// setPrivate is DECSET and DECRST.
func (t *Terminal) setPrivate(mode int, on bool) {
	m := &t.modes
	switch mode {
	case 3, 40, 69: // 132 columns, and margins at the sides, are not for here
	case 6:
		t.cursor.origin = on
		t.moveTo(0, 0)
	case 7:
		m.wrap = on
	case 25:
		m.visible = on
	case 66:
		m.keypad = on
	case 9, 1000, 1001, 1002, 1003:
		m.mouse = either(on, mode)
	case 1005, 1006, 1015, 1016:
		m.coding = either(on, mode)
	case 47, 1047:
		t.switchTo(on, mode)
	case 1048:
		t.saveOrRestore(on)
	case 1049:
		if on {
			t.save()
		}
		t.switchTo(on, mode)
		if !on {
			t.restore()
		}
	default:
		if _, known := m.private[mode]; !known && (!on || len(m.private) >= maxPrivate) {
			return
		}
		m.private[mode] = on
		if mode == 2048 && on {
			t.reportSize()
		}
	}
}

func either(on bool, mode int) int {
	if on {
		return mode
	}
	return 0
}

func (t *Terminal) saveOrRestore(save bool) {
	if save {
		t.save()
	} else {
		t.restore()
	}
}

// setting is what DECRQM says of a private mode: 1 for set, 2 for unset, 0 for unknown.
func (t *Terminal) setting(mode int) int {
	m := &t.modes
	var on bool
	switch mode {
	case 6:
		on = t.cursor.origin
	case 7:
		on = m.wrap
	case 25:
		on = m.visible
	case 66:
		on = m.keypad
	case 9, 1000, 1001, 1002, 1003:
		on = m.mouse == mode
	case 1005, 1006, 1015, 1016:
		on = m.coding == mode
	case 47, 1047, 1049:
		on = t.Alt()
	case 1, 1004, 2004, 2026, 2048:
		on = m.private[mode]
	default:
		return 0
	}
	if on {
		return 1
	}
	return 2
}

// usual are the modes that Repaint unsets when nobody set them: what a terminal may be
// left in by another program.
var usual = [...]int{1, 1004, 2004, 2026, 2031, 2048}

// append appends what sets the modes on any terminal.
func (m *modes) append(b []byte) []byte {
	b = appendMode(b, "", 4, m.insert)
	b = appendMode(b, "", 20, m.newLine)
	b = appendMode(b, "?", 7, m.wrap)
	if m.keypad {
		b = append(b, "\x1b="...)
	} else {
		b = append(b, "\x1b>"...)
	}
	b = appendMode(b, "?", 1003, false) // ends every kind of mouse reports
	b = appendMode(b, "?", 1006, false)
	if m.mouse != 0 {
		b = appendMode(b, "?", m.mouse, true)
	}
	if m.coding != 0 {
		b = appendMode(b, "?", m.coding, true)
	}
	for _, mode := range usual {
		if !m.private[mode] {
			b = appendMode(b, "?", mode, false)
		}
	}
	for _, mode := range slices.Sorted(maps.Keys(m.private)) {
		if m.private[mode] || !slices.Contains(usual[:], mode) {
			b = appendMode(b, "?", mode, m.private[mode])
		}
	}
	b = fmt.Appendf(m.appendKeys(b), "\x1b[%d q", m.shape)
	return appendMode(b, "?", 25, m.visible)
}

// appendKeys appends the key modes of kitty and xterm. Who never used them is not
// bothered.
func (m *modes) appendKeys(b []byte) []byte {
	// Only the current flags: what a person's terminal has on its stack is not ours.
	if n := len(m.kitty); n > 0 {
		b = fmt.Appendf(b, "\x1b[=%du", m.kitty[n-1])
	}
	if m.keys > 0 {
		b = fmt.Appendf(b, "\x1b[>4;%dm", m.keys)
	} else if m.keys < 0 {
		b = append(b, "\x1b[>4m"...)
	}
	return b
}

func appendMode(b []byte, prefix string, mode int, on bool) []byte {
	b = append(append(b, "\x1b["...), prefix...)
	b = strconv.AppendInt(b, int64(mode), 10)
	if on {
		return append(b, 'h')
	}
	return append(b, 'l')
}

// kittyFlags does what CSI u with a prefix does.
func (m *modes) kittyFlags(prefix byte, p params) {
	if m.kitty == nil {
		m.kitty = []int{0}
	}
	last := &m.kitty[len(m.kitty)-1]
	switch prefix {
	case '=':
		switch flags := p.at(0, 0) & 31; p.at(1, 1) {
		case 1:
			*last = flags
		case 2:
			*last |= flags
		case 3:
			*last &^= flags
		}
	case '>':
		if len(m.kitty) == maxStack {
			m.kitty = slices.Delete(m.kitty, 0, 1)
		}
		m.kitty = append(m.kitty, p.at(0, 0)&31)
	case '<':
		m.kitty = m.kitty[:max(len(m.kitty)-p.count(0), 0)]
		if len(m.kitty) == 0 {
			m.kitty = append(m.kitty, 0)
		}
	}
}
