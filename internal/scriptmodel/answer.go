package scriptmodel

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// An answer is what one model request gets, in the words of no API.
type answer struct {
	kind   Kind
	script string // text of the script it was played from, "" for none
	step   int    // step of the script
	model  string
	serial uint64 // counts the model requests of a server from 1
	sum    uint32 // checksum of the request's body
	status int    // HTTP error to give instead, 0 for none
	reason string // message of that error
	beats  []beat
	finish string // stop, max_tokens, safety, malformed
	usage  tokens
}

// tokens is the usage that an answer reports.
type tokens struct {
	in, out      int // in includes cached, out includes thinking
	cached       int
	thinking     int
	explicitZero bool // the script asked for these numbers, even if they are 0
}

type beatOp int

const (
	beatText beatOp = iota
	beatThink
	beatCall
	beatRaw
	beatWait
	beatHold
	beatFail
	beatDrop
	beatBadSSE
	beatHang
)

// A beat is one thing that happens in an answer.
type beat struct {
	op     beatOp
	text   string   // what is said; the name of a hold; the type of a failure
	note   string   // message of a failure
	pieces []string // text, or a call's arguments, in chunks
	call   call
	pause  time.Duration // before each piece; the length of a wait
	cut    bool          // a failure follows in the middle of this text
}

// plainText is an answer of one text.
func plainText(kind Kind, text string) *answer {
	return &answer{kind: kind, beats: []beat{{op: beatText, text: text, pieces: words(text)}}}
}

// words cuts text before each word, so that the chunks joined are the text.
func words(text string) []string {
	var out []string
	start := 0
	for i := 1; i < len(text); i++ {
		if blank(text[i-1]) && !blank(text[i]) {
			out = append(out, text[start:i])
			start = i
		}
	}
	return append(out, text[start:])
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

// slices cuts text in chunks of about size bytes that end at a code point.
func slicesOf(text string, size int) []string {
	var out []string
	for len(text) > size {
		n := size
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return append(out, text)
}

// argsChunk is the size of the chunks in which arguments of calls are streamed,
// small enough that a usual call comes in several.
const argsChunk = 24

// numbered is the content of "chunks N SIZE": all chunks differ, because agents
// take equal ones for a model that runs in circles.
func numbered(n, size int) []string {
	out := make([]string, n)
	for i := range out {
		head := fmt.Sprintf("[%d]", i)
		out[i] = head + strings.Repeat("x", max(size-len(head)-1, 0)) + "\n"
	}
	return out
}

// compose plays the acts of a step into an answer. taken tells whether a failure
// of the given index still happens, and counts it.
func (s step) compose(tools []tool, taken func(i, limit int) bool) (*answer, error) {
	a := &answer{kind: KindScript}
	var pace time.Duration
	for i, act := range s {
		switch act.verb {
		case "slow":
			pace = time.Duration(act.nums[0]) * time.Millisecond
		case "usage":
			n := append(act.nums, 0, 0)
			a.usage = tokens{in: n[0], out: n[1], cached: n[2], thinking: n[3], explicitZero: true}
		case "finish":
			a.finish = act.words[0]
		case "error":
			if taken(i, act.limit) {
				a.status, a.reason = act.nums[0], act.words[0]
				return a, nil
			}
		case "empty":
			if taken(i, act.limit) {
				return a, nil
			}
		case "fail", "drop", "badsse", "hang":
			if taken(i, act.limit) {
				a.fail(act.failure())
				return a, nil
			}
		default:
			b, err := act.content(tools)
			if err != nil {
				return nil, err
			}
			if b.op != beatWait {
				b.pause = pace
			}
			a.beats = append(a.beats, b)
		}
	}
	return a, nil
}

// fail ends the answer. A text or thought right before the failure is left
// unfinished, as when a connection breaks; a call is whole.
func (a *answer) fail(b beat) {
	if n := len(a.beats); n > 0 && (a.beats[n-1].op == beatText || a.beats[n-1].op == beatThink) {
		a.beats[n-1].cut = true
	}
	a.beats = append(a.beats, b)
}

// failure is the beat that ends an answer early.
func (a act) failure() beat {
	switch a.verb {
	case "fail":
		return beat{op: beatFail, text: a.words[0], note: a.words[1]}
	case "drop":
		return beat{op: beatDrop}
	case "badsse":
		return beat{op: beatBadSSE}
	}
	return beat{op: beatHang}
}

// content is the beat of an act that says something or waits.
func (a act) content(tools []tool) (beat, error) {
	switch a.verb {
	case "text":
		return beat{op: beatText, text: a.words[0], pieces: words(a.words[0])}, nil
	case "think":
		return beat{op: beatThink, text: a.words[0], pieces: words(a.words[0])}, nil
	case "chunks":
		p := numbered(a.nums[0], a.nums[1])
		return beat{op: beatText, text: strings.Join(p, ""), pieces: p}, nil
	case "raw":
		return beat{op: beatRaw, text: a.words[0]}, nil
	case "wait":
		return beat{op: beatWait, pause: time.Duration(a.nums[0]) * time.Millisecond}, nil
	case "hold":
		return beat{op: beatHold, text: a.words[0]}, nil
	}
	c, err := a.resolve(tools)
	if err != nil {
		return beat{}, err
	}
	c.id = a.id
	args := string(c.args)
	if c.custom {
		args = c.input()
	}
	return beat{op: beatCall, call: c, text: args, pieces: slicesOf(args, argsChunk)}, nil
}

// calls reports whether the answer holds a tool call.
func (a *answer) calls() bool {
	for _, b := range a.beats {
		if b.op == beatCall {
			return true
		}
	}
	return false
}
