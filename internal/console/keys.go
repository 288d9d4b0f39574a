package console

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// DefaultEscape is ctrl-].
const DefaultEscape byte = 0x1d

// pasteSilence is how long a paste may be silent until it counts as over: a terminal
// that died in the middle of one must not take the escape key away.
const pasteSilence = 2 * time.Second

// keyEvent is what a person did: typed something for the agent, or a command behind the
// escape key.
type keyEvent struct {
	typed   []byte
	command byte // 0 when typed is set
}

// keys finds the escape key in what a terminal sends. All else passes as it is, and at
// once: only what may be the beginning of the escape key waits for its end.
type keys struct {
	escape byte
	// held is an unfinished sequence.
	held []byte
	// awaited says that the escape key was pressed.
	awaited bool
	// paste says that a bracketed paste is under way, marker how much of the marker that
	// begins or ends it has come.
	paste  bool
	marker int
	last   time.Time
	out    []keyEvent
}

const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// feed takes what came at a time, and gives what it means. The events own their bytes.
func (k *keys) feed(now time.Time, p []byte) []keyEvent {
	if k.paste && now.Sub(k.last) > pasteSilence {
		k.paste, k.marker = false, 0
	}
	k.last, k.out = now, nil
	if len(k.held) > 0 {
		p = append(k.held, p...)
		k.held = nil
	}
	for len(p) > 0 {
		p = p[k.next(p):]
	}
	return k.out
}

// flush gives what waits, since nothing more came.
func (k *keys) flush() []keyEvent {
	k.out = nil
	if len(k.held) > 0 && k.awaited {
		k.command('?') // half a sequence is no command
	} else {
		k.typed(k.held)
	}
	k.held = nil
	return k.out
}

// next handles the beginning of p and says how long that is.
func (k *keys) next(p []byte) int {
	if k.paste {
		n := len(p)
		for i, b := range p {
			if k.match(pasteEnds, b) {
				k.paste, n = false, i+1
				break
			}
		}
		k.emit(p[:n])
		return n
	}
	switch {
	case p[0] == 0x1b:
		return k.sequence(p)
	case k.awaited:
		k.behind(p[0])
		return 1
	case p[0] == k.escape:
		k.awaited, k.marker = true, 0
		return 1
	}
	n := 1
	for n < len(p) && p[n] != 0x1b && p[n] != k.escape {
		n++
	}
	k.typed(p[:n])
	return n
}

// match follows a marker through the bytes; true when it is whole.
func (k *keys) match(marker string, b byte) bool {
	switch {
	case b == marker[k.marker]:
		k.marker++
	case b == marker[0]:
		k.marker = 1
	default:
		k.marker = 0
	}
	if k.marker < len(marker) {
		return false
	}
	k.marker = 0
	return true
}

// maxSequence is the longest sequence of digits that is waited for.
const maxSequence = 32

// sequence handles what begins with an escape.
func (k *keys) sequence(p []byte) int {
	n, final := csi(p)
	if n == 0 { // unfinished
		// A lone escape is the key of that name: it waits only for a command.
		if (len(p) > 2 || k.awaited) && len(p) <= maxSequence {
			k.held = bytes.Clone(p)
			return len(p)
		}
		n = len(p)
	}
	key, is := decode(p[:n], final)
	switch {
	case is && k.isEscape(key) && key.released:
		return n
	case is && k.isEscape(key) && !k.awaited:
		k.awaited = true
		return n
	case k.awaited && is && (key.released || key.code >= firstFunctional):
		return n // a modifier, or the escape key let go
	case k.awaited && is && k.isEscape(key):
		k.awaited = false
		k.typed(p[:n])
		return n
	case k.awaited && is && key.code < 0x80:
		k.behind(byte(key.code))
		return n
	case k.awaited:
		k.awaited = false
		k.command('?')
		return n
	}
	k.typed(p[:n])
	return n
}

// firstFunctional is the first code of keys without a character, in the private area.
const firstFunctional = 57344

// csi is the length of the control sequence that p begins with, and its final byte; 0
// when it is not whole. What is none is one escape and what is before the next.
func csi(p []byte) (n int, final byte) {
	if len(p) < 2 {
		return 0, 0
	}
	if p[1] != '[' {
		return 2, p[1]
	}
	for i := 2; i < len(p); i++ {
		switch b := p[i]; {
		case b >= 0x40 && b <= 0x7e:
			return i + 1, b
		case b < 0x20 || b > 0x7e: // broken off
			return i, 0
		}
	}
	return 0, 0
}

// key is a key as the keyboard protocols of kitty and xterm send it.
type key struct {
	code, base int
	mods       int
	released   bool
}

// decode reads CSI code[:shifted[:base]];mods[:event] u and CSI 27;mods;code ~.
func decode(seq []byte, final byte) (key, bool) {
	if len(seq) < 4 || seq[1] != '[' || final != 'u' && final != '~' {
		return key{}, false
	}
	params := strings.Split(string(seq[2:len(seq)-1]), ";")
	number := func(i, sub int) int {
		if i >= len(params) {
			return 0
		}
		parts := strings.Split(params[i], ":")
		if sub >= len(parts) {
			return 0
		}
		n, err := strconv.Atoi(parts[sub])
		if err != nil {
			return 0
		}
		return n
	}
	k := key{mods: 1}
	switch {
	case final == 'u' && params[0] != "":
		k.code, k.base, k.released = number(0, 0), number(0, 2), number(1, 1) == 3
		k.mods = max(1, number(1, 0))
	case final == '~' && len(params) == 3 && params[0] == "27":
		k.mods, k.code = number(1, 0), number(2, 0)
	default:
		return key{}, false
	}
	return k, true
}

// locks are Caps Lock and Num Lock among the modifiers, ctrl is Control.
const (
	ctrl  = 4
	locks = 64 | 128
)

func (k *keys) isEscape(got key) bool {
	want := int(k.escape) + 0x40
	if want >= 'A' && want <= 'Z' {
		want += 'a' - 'A'
	}
	return (got.mods-1)&^locks == ctrl && (got.code == want || got.base == want)
}

// behind is the key behind the escape key.
func (k *keys) behind(b byte) {
	k.awaited = false
	switch {
	case b == k.escape:
		k.typed([]byte{b})
	case b < 0x20:
		k.command(b | 0x60) // with Control, like the escape key
	case b >= 'A' && b <= 'Z':
		k.command(b | 0x20)
	default:
		k.command(b)
	}
}

func (k *keys) command(b byte) {
	k.awaited = false
	k.out = append(k.out, keyEvent{command: b})
}

// typed passes bytes on, and sees whether a paste begins.
func (k *keys) typed(p []byte) {
	for _, b := range p {
		if k.match(pasteBegins, b) {
			k.paste = true
			break
		}
	}
	k.emit(p)
}

func (k *keys) emit(p []byte) {
	if len(p) == 0 {
		return
	}
	if n := len(k.out); n > 0 && k.out[n-1].typed != nil {
		k.out[n-1].typed = append(k.out[n-1].typed, p...)
		return
	}
	k.out = append(k.out, keyEvent{typed: bytes.Clone(p)})
}
