package acp

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// textBuffer collects the chunks of one message.
type textBuffer struct {
	active   bool
	thinking bool
	message  string // the agent's messageId, empty when it gives none
	subagent string
	text     []byte
	cut      bool // a part of the message was written already
	join     rawjson.Joiner
}

// addText appends a chunk, as the agent cut it, to the message it belongs to.
func (p *Protocol) addText(thinking bool, message, subagent, chunk string) {
	if chunk == "" {
		return
	}
	t := &p.text
	if t.active && (t.thinking != thinking || t.subagent != subagent ||
		message != "" && t.message != "" && t.message != message) {
		p.flushText()
	}
	if !t.active {
		*t = textBuffer{active: true, thinking: thinking, subagent: subagent, text: t.text[:0]}
	}
	if t.message == "" {
		t.message = message
	}
	piece := t.join.Add(chunk)
	if piece == "" {
		return
	}
	p.step.Live = append(p.step.Live, adapters.Delta{Subagent: subagent, Thinking: thinking, Text: piece})
	for {
		// No more than is needed for the next cut: what is left of a huge piece would be
		// moved with each.
		n := min(len(piece), MaxText+1-len(t.text))
		t.text, piece = append(t.text, piece[:n]...), piece[n:]
		if len(t.text) <= MaxText {
			return
		}
		n = cutAt(t.text[:MaxText])
		p.writeText(string(t.text[:n]))
		t.cut = true
		t.text = t.text[:copy(t.text, t.text[n:])]
	}
}

// cutAt finds where to cut a long text: after its last line break, else after its
// last blank, else at a character's border.
func cutAt(text []byte) int {
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	if i := bytes.LastIndexByte(text, ' '); i >= 0 {
		return i + 1
	}
	i := len(text) - 1
	for i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	if utf8.FullRune(text[i:]) {
		return len(text)
	}
	return i
}

// flushText writes what was collected. White space alone is no message.
func (p *Protocol) flushText() {
	t := &p.text
	if !t.active {
		return
	}
	t.active = false
	if tail := t.join.Flush(); tail != "" {
		t.text = append(t.text, tail...)
		p.step.Live = append(p.step.Live, adapters.Delta{Subagent: t.subagent, Thinking: t.thinking, Text: tail})
	}
	if text := string(t.text); t.cut && text != "" || strings.TrimSpace(text) != "" {
		p.writeText(text)
	}
	if cap(t.text) > 4*MaxText {
		t.text = nil // one huge chunk must not be kept for ever
	}
}

func (p *Protocol) writeText(text string) {
	t := &p.text
	p.turn.lastText = text
	p.step.Emit = append(p.step.Emit, adapters.Draft{
		Subagent: t.subagent, Origin: t.message,
		Event: contract.Text{Text: text, Thinking: t.thinking},
	})
}
