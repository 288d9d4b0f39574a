package claude

import (
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// The keys of the CLI's input line that take a row away and put it back.
const (
	keyEnd  = "\x05"
	keyKill = "\x15"
	keyYank = "\x19"
)

// No bound here sends a text or takes it for sent: those rest on what the screen, a hook
// or the file shows.
const (
	// lineTaken is how long a person's half line keeps others from typing. Then it is
	// taken away for a moment.
	lineTaken = 30 * time.Second
	// pastePatience is how long the input line may take to show a text. When it is hit
	// while the line is free, the text is pasted again.
	pastePatience = 10 * time.Second
	// enterPatience is how long the input line may show a text behind its Enter, longer
	// behind each further one. Then Enter is pressed again: on a line that is free by then
	// it does nothing.
	enterPatience = 4 * time.Second
	// maxTries bounds both. Then the text is wiped away and fails.
	maxTries = 3
	// idlePatience is how long the CLI may have a text and do nothing.
	idlePatience = time.Minute
	// backPatience is how long a text must stand in the input line again to be taken
	// back.
	backPatience = 300 * time.Millisecond
	// gatedPatience is how long a call is held for a text. Its hook has hookTimeout.
	gatedPatience = 20 * time.Second
	// waitTold is how long a text waits before people are told why.
	waitTold = 5 * time.Second
)

// How often the screen is looked at while a text waits for it.
const (
	lookSoon = 50 * time.Millisecond
	lookLate = time.Second
)

// pump types the first text when that is safe, and looks after the one that was.
func (t *terminal) pump() {
	y := &t.typed
	t.alarmOff(alarmType)
	if !t.gone && len(y.queue) > 0 {
		switch k := y.queue[0]; {
		case k.has():
			t.untold(k)
		case !k.entered.IsZero():
			t.afterEnter(k)
		case !k.pasted.IsZero():
			t.afterPaste(k)
		default:
			t.type_(k)
		}
	}
	if !y.typing() || t.pointless(y.queue[0]) {
		t.ungate()
	} else if held := t.hooks.gatedSince; !held.IsZero() {
		if due := held.Add(gatedPatience); t.now.Before(due) {
			t.alarmAt(alarmGate, due)
		} else {
			y.queue[0].overheld = true
			t.ungate() // its Enter waits for the end of that call
		}
	}
}

// pointless reports whether no call is held for a text any more: it has been for long, and
// no Enter can be pressed now, nor was a key that may not have been read yet.
func (t *terminal) pointless(k *text) bool {
	_, _, line := t.watch.box()
	return k.overheld && !t.onTheWay(k) && (!line || t.danger() != "")
}

// onTheWay reports whether a key of a text that is being typed may not have been read yet.
func (t *terminal) onTheWay(k *text) bool {
	keys := k.pasted
	if k.entered.After(keys) {
		keys = k.entered
	}
	return t.now.Before(keys.Add(enterPatience))
}

// lookFor looks at the screen now and then for what was done at a time: often at first.
func (t *terminal) lookFor(since time.Time) {
	y := &t.typed
	if !t.now.Before(y.lookAt) {
		if !y.lookAt.IsZero() {
			t.look()
		}
		y.lookAt = t.now.Add(min(max(t.now.Sub(since)/4, lookSoon), lookLate))
	}
	t.alarmAt(alarmType, y.lookAt)
}

// type_ types a text unless something stands in the way.
func (t *terminal) type_(k *text) {
	why, look := t.obstacle(k)
	switch {
	case why == "":
		if !t.watch.free() {
			k.lent = strings.TrimSpace(t.watch.typed())
			t.press(keyEnd + keyKill)
		}
		t.paste(k)
	case look:
		t.tell(k, why)
		t.lookFor(k.since)
	default:
		// A frame will tell that it is over.
		if t.tell(k, why); !t.typed.told {
			t.alarmAt(alarmType, k.since.Add(waitTold))
		}
	}
}

// tell tells people why a text waits, once it has waited for a while.
func (t *terminal) tell(k *text, why string) {
	if !t.typed.told && !t.now.Before(k.since.Add(waitTold)) {
		t.typed.told = true
		t.notice(contract.ServiceNotice, "", "The message waits: "+why+".")
	}
}

// obstacle is why nothing may be typed now, empty when something may, and whether only a
// look at the screen can tell that it is over. A dialog would lose the text.
func (t *terminal) obstacle(k *text) (why string, look bool) {
	if !t.ready() {
		return "the agent has not started yet", false
	}
	if !k.steer && t.turn.open {
		return "a turn runs in the agent's terminal", false
	}
	if why := t.danger(); why != "" {
		return why, false
	}
	// What rests is told without being looked at.
	moves := t.watch.looks == 0 || t.turn.open || t.watch.busy()
	_, _, line := t.watch.box()
	switch {
	case t.watch.looks == 0:
		return "the agent has not drawn its screen yet", true
	case t.watch.free():
	case t.watch.halfLine():
		// A person may be thinking about it.
		if t.now.Before(t.watch.since.Add(lineTaken)) {
			return "the agent's input line holds a text that was not sent", true
		}
	case line:
		return "the agent's input line holds a text that was not sent", moves
	default:
		return "a dialog of the agent is open in its terminal", moves
	}
	return "", false
}

// danger is why an Enter could be an answer that nobody gave, empty when it cannot.
func (t *terminal) danger() string {
	switch {
	case t.asking():
		return "a permission request is open"
	case t.watch.gate != nil:
		return "the agent asks something in its terminal"
	case t.unsettled():
		return "a tool runs, which may still ask"
	case t.endsSoon():
		return "a tool is about to run, which may ask"
	}
	return ""
}

// endsSoon reports whether the held calls go on before a CLI that is slow would have read
// a key: the dialog of one of them would.
func (t *terminal) endsSoon() bool {
	held := t.hooks.gatedSince
	return !held.IsZero() && !t.now.Before(held.Add(gatedPatience-enterPatience))
}

// paste types a text, without its Enter: that is pressed when the input line shows it.
func (t *terminal) paste(k *text) {
	t.press(keystrokes(k.text))
	k.pasted, k.pastes, k.mark, k.stood = t.now, k.pastes+1, t.watch.looks, false
	t.typed.lookAt = t.now.Add(lookSoon)
	t.alarmAt(alarmType, t.typed.lookAt)
}

// afterPaste presses Enter when the input line shows what was pasted. A dialog that came
// between has swallowed the text.
func (t *terminal) afterPaste(k *text) {
	fresh, late := t.watch.looks > k.mark, !t.now.Before(k.pasted.Add(pastePatience))
	_, _, line := t.watch.box()
	held := t.watch.holds(k.text)
	k.stood = k.stood || fresh && (held != holdsNot || t.watch.begins(k.text))
	switch danger := t.danger(); {
	case danger != "":
		t.tell(k, danger)
	case fresh && (held == holdsJust || held == holdsMore && k.pastes == 1):
		t.enterKey(k)
		return
	case !late:
	case !line || !fresh:
		t.tell(k, "the agent's terminal shows no input line")
	case k.pastes >= maxTries:
		t.giveUp(k)
		return
	default:
		// Nothing of it can have been sent.
		t.wipe(k.text)
		t.paste(k)
		return
	}
	t.lookFor(k.pasted)
}

// enterKey presses Enter.
func (t *terminal) enterKey(k *text) {
	t.press("\r")
	k.entered, k.enters, k.mark = t.now, k.enters+1, t.watch.looks
	t.typed.lookAt = t.now.Add(lookSoon)
	t.alarmAt(alarmType, t.typed.lookAt)
}

// afterEnter waits until the input line does not show the text any more. Enter is pressed
// again while it stands there: anywhere else the key would be an answer.
func (t *terminal) afterEnter(k *text) {
	fresh, late := t.watch.looks > k.mark, !t.now.Before(k.entered.Add(time.Duration(k.enters)*enterPatience))
	_, _, line := t.watch.box()
	held := t.watch.holds(k.text) != holdsNot
	switch danger := t.danger(); {
	case fresh && line && !held:
		k.left = true
		t.had(k)
		t.untold(k)
		return
	case danger != "":
		t.tell(k, danger)
	case !late || !fresh:
	case !held:
		t.tell(k, "the agent's terminal shows no input line")
	case k.revoked || k.enters >= maxTries:
		t.giveUp(k)
		return
	default:
		t.enterKey(k)
		return
	}
	t.lookFor(k.entered)
}

// untold looks after a text that the CLI has. A hook of the user's may take any time, and
// so may a turn that a steer waits for: meanwhile the CLI says that it works.
func (t *terminal) untold(k *text) {
	if k.steer && t.turn.open && k.sent {
		return // it waits for the turn's next step
	}
	held, busy := t.watch.holds(k.text) != holdsNot, t.watch.busy()
	k.worked = k.worked || busy && t.watch.looks > k.mark
	switch {
	case t.watch.looks <= k.mark:
	case k.shown.back(t, held && !busy):
		t.back(k)
		return
	case held && !busy && !k.sent && !k.worked && !k.shown.gone:
		t.notLeft(k)
		return
	case busy:
		k.idle = time.Time{}
	case k.idle.IsZero():
		k.idle = t.now
	case !t.now.Before(k.idle.Add(idlePatience)):
		t.failText(k, "the agent took the message and did nothing with it: one of its hooks may have refused it")
		return
	}
	t.lookFor(k.hasSince)
}

// had notes that the CLI has a text.
func (t *terminal) had(k *text) {
	k.hasSince, k.mark = t.now, t.watch.looks
	t.typed.lookAt = t.now.Add(backPatience)
}

// back takes that a text which had been entered stands in the input line and the CLI does
// nothing. When it was sent, Esc took it back, and that was a person; else Enter did not
// count, and the line was looked at while it was drawn.
func (t *terminal) back(k *text) {
	if !k.sent && !k.worked {
		t.notLeft(k)
		return
	}
	t.revoke(k)
}

// notLeft takes back that the CLI has a text: the line was looked at while it was drawn.
func (t *terminal) notLeft(k *text) {
	k.left, k.shown, k.mark = false, sight{}, t.watch.looks
	t.lookFor(k.entered)
}

// revoke ends a text that was taken back at the terminal.
func (t *terminal) revoke(k *text) {
	k.revoked, k.entered = true, time.Time{} // it does not come up
	t.failText(k, "the message was taken back in the agent's terminal")
}

// glimpse is since when, and since which look, a screen has shown something.
type glimpse struct {
	at   time.Time
	look int
}

// again notes that the screen shows it, and reports whether it has for a while, at more
// than one look: one may be late, or have come while the screen was drawn.
func (g *glimpse) again(t *terminal, patience time.Duration) bool {
	if g.at.IsZero() {
		*g = glimpse{t.now, t.watch.looks}
	}
	return t.watch.looks > g.look && !t.now.Before(g.at.Add(patience))
}

// sight is what the screen has shown of a text that the CLI has: that the input line was
// without it, and that it is back.
type sight struct {
	gone           bool
	without, again glimpse
}

// back notes whether the input line shows the text while the CLI does nothing, and reports
// whether it came back. One that never was away may be a screen that is late.
func (s *sight) back(t *terminal, held bool) bool {
	if !held {
		s.again = glimpse{}
		s.gone = s.without.again(t, 0) || s.gone
		return false
	}
	s.without = glimpse{}
	return s.gone && s.again.again(t, backPatience)
}

// giveUp wipes a text away that stands in the input line, and fails it.
func (t *terminal) giveUp(k *text) {
	t.unpasted(k)
	t.failText(k, "the agent's terminal did not take the message")
}

// unpasted takes a text out of the input line, and puts what was taken away for it back.
// No key goes into a dialog. What was taken away could be an answer, so that it is
// told instead when a dialog may come before it is read.
func (t *terminal) unpasted(k *text) {
	_, _, line := t.watch.box()
	line = line && !t.asking() && t.watch.gate == nil
	if line {
		t.wipe(k.text)
	}
	switch {
	case k.lent == "":
	case line && t.danger() == "" && len(t.hooks.gated) == 0:
		t.press(keystrokes(k.lent))
	default:
		t.notice(contract.ServiceNotice, "", "A text that was being written in the agent's terminal could not be put back there: "+k.lent)
	}
	k.lent = ""
}

// wipe takes a text out of the input line: each key takes the rest of one row, or the end
// of the row before.
func (t *terminal) wipe(said string) {
	rows, cols := 1, max(t.watch.Cols-4, 20)
	for line := range strings.SplitSeq(adapters.Typeable(said), "\n") {
		rows += 1 + len(line)/cols
	}
	t.press(keyEnd + strings.Repeat(keyKill, min(2*rows, maxKills)))
}

// maxKills bounds how often a row is wiped away. What is longer is one mark there.
const maxKills = 60
