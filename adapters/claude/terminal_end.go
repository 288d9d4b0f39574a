package claude

import (
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// How turns end: by their record, by a hook while the file is silent, stopped from
// elsewhere, or taken back at the terminal, of which only the screen tells.

// endPatience is how long after its Stop hook a turn may go without the record of
// its end, lastPatience without the answer that the hook told. When it is hit and the CLI
// does not say that it works, as while a hook of the user's runs, the turn ends without.
const (
	endPatience  = 5 * time.Second
	lastPatience = time.Minute
)

// latePatience is how long a screen may be behind the file. When Esc came before a look,
// the input line was never seen without the prompt that it holds again.
const latePatience = 5 * time.Second

// stopHook takes the end of a turn. Its last answer may not be in the file yet, and
// a hook of the user's may make the agent go on: the file has the last word.
func (t *terminal) stopHook(failed bool, last string) {
	t.ends.submitted = ""
	t.ends.failed = t.ends.failed || failed
	if t.turn.open {
		t.ends.awaited, t.ends.stopped = last, t.now
		t.alarmAt(alarmEnd, t.now.Add(endPatience))
	}
}

// stopFailed takes the end of a turn whose request failed for good. There is no
// record of the end behind that of the failure.
func (t *terminal) stopFailed(v rawjson.Value) {
	if v.Get("agent_id").Text() != "" {
		return
	}
	t.stopHook(true, "")
	if t.turn.open && t.turn.failure == nil {
		t.turn.failure = &failure{kind: v.Get("error").Text(), text: v.Get("last_assistant_message").Text()}
	}
	if t.turn.open && t.ends.told {
		t.endTurn(t.completed())
	}
}

// interrupted takes the record that somebody stopped the turn; there is no hook.
func (t *terminal) interrupted() {
	if !t.turn.open {
		return
	}
	if !t.turn.aborted {
		t.emit(byUser(contract.Abort{}))
	}
	t.endTurn(contract.TurnEnd{Status: contract.TurnCancelled})
}

// completed is how a turn ends that nobody stopped.
func (t *terminal) completed() contract.TurnEnd {
	f := t.turn.failure
	if f == nil {
		return contract.TurnEnd{Status: contract.TurnCompleted}
	}
	return failedTurn(wireError{f.code(), f.text})
}

// inspection is a look at whether the CLI still works.
type inspection struct{ asked, look int }

// maxInspections bounds how often a look may bring nothing.
const maxInspections = 5

// inspect looks whether the CLI works, for an alarm: it rings again until that is known.
// Without a screen it is idle for all that is known.
func (t *terminal) inspect(c *inspection, alarm string) (idle, known bool) {
	if t.watch.looks == 0 || c.asked >= maxInspections {
		*c = inspection{}
		return true, true
	}
	if c.asked > 0 && t.watch.looks > c.look {
		*c = inspection{}
		return !t.watch.busy(), true
	}
	c.asked, c.look = c.asked+1, t.watch.looks
	t.look()
	t.alarmAt(alarm, t.now.Add(backPatience))
	return false, false
}

// endLate ends a turn whose record of the end has not come.
func (t *terminal) endLate() {
	if !t.turn.open {
		return
	}
	e := &t.ends
	idle, known := t.inspect(&e.endLook, alarmEnd)
	switch {
	case !known:
	case !idle, !e.complete() && t.now.Before(e.stopped.Add(lastPatience)):
		t.alarmAt(alarmEnd, t.now.Add(lookLate))
	default:
		t.endTurn(t.completed())
	}
}

// complete reports whether the file told the last answer, as far as a hook told of one.
func (e *ending) complete() bool {
	awaited, said := squash(e.awaited), squash(e.said)
	return awaited == "" || said != "" && (strings.Contains(awaited, said) || strings.Contains(said, awaited))
}

// takenBack ends a turn that Esc took back before anything was answered: no hook and no
// record tells, the prompt stands in the input line again and the CLI does nothing.
func (t *terminal) takenBack() {
	e := &t.ends
	if !t.mayTakeBack() || t.watch.looks <= e.look {
		return
	}
	held := t.watch.holds(e.prompt) == holdsJust && !t.watch.busy()
	if !held {
		e.idle = glimpse{}
	}
	if e.shown.back(t, held) || held && e.idle.again(t, latePatience) {
		t.cancelled()
	}
}

// mayTakeBack reports whether Esc would take the prompt of the turn back.
func (t *terminal) mayTakeBack() bool {
	return t.turn.open && t.ends.prompt != "" && !t.ends.answered
}

// lookBack looks whether the prompt of the turn was taken back, until it is answered:
// then the screen may look as it did before the prompt was sent, which is not told.
func (t *terminal) lookBack() {
	if t.mayTakeBack() {
		t.look()
		t.alarmAt(alarmBack, t.now.Add(min(max(t.now.Sub(t.ends.begun)/4, backPatience), 2*lookLate)))
	}
}

// notSubmitted forgets a prompt of a hook that never came up, as the screen shows: Esc
// took it back while a hook of the user's ran, or that refused it.
func (t *terminal) notSubmitted() {
	e := &t.ends
	if _, _, line := t.watch.box(); e.submitted == "" || t.turn.open || t.watch.looks <= e.submittedLook || !line {
		return
	}
	busy := t.watch.busy()
	if busy {
		e.idle = glimpse{}
	}
	if e.shown.back(t, t.watch.holds(e.submitted) == holdsJust && !busy) || !busy && e.idle.again(t, idlePatience) {
		e.submitted, e.shown, e.idle = "", sight{}, glimpse{}
	}
}

// cancelled ends the turn that somebody stopped. What was typed for somebody else, and
// was stopped from there, does not stay in the input line.
func (t *terminal) cancelled() {
	if t.ends.ours && t.turn.aborted && t.watch.holds(t.ends.prompt) == holdsJust {
		t.wipe(t.ends.prompt)
	}
	t.interrupted()
}

// abort stops the turn and what waits to be typed.
func (t *terminal) abort() {
	t.unqueue()
	t.stopTurn()
}

// stopTurn stops the turn. What waits for a decision is refused in a way that ends the
// turn; else the key that stops it is pressed.
func (t *terminal) stopTurn() {
	stopped := false
	for _, a := range t.asks {
		// The host has settled the ask.
		stopped = stopped || a.agent == ""
		t.closeHook(a.request, stopping(a.agent == ""))
		t.endOwn(a)
	}
	t.asks = nil
	for _, r := range t.hooks.waiting {
		stopped = stopped || r.agent == ""
		t.closeHook(r.hook, stopping(r.agent == ""))
	}
	t.hooks.waiting = nil
	switch {
	case !t.turn.open && t.agents.running():
		t.notice(contract.ServiceNotice, contract.CodeUnsupported, "Work in the background is stopped in the agent's terminal only (ctrl+x ctrl+k, twice).")
	case !t.turn.open || t.turn.aborted:
	default:
		t.turn.aborted = true
		t.waitFor("", waitAbort, abortTimeout, func(reply) { t.step.Stop = "it did not end the turn that was stopped" })
		if stopped {
			t.alarmAt(alarmEsc, t.now.Add(escapeAfter))
		} else {
			t.escape()
		}
	}
}

// escapeAfter is how long an interrupted turn may go on before the key is pressed
// again. Two at once would open a menu in an idle terminal.
const escapeAfter = 4 * time.Second

// maxEscapes bounds how often. The turn has then time to end until abortTimeout.
const maxEscapes = 3

// escape presses the key that stops a turn.
func (t *terminal) escape() {
	if t.ends.escapes++; t.ends.escapes > maxEscapes {
		return
	}
	t.press("\x1b")
	t.alarmAt(alarmEsc, t.now.Add(escapeAfter))
}

// stopping refuses a request, and ends the turn with it when it is the main agent's.
func stopping(main bool) []byte {
	o := new(object).str("behavior", "deny").str("message", "Nobody decided about this request. It was not allowed.")
	if main {
		o.flag("interrupt", true)
	}
	return o.value()
}

// running reports whether a sub-agent runs.
func (t *agents) running() bool {
	return slices.ContainsFunc(t.list, func(a *subagent) bool { return a.running() })
}
