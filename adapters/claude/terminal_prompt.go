package claude

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// typist types what was sent from elsewhere, one text at a time.
type typist struct {
	// queue are the texts that were not taken up yet, in order; only the first is
	// ever being typed.
	queue []*text
	// told says that people know that the first text waits.
	told bool
	// lookAt is when the screen is to be looked at again for the first text.
	lookAt time.Time
	// givenUp is the text, squashed, that was given up last though it had been entered.
	givenUp string
}

// text is a prompt or a steer on its way: it is pasted, the input line shows it, Enter is
// pressed, the line is free again, its hook tells that the CLI took it, and the file that
// it came up. Each of these is waited for: none is taken for granted after a while.
type text struct {
	id, text string
	steer    bool
	since    time.Time
	// pasted is when it was pasted last, zero before; pastes how often.
	pasted time.Time
	pastes int
	// entered is when its Enter was pressed last, zero before; enters how often.
	entered time.Time
	enters  int
	// mark is how many looks at the screen there were when it was last typed at: only
	// later ones tell what became of that.
	mark int
	// left says that the input line was seen without it behind its Enter: the CLI has it.
	left bool
	// stood says that the input line was seen with it since it was pasted last.
	stood bool
	// overheld says that calls have been held for it for as long as may be.
	overheld bool
	// lent is a person's half line that was taken away for it, to be put back.
	lent string
	// sent says that the CLI took it: its hook came. The file tells what became of it.
	sent bool
	// hasSince is since when the CLI has it, worked says that it was seen at work then,
	// idle is since when it does nothing, zero for not.
	hasSince time.Time
	worked   bool
	idle     time.Time
	shown    sight
	// revoked says that somebody said abort when it was sent: its turn is stopped when it
	// comes up.
	revoked bool
}

func (k *text) input() *input { return &input{id: k.id, uuid: MessageUUID(k.id), steer: k.steer} }

// has reports whether the CLI has it: no key is pressed for it any more.
func (k *text) has() bool { return k.sent || k.left }

// typing reports whether a text is being typed: its Enter may be pressed any moment.
func (y *typist) typing() bool {
	return len(y.queue) > 0 && !y.queue[0].pasted.IsZero() && !y.queue[0].has()
}

// in reports whether a text that was sent at the terminal holds what was pasted. A person's
// half-written line stands before it. In the input line a person could write on.
func (k *text) in(said string) bool {
	got, own := squash(said), squash(k.text)
	return !k.pasted.IsZero() && (strings.HasSuffix(got, own) || k.stood && strings.Contains(got, own))
}

// take takes the text that a record tells of off the queue, nil when it is none of
// ours.
func (y *typist) take(said string) *text {
	got := squash(said)
	i := slices.IndexFunc(y.queue, func(k *text) bool { return !k.pasted.IsZero() && squash(k.text) == got })
	if i < 0 {
		i = slices.IndexFunc(y.queue, func(k *text) bool { return k.in(said) })
	}
	if i < 0 {
		return nil
	}
	k := y.queue[i]
	y.queue = slices.Delete(y.queue, i, i+1)
	y.told = false
	return k
}

// squash is a text without its blanks and control characters: the CLI's input line
// changes tabs, line ends and what stands at the ends.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// isCommand reports whether the CLI takes a text for one of its commands: a "/" and
// one word. A path has a second "/" or a dot and is a text.
func isCommand(s string) bool {
	word, ok := strings.CutPrefix(strings.TrimSpace(s), "/")
	if i := strings.IndexFunc(word, unicode.IsSpace); i >= 0 {
		word = word[:i]
	}
	return ok && !strings.ContainsAny(word, "/.")
}

// prompt takes a text to type.
func (t *terminal) prompt(id, said string, files []adapters.Attachment, steer bool) error {
	said, err := withFiles(id, said, files)
	if err != nil {
		return err
	}
	if isCommand(said) {
		return fmt.Errorf("claude: message %q: begins with a \"/\": commands open dialogs in the agent's own terminal and are typed there only", id)
	}
	t.typed.queue = append(t.typed.queue, &text{id: id, text: said, steer: steer, since: t.now})
	return nil
}

// withFiles is a text with its files named by their paths, which the CLI reads.
func withFiles(id, said string, files []adapters.Attachment) (string, error) {
	if strings.TrimSpace(said) == "" && len(files) == 0 {
		return "", fmt.Errorf("claude: message %q: want a text or a file, got neither", id)
	}
	var mentions []string
	for _, f := range files {
		if f.Path == "" {
			return "", fmt.Errorf("claude: file %q: in its own terminal it takes files on this machine only: %w", f.Name, adapters.ErrUnsupported)
		}
		mentions = append(mentions, mentionOf(f.Path))
	}
	if len(mentions) > 0 {
		said = strings.TrimSpace(said + "\n\n" + strings.Join(mentions, " "))
	}
	return said, nil
}

// keystrokes is a text as it is pasted, with a blank before what the CLI's input line
// takes for a mode of its own.
func keystrokes(said string) string {
	said = adapters.Typeable(said)
	if strings.IndexAny(said, "!#&") == 0 {
		said = " " + said
	}
	if last := said[strings.LastIndexFunc(said, unicode.IsSpace)+1:]; strings.HasPrefix(last, "@") {
		said += " " // else a list of files is open, which takes the Enter
	}
	return adapters.Pasted(said)
}

// press types keys.
func (t *terminal) press(keys string) {
	if !t.gone {
		t.step.Write = append(t.step.Write, []byte(keys))
	}
}

// failText gives a text up.
func (t *terminal) failText(k *text, why string) {
	t.typed.queue = slices.DeleteFunc(t.typed.queue, func(o *text) bool { return o == k })
	t.typed.told = false
	t.giveBack(k)
	if !k.entered.IsZero() {
		t.typed.givenUp = squash(k.text)
	}
	e := wireError{contract.CodeAgentError, why}
	if k.steer {
		t.fail(k.id, e)
		return
	}
	if k.revoked {
		t.late = append(t.late, settled{k.input(), contract.TurnEnd{Status: contract.TurnCancelled}})
		return
	}
	t.late = append(t.late, settled{k.input(), failedTurn(e)})
}

// promptHook takes a text that was sent at the terminal, by whomever.
func (t *terminal) promptHook(v rawjson.Value) {
	said := unpaste(v.Get("prompt").Text())
	if said == "" || strings.HasPrefix(said, "<task-notification>") {
		return
	}
	if !t.turn.open {
		t.ends.submitted, t.ends.submittedLook, t.ends.shown, t.ends.idle = said, t.watch.looks, sight{}, glimpse{}
	}
	t.wasSent(said)
}

// queued takes the record of a text that waits for the CLI's next step, or of those that
// waited and were taken back into the input line, by the person at the terminal.
func (t *terminal) queued(v rawjson.Value) {
	said := unpaste(v.Get("content").Text())
	switch v.Get("operation").Text() {
	case "enqueue":
		t.wasSent(said)
	case "popAll":
		for _, k := range slices.Clone(t.typed.queue) {
			if k.has() && strings.Contains(squash(said), squash(k.text)) {
				t.revoke(k)
			}
		}
	}
}

// wasSent notes that the CLI took the text that is being typed, if it is that.
func (t *terminal) wasSent(said string) {
	if len(t.typed.queue) == 0 || said == "" {
		return
	}
	k := t.typed.queue[0]
	if !k.sent && k.in(said) {
		k.sent = true
		t.had(k)
		t.giveBack(k)
	}
}

// giveBack puts a person's half line back.
func (t *terminal) giveBack(k *text) {
	if k.lent != "" {
		k.lent = ""
		t.press(keyYank)
	}
}

// blocked takes that a hook of the user's refused a prompt. The CLI has put it back
// into its input line, where it would stand in the way of the next.
func (t *terminal) blocked(why string) {
	t.ends.submitted = ""
	if len(t.typed.queue) == 0 || !t.typed.queue[0].sent || t.turn.open {
		return
	}
	k := t.typed.queue[0]
	t.wipe(k.text)
	t.failText(k, why)
}

// pressed is told that a text of ours was taken up.
func (t *terminal) pressed(k *text) {
	if k.revoked {
		t.stopTurn() // what was sent behind the abort stays
	}
}

// unqueue drops the texts that were not sent: one whose Enter was not pressed is wiped
// away. The one that was sent is stopped when it comes up.
func (t *terminal) unqueue() {
	y := &t.typed
	y.queue = slices.DeleteFunc(y.queue, func(k *text) bool {
		if !k.entered.IsZero() || k.has() {
			k.revoked = true
			return false
		}
		if !k.pasted.IsZero() {
			t.unpasted(k)
		}
		if k.steer {
			t.fail(k.id, wireError{contract.CodeAgentError, "the message was cancelled before it was sent"})
		} else {
			t.late = append(t.late, settled{k.input(), contract.TurnEnd{Status: contract.TurnCancelled}})
		}
		return true
	})
}

// unpaste takes the CLI's mark off what was pasted.
func unpaste(s string) string {
	for {
		before, rest, ok := strings.Cut(s, "<pasted_content")
		if !ok {
			break
		}
		_, rest, ok = strings.Cut(rest, ">")
		if !ok {
			break
		}
		inner, after, _ := strings.Cut(rest, "</pasted_content")
		_, after, _ = strings.Cut(after, ">") // the end repeats the id
		s = before + strings.Trim(inner, "\n") + after
	}
	return strings.Trim(s, "\n")
}
