package gemini

import (
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/jsonrpc"
)

// Times of typing. What Gemini CLI does with what is typed may take it long: that it
// did not take something is believed only where the screen says so.
const (
	// enterWait is between a text and its Enter: sooner, Gemini CLI takes the Enter for
	// a part of what was pasted.
	enterWait = 300 * time.Millisecond
	// enterMost is how long to wait for a screen on which Enter can only be for the text.
	enterMost = 30 * time.Second
	// lostWait is how long an empty input line is seen after a text before the text is
	// typed anew, stillWait how long where no newer screen came; maxTexts bounds that.
	lostWait  = 2 * time.Second
	stillWait = 5 * time.Second
	maxTexts  = 5
	// enterAgain is when Enter is typed again for a text that still stands there;
	// maxEnters bounds that.
	enterAgain = 5 * time.Second
	maxEnters  = 3
	// takenMost is how long the agent may take to say that it has a prompt that is out
	// of the input line.
	takenMost = 2 * time.Minute
	// revokeMost is the same for one that is to be cancelled: package acp ends an agent
	// that takes longer. What it takes up later is cancelled then.
	revokeMost = 10 * time.Second
	// freeWait is when to tell that a prompt waits for the input line, freeMost when to
	// give it up.
	freeWait = 10 * time.Second
	freeMost = 10 * time.Minute
)

// typist types a prompt: the text until it stands in the input line, then Enter, then it
// waits until the agent has it.
//
// Gemini CLI drops keys while it has no input line, which is for a moment whenever it
// resumes a session. A text that was dropped is typed anew, behind keys that clear the
// input line: should the first come after all, it stands there once. Enter is typed
// where the text is seen, and nothing is typed anew after it.
type typist struct {
	text   string
	state  typingState
	since  time.Time // of the state
	told   bool
	texts  int // how often it was typed
	enters int
	nudged bool      // homeKey was typed after the last Enter
	at     time.Time // when to look again
	behind bool      // a prompt of the person's came first
	// barred: it came when the text stood in the input line already. Whose text is there
	// now is not known: no Enter any more.
	barred bool
	// revoked: it is to be cancelled as soon as it is known where it is.
	revoked bool
}

// ghost is a prompt that was cancelled on its way to the agent.
type ghost struct {
	text  string
	until time.Time
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
	switch y.state {
	case typingWaits:
		switch free := t.view.composer && t.view.empty && !t.view.busy && t.gate.current == nil; {
		case free && t.view.paste && !y.behind:
			y.paste(t)
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

// paste types the text.
func (y *typist) paste(t *terminal) {
	keys := adapters.Pasted(y.text)
	if y.texts > 0 {
		keys = clearing(y.text) + keys
	}
	t.write(keys)
	y.texts++
	y.state, y.since = typingText, t.now
	y.at = t.now.Add(enterWait)
}

// clearing are keys that take a text out of the input line and do nothing in an empty
// one: each line to its start, and the line end before it.
func clearing(text string) string {
	const most = 5 // a longer one stands there as one line
	return strings.Repeat("\x15\x7f", min(most, strings.Count(text, "\n")+1))
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
	case t.due(y.since.Add(enterMost)) && y.lost(t):
		t.failTyping("it did not take what was typed")
	case t.due(y.since.Add(enterMost)):
		t.failTyping("its input line was not seen with the text, which may still stand there")
	case y.lost(t) && y.texts < maxTexts:
		wait := stillWait
		if t.viewT.After(y.since) {
			wait = lostWait
		}
		if y.at = y.since.Add(wait); t.due(y.at) {
			y.paste(t)
		}
	default:
		y.at = y.since.Add(enterMost)
	}
}

// lost reports whether the input line is there without the text.
func (y *typist) lost(t *terminal) bool {
	return t.view.composer && t.view.empty && !t.view.busy && t.gate.calm()
}

// typingEnter waits until the prompt is taken.
func (t *terminal) typingEnter() {
	y := &t.typed
	stands := t.mayEnter()
	most := takenMost
	switch {
	case stands:
		most = enterMost
	case y.revoked:
		most = revokeMost
	case t.view.queued:
		most = freeMost // for servers to start, or for a turn of the person's to end
	}
	switch {
	case y.behind: // it may wait in the agent's queue
	case !t.due(y.since.Add(enterAgain)):
		y.at = y.since.Add(enterAgain)
	case stands && y.revoked:
		y.takeBack(t)
		t.turn.cancelled = true
		t.endTurn()
	case stands && (y.barred || y.enters >= maxEnters):
		t.failTyping("it did not take what was typed, which may still stand there")
	case stands:
		t.enter()
	case !y.nudged && t.stands() && !y.revoked && !y.barred:
		y.nudged = true
		t.write(homeKey)
		y.at = y.since.Add(most)
	case t.due(y.since.Add(most)) && y.revoked:
		t.ghost = ghost{y.text, t.now.Add(takenMost)}
		y.drop()
		t.turn.cancelled = true
		t.endTurn()
	case t.due(y.since.Add(most)):
		t.failTyping("it took what was typed and did not say that it works on it")
	default:
		y.at = y.since.Add(most)
	}
}

// homeKey moves the cursor to the start of the input line. An Enter may be dropped without
// a trace, by a Gemini CLI that has drawn the text and does not know of it yet, or it may
// not be read yet: the screen that comes of this key tells which it was. A second Enter
// that is read with the first would send the text twice.
const homeKey = "\x01"

// mayEnter reports whether Enter can only be for the text in the input line: in a
// dialog it is the answer that is selected, and that allows. The screen has to be newer
// than what was typed last.
func (t *terminal) mayEnter() bool { return t.viewT.After(t.typed.since) && t.stands() }

// stands reports whether the text stands in the input line of the screen that is known.
func (t *terminal) stands() bool {
	return t.view.shows(t.typed.text) && !t.view.dialog && t.gate.calm()
}

func (t *terminal) enter() {
	y := &t.typed
	t.write("\r")
	y.enters++
	y.nudged = false
	y.state, y.since = typingEnter, t.now
	y.at = t.now.Add(enterAgain)
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

// alone reports whether what the agent took up is a prompt and nothing else, but for
// files and their names.
func alone(text, prompt string) bool {
	own, _, _ := strings.Cut(text, filesBelow)
	return withoutFiles(own) == withoutFiles(prompt)
}

// confirmed notes that the agent has the prompt.
func (y *typist) confirmed(t *terminal, text string) {
	if !alone(text, y.text) {
		t.notice("What the person at the terminal had typed went with the prompt.", "")
	}
	revoked := y.revoked
	*y = typist{}
	if revoked {
		t.escape()
	}
}

// haunted reports, once, whether a prompt that the agent took up was cancelled before.
func (t *terminal) haunted(text string) bool {
	if g := t.ghost; g.text == "" || !t.now.Before(g.until) || !alone(text, g.text) {
		return false
	}
	t.ghost = ghost{}
	return true
}

// takeBack clears the input line of a prompt that was not sent.
func (y *typist) takeBack(t *terminal) {
	if (y.state == typingText || y.state == typingEnter) && t.view.composer && t.gate.calm() {
		keys := "\x03"
		if t.view.empty { // there it warns, and the next one would end the agent
			keys = clearing(y.text)
		}
		t.write(keys)
	}
	*y = typist{}
}

// drop forgets a prompt whose turn is over.
func (y *typist) drop() { *y = typist{} }
