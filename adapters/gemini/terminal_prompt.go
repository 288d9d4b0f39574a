package gemini

import (
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/jsonrpc"
)

// Times of typing.
const (
	// enterWait is between a text and its Enter: sooner, Gemini CLI takes the Enter for
	// a part of what was pasted.
	enterWait = 300 * time.Millisecond
	// enterMost is how long the text may take to be on the screen before that.
	enterMost = 2 * time.Second
	// takenWait is how long a prompt may take to be taken before Enter is typed
	// again; maxEnters bounds that.
	takenWait = 5 * time.Second
	maxEnters = 3
	// freeWait is when to tell that a prompt waits for the input line, freeMost when to
	// give it up.
	freeWait = 10 * time.Second
	freeMost = 10 * time.Minute
)

// typist types a prompt: the text, then Enter, then it waits until the agent has it.
type typist struct {
	text   string
	state  typingState
	since  time.Time // of the state
	told   bool
	enters int
	at     time.Time // when to look again
	behind bool      // a prompt of the person's came first
	// revoked: it is to be cancelled as soon as it is known where it is.
	revoked bool
}

type typingState int

const (
	typingNothing typingState = iota
	typingWaits               // for an empty input line
	typingText                // it stands in the input line
	typingEnter               // Enter was typed
)

// mayType refuses what cannot be typed.
func (t *terminal) mayType(c adapters.Prompt) error {
	text := strings.TrimSpace(c.Text)
	switch {
	case len(c.Files) > 0:
		return fmt.Errorf("files cannot be typed at Gemini CLI's terminal: %w", adapters.ErrUnsupported)
	case strings.HasPrefix(text, "/") || strings.HasPrefix(text, "!"):
		return fmt.Errorf("a prompt that begins with %q would be a command at Gemini CLI's terminal: %w", text[:1], adapters.ErrUnsupported)
	}
	return nil
}

// take begins to type a prompt.
func (y *typist) take(c adapters.Prompt, now time.Time) {
	*y = typist{text: typeable(c.Text), state: typingWaits, since: now}
}

// typeable is a text without what a terminal would take for keys.
func typeable(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

func (y *typist) waiting() bool { return y.state != typingNothing }

// typing goes on with a prompt.
func (t *terminal) typing() {
	y := &t.typed
	y.at = time.Time{}
	step := func(s typingState) { y.state, y.since = s, t.now }
	switch y.state {
	case typingWaits:
		switch free := t.view.composer && t.view.empty && !t.view.busy && t.gate.current == nil; {
		case free && t.view.paste && !y.behind:
			t.write("\x1b[200~" + y.text + "\x1b[201~")
			step(typingText)
			y.at = t.now.Add(enterWait)
		case t.due(y.since.Add(freeMost)):
			t.failTyping("its input line did not become free")
		case !y.told && t.due(y.since.Add(freeWait)):
			y.told = true
			t.notice("A prompt waits until Gemini CLI's input line is there and empty.", "")
			y.at = y.since.Add(freeMost)
		case !y.told:
			y.at = y.since.Add(freeWait)
		default:
			y.at = y.since.Add(freeMost)
		}
	case typingText:
		switch there := t.viewT.After(y.since) && t.view.composer && !t.view.empty; {
		case !t.due(y.since.Add(enterWait)):
			y.at = y.since.Add(enterWait)
		case there || t.due(y.since.Add(enterMost)):
			t.enter()
		default:
			y.at = y.since.Add(enterMost)
		}
	case typingEnter:
		switch {
		case !t.due(y.since.Add(takenWait)):
			y.at = y.since.Add(takenWait)
		case y.revoked:
			y.takeBack(t)
			t.turn.cancelled = true
			t.endTurn()
		case y.enters >= maxEnters || t.view.composer && t.view.empty && t.viewT.After(y.since):
			t.failTyping("it did not take what was typed")
		default:
			t.enter()
		}
	}
}

func (t *terminal) enter() {
	y := &t.typed
	t.write("\r")
	y.enters++
	y.state, y.since = typingEnter, t.now
	y.at = t.now.Add(takenWait)
}

// failTyping ends the turn of a prompt that the agent did not take.
func (t *terminal) failTyping(why string) {
	t.typed = typist{}
	l := &t.turn
	if l.request == nil {
		return
	}
	request := l.request
	l.request = nil
	t.say(jsonrpc.AppendError(nil, request, jsonrpc.InternalError, "The prompt could not be typed at Gemini CLI's terminal: "+why+".", nil))
	t.drain()
}

// isOurs reports whether a prompt that the agent took is the one that is typed: a
// person may have typed around it.
func (t *typist) isOurs(text string) bool {
	if t.state != typingText && t.state != typingEnter {
		return false
	}
	return strings.Contains(squeezed(text), squeezed(t.text))
}

// confirmed notes that the agent has the prompt.
func (y *typist) confirmed(t *terminal, text string) {
	if squeezed(text) != squeezed(y.text) {
		t.notice("What the person at the terminal had typed went with the prompt.", "")
	}
	revoked := y.revoked
	*y = typist{}
	if revoked {
		t.escape()
	}
}

// takeBack clears the input line of a prompt that was not sent.
func (y *typist) takeBack(t *terminal) {
	if y.state == typingText || y.state == typingEnter {
		t.write("\x03") // clears it; an empty one it would only warn in
	}
	*y = typist{}
}

// drop forgets a prompt whose turn is over.
func (y *typist) drop() { *y = typist{} }
