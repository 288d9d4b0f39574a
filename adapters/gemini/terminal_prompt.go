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
	// enterMost is how long to wait for a screen on which Enter can only be for the text.
	enterMost = 30 * time.Second
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
	// barred: it came when the text stood in the input line already. Whose text is there
	// now is not known: no Enter any more.
	barred bool
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
	*y = typist{text: adapters.Typeable(c.Text), state: typingWaits, since: now}
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
			t.write(adapters.Pasted(y.text))
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
		t.typingText()
	case typingEnter:
		t.typingEnter()
	}
}

// typingText presses Enter for a text that was typed.
func (t *terminal) typingText() {
	y := &t.typed
	switch {
	case y.behind: // the person's turn ends first
	case !t.due(y.since.Add(enterWait)):
		y.at = y.since.Add(enterWait)
	case y.barred:
		t.failTyping("the person there sent something while it was typed")
	case t.mayEnter():
		t.enter()
	case t.due(y.since.Add(enterMost)):
		t.failTyping("its input line was not seen with the text, which may still stand there")
	default:
		y.at = y.since.Add(enterMost)
	}
}

// typingEnter waits until the prompt is taken.
func (t *terminal) typingEnter() {
	y := &t.typed
	switch {
	case y.behind: // it may wait in the agent's queue
	case !t.due(y.since.Add(takenWait)):
		y.at = y.since.Add(takenWait)
	case y.revoked:
		y.takeBack(t)
		t.turn.cancelled = true
		t.endTurn()
	case y.barred || y.enters >= maxEnters || t.view.composer && t.view.empty && t.viewT.After(y.since):
		t.failTyping("it did not take what was typed")
	case t.mayEnter():
		t.enter()
	case t.due(y.since.Add(enterMost)):
		t.failTyping("it did not take what was typed")
	default:
		y.at = y.since.Add(enterMost)
	}
}

// mayEnter reports whether Enter can only be for the text in the input line: in a
// dialog it is the answer that is selected, and that allows. The screen has to be newer
// than what was typed last.
func (t *terminal) mayEnter() bool {
	return t.viewT.After(t.typed.since) && t.view.composer && !t.view.empty && !t.view.dialog && t.gate.calm()
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
	own := withoutFiles(t.text)
	if own == "" { // files alone
		return strings.Contains(text, "@")
	}
	return strings.Contains(withoutFiles(text), own)
}

// withoutFiles is a text without white space and the names of files in it: the agent
// completes these.
func withoutFiles(text string) string {
	return squeezed(fileName().ReplaceAllString(text, " "))
}

var fileName = pattern(`@(?:\\.|\S)*`)

// filesBelow is what the agent puts between a prompt and the files that it names.
const filesBelow = "--- Content from referenced files ---"

// confirmed notes that the agent has the prompt.
func (y *typist) confirmed(t *terminal, text string) {
	if own, _, _ := strings.Cut(text, filesBelow); withoutFiles(own) != withoutFiles(y.text) {
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
	if (y.state == typingText || y.state == typingEnter) && t.view.composer && t.gate.calm() {
		t.write("\x03") // clears it; an empty one it would only warn in
	}
	*y = typist{}
}

// drop forgets a prompt whose turn is over.
func (y *typist) drop() { *y = typist{} }
