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
}

// text is a prompt or a steer on its way.
type text struct {
	id, text string
	steer    bool
	since    time.Time
	// typed is when its Enter was pressed last, zero before; tries how often.
	typed time.Time
	tries int
	// lent says that a person's half line was taken away for it, to be put back.
	lent bool
	// sent says that the CLI took it: its hook came. The file tells what became of it.
	sent bool
	// revoked says that somebody said abort when it was typed: its turn is stopped when
	// it comes up.
	revoked bool
}

func (k *text) input() *input { return &input{id: k.id, uuid: MessageUUID(k.id), steer: k.steer} }

// typing reports whether a text was typed and nothing says yet that it was taken.
func (y *typist) typing() bool {
	return len(y.queue) > 0 && !y.queue[0].typed.IsZero() && !y.queue[0].sent
}

// take takes the text that a record tells of off the queue, nil when it is none of
// ours. A person's half-written line stands before what was pasted behind it.
func (y *typist) take(said string) *text {
	got := squash(said)
	i := slices.IndexFunc(y.queue, func(k *text) bool { return !k.typed.IsZero() && squash(k.text) == got })
	if i < 0 {
		i = slices.IndexFunc(y.queue, func(k *text) bool { return !k.typed.IsZero() && strings.HasSuffix(got, squash(k.text)) })
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
	return adapters.Pasted(said)
}

// press types keys.
func (t *terminal) press(keys string) {
	if !t.gone {
		t.step.Write = append(t.step.Write, []byte(keys))
	}
}

// The keys of the CLI's input line that take a line away and put it back.
const (
	keyEnd  = "\x05"
	keyKill = "\x15"
	keyYank = "\x19"
)

const (
	// lineTaken is how long a person's half line keeps others from typing. Then it is
	// taken away for a moment.
	lineTaken = 30 * time.Second
	// takenPatience is how long the CLI may take to say that it took a text. Then
	// Enter is pressed again.
	takenPatience = 5 * time.Second
	// maxTries bounds that. Then the text fails.
	maxTries = 3
	// untoldPatience is how long after its hook a text may go without a record. A hook
	// of the user's may have refused it.
	untoldPatience = time.Minute
	// drawPatience is how long after the start no screen is needed to type.
	drawPatience = 10 * time.Second
	// waitTold is how long a text waits before people are told why.
	waitTold = 5 * time.Second
)

// pump types the first text when that is safe, and looks after the one that was.
func (t *terminal) pump() {
	y := &t.typed
	if !y.typing() {
		t.ungate()
	}
	if t.gone || len(y.queue) == 0 {
		t.alarmOff(alarmType)
		return
	}
	switch k := y.queue[0]; {
	case k.sent:
		t.untold(k)
	case !k.typed.IsZero():
		t.untaken(k)
	default:
		t.type_(k)
	}
}

// type_ types a text unless something stands in the way.
func (t *terminal) type_(k *text) {
	why, until := t.obstacle(k)
	if why == "" {
		if t.watch.seen && !t.watch.free() {
			k.lent = true
			t.press(keyEnd + keyKill)
		}
		t.press(keystrokes(k.text))
		t.press("\r")
		k.typed, k.tries = t.now, 1
		t.alarmAt(alarmType, t.now.Add(takenPatience))
		return
	}
	tell := k.since.Add(waitTold)
	switch {
	case !t.typed.told && !t.now.Before(tell):
		t.typed.told = true
		t.notice(contract.ServiceNotice, "", "The message waits: "+why+".")
	case !t.typed.told && (until.IsZero() || tell.Before(until)):
		until = tell
	}
	if until.IsZero() {
		t.alarmOff(alarmType)
		return
	}
	t.alarmAt(alarmType, until)
}

// obstacle is why nothing may be typed now, and until when if that is known. A
// dialog would lose the text, and take the Enter behind it for its first answer.
func (t *terminal) obstacle(k *text) (string, time.Time) {
	switch {
	case !t.ready():
		return "the agent has not started yet", time.Time{}
	case t.asking():
		return "a permission request is open", time.Time{}
	case t.watch.gate != nil:
		return "the agent asks something in its terminal", time.Time{}
	case !k.steer && t.turn.open:
		return "a turn runs in the agent's terminal", time.Time{}
	case !t.watch.seen && t.now.Before(t.born.Add(drawPatience)):
		return "the agent has not drawn its screen yet", t.born.Add(drawPatience)
	case k.steer && t.turn.open && t.watch.asked:
		// That was a dialog, which is closed. While a turn runs the screen may never rest.
	case t.watch.seen && t.watch.halfLine():
		// A person may be thinking about it.
		if due := t.watch.since.Add(lineTaken); t.now.Before(due) {
			return "the agent's input line holds a text that was not sent", due
		}
	case t.watch.seen && !t.watch.free():
		return "a dialog of the agent is open in its terminal", time.Time{}
	}
	if until, unsettled := t.unsettled(); unsettled {
		return "a tool is about to run", until
	}
	return "", time.Time{}
}

// untaken presses Enter again for a text that nothing says was taken, or gives up.
func (t *terminal) untaken(k *text) {
	due := k.typed.Add(takenPatience)
	if t.now.Before(due) {
		t.alarmAt(alarmType, due)
		return
	}
	if k.tries >= maxTries {
		t.failText(k, "the agent's terminal did not take the message")
		return
	}
	k.tries, k.typed = k.tries+1, t.now
	if t.stuck(k) {
		t.press("\r")
	}
	t.alarmAt(alarmType, t.now.Add(takenPatience))
}

// stuck reports whether a typed text stands in the input line and waits for its Enter
// alone. Anywhere else the key would be an answer.
func (t *terminal) stuck(k *text) bool {
	_, unsettled := t.unsettled()
	return !k.revoked && !unsettled && !t.asking() &&
		t.watch.gate == nil && t.watch.seen && t.watch.holds(k.text)
}

// untold gives up a text that was taken and never came up.
func (t *terminal) untold(k *text) {
	due := k.typed.Add(untoldPatience)
	if t.turn.open && k.steer {
		t.alarmOff(alarmType) // it waits for the turn's next step
		return
	}
	if t.now.Before(due) {
		t.alarmAt(alarmType, due)
		return
	}
	t.failText(k, "the agent took the message and did nothing with it: one of its hooks may have refused it")
}

// failText gives a text up.
func (t *terminal) failText(k *text, why string) {
	t.typed.queue = slices.DeleteFunc(t.typed.queue, func(o *text) bool { return o == k })
	t.typed.told = false
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
		t.ends.submitted, t.ends.submittedAt = said, t.now
	}
	if y := &t.typed; y.typing() {
		if k := y.queue[0]; strings.HasSuffix(squash(said), squash(k.text)) {
			k.sent, k.typed = true, t.now
			if k.lent {
				t.press(keyYank)
			}
		}
	}
}

// blocked takes that a hook of the user's refused a prompt. The CLI has put it back
// into its input line, where it would stand in the way of the next.
func (t *terminal) blocked(why string) {
	t.ends.submitted = ""
	if len(t.typed.queue) == 0 || !t.typed.queue[0].sent || t.turn.open {
		return
	}
	t.press(keyKill)
	t.failText(t.typed.queue[0], why)
}

// pressed is told that a text of ours was taken up.
func (t *terminal) pressed(k *text) {
	if k.revoked {
		t.stopTurn() // what was sent behind the abort stays
	}
}

// unqueue drops the texts that were not typed. The one that was is stopped when it
// comes up.
func (t *terminal) unqueue() {
	y := &t.typed
	y.queue = slices.DeleteFunc(y.queue, func(k *text) bool {
		if !k.typed.IsZero() {
			k.revoked = true
			return false
		}
		if k.steer {
			t.fail(k.id, wireError{contract.CodeAgentError, "the message was cancelled before it was typed"})
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
