package gemini

import (
	"slices"
	"strconv"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Times of a dialog.
const (
	// appearWait is how long a dialog may take to appear. One that was not seen by
	// then is left to the person at the terminal for good: nothing is typed for it.
	appearWait = 10 * time.Second
	// vanishWait is how long a dialog may stand after it was answered by a key,
	// before the key is typed again; maxKeys bounds that.
	vanishWait = 3 * time.Second
	maxKeys    = 3
	// consumedWait is when a key counts as read though no screen shows it: while the
	// next hook waits the screen may not come to rest.
	consumedWait = time.Second
	// ranWait is how long an answer at the terminal may take to show that it was a
	// refusal, which the file has at once, where a newer screen shows that the agent goes
	// on: a refusal ends the turn. ranMost is the same where none does.
	ranWait = time.Second
	ranMost = 30 * time.Second
	// strayWait is how long after a key the input line is not believed to be without it.
	strayWait = 3 * time.Second
)

// dialogGate decides when a key may be typed for a permission.
//
// Gemini CLI runs no tool that it asks for without an answer in its own dialog, whatever
// hooks say or do not say; so a host that is killed, a hook that is killed and a hook that
// times out leave the dialog to the person. What must not happen is that a key meant for
// one call answers the dialog of another. Before each dialog Gemini CLI calls the
// Notification hook and waits for it. The gate holds back these hooks but for one: no
// second dialog can come up while the first stands, or while a key for it is on its way.
// A key that comes too late therefore finds an input line, not a dialog: what lets the
// next one come up is written after the key, and read after it. The key is typed only
// when the screen shows the dialog with its first answer selected, and never while a
// dialog may be there that was let come up and not seen.
type dialogGate struct {
	last    int
	current *question   // whose dialog may be shown
	queue   []*question // whose hooks are held back
	fresh   *question   // that acp is being asked
	leaving []*question // whose dialog went away at the terminal, unanswered by us
	// unsure are questions whose dialog may be shown although it was not seen to be:
	// while there are any, no key is typed.
	unsure  []*question
	settled map[string]bool
	at      time.Time // when to look again
	lookT   time.Time // when a screen was asked for
	// allowT is when the key that allows was typed last, which may stand in the input
	// line if it came too late for its dialog; zero when it cannot.
	allowT time.Time
}

// Keys of the dialog. Refusing ends the turn, as it does for the person there.
const (
	allowKey  = "1"
	rejectKey = "\x1b"
)

// question is one dialog.
type question struct {
	hook string // to be answered, empty when it was
	call *heldCall
	key  string // acp's ask, empty when only the terminal can answer
	id   string // of our request to acp
	open bool   // acp waits
	// shown: the screen had something in the input line's place; seen: it was the
	// dialog. since is when the hook was answered.
	shown, seen bool
	since       time.Time
	local       bool // nothing is typed for it any more
	// trusted: its key counts as read, though the screen did not show so.
	trusted bool
	// answer is the key to type; keys is how often it was, the last at keyT.
	answer string
	keys   int
	keyT   time.Time
	gone   time.Time // when the dialog went away
	// stuck: since when the key waits because another dialog may be there.
	stuck time.Time
}

// asks takes the hook before a dialog and reports whether it is held.
func (g *dialogGate) asks(t *terminal, hook string, details rawjson.Value) bool {
	c := t.askedCall(details)
	if c == nil || !t.turn.open {
		t.notice("Gemini CLI asks something at its terminal that only the person there can answer.", "")
		q := &question{hook: hook, local: true}
		g.queue = append(g.queue, q)
		return true
	}
	c.asked = true
	q := &question{hook: hook, call: c}
	g.queue = append(g.queue, q)
	if k := details.Get("type").Text(); k == "ask_user" || k == "exit_plan_mode" {
		q.local = true
		t.notice("Gemini CLI asks a question at its terminal: only the person there can answer it.", "")
		return true
	}
	g.last++
	q.id = strconv.Itoa(askBase + g.last)
	q.open = true
	g.fresh = q
	t.say(askMessage(t.open.wire, q, details))
	t.drain()
	g.fresh = nil
	return true
}

// askBase is above the ids of acp's own requests, for people who read a log.
const askBase = 1_000_000

// askMessage is the request for a permission as an agent makes it over ACP.
func askMessage(session string, q *question, details rawjson.Value) []byte {
	b := []byte(`{"jsonrpc":"2.0","id":` + q.id + `,"method":"session/request_permission","params":{"sessionId":`)
	b = rawjson.AppendString(b, session)
	b = append(b, `,"options":[{"optionId":"proceed_once","name":"Allow once","kind":"allow_once"},`+
		`{"optionId":"cancel","name":"No","kind":"reject_once"}],"toolCall":{"status":"pending"`...)
	b = append(b, q.call.describe(nil)...)
	if details.Get("type").Text() == "edit" {
		b = appendDiff(append(b, `,"content":[`...), details, details.Get("originalContent").Text() == "")
		b = append(b, ']')
	}
	return append(b, '}', '}', '}')
}

// keyed is told acp's key of the ask that is being made.
func (g *dialogGate) keyed(key string) {
	if g.fresh != nil && key != "" {
		g.fresh.key = key
	}
}

// decided takes acp's answer to a request for a permission.
func (t *terminal) decided(m jsonrpc.Message) {
	g := &t.gate
	q := g.find(func(q *question) bool { return q.open && q.id == string(m.ID) })
	if q == nil {
		return
	}
	q.open = false
	outcome := m.Result.Get("outcome")
	switch {
	case outcome.Get("outcome").Text() == "selected" && outcome.Get("optionId").Text() == "proceed_once":
		q.answer = allowKey
	case outcome.Get("outcome").Text() == "selected":
		q.answer = rejectKey
	default:
		q.local = true // nobody decides any more: the turn is being stopped
	}
}

func (g *dialogGate) find(fits func(*question) bool) *question {
	if g.current != nil && fits(g.current) {
		return g.current
	}
	for _, list := range [][]*question{g.leaving, g.queue} {
		for _, q := range list {
			if fits(q) {
				return q
			}
		}
	}
	return nil
}

// looked takes a new screen.
func (g *dialogGate) looked(v view) {
	if v.composer && !v.dialog {
		g.unsure = slices.DeleteFunc(g.unsure, func(q *question) bool { return q.trusted || q.call == nil })
	}
	if q := g.current; q != nil {
		q.seen = q.seen || v.dialog && len(g.unsure) == 0
		q.shown = q.shown || v.dialog || q.local && !v.composer
	}
}

// dialogs goes on with what is asked.
func (t *terminal) dialogs() {
	g := &t.gate
	for {
		q := g.current
		if q == nil && len(g.queue) > 0 {
			q, g.queue = g.queue[0], g.queue[1:]
			t.release(q.hook)
			q.hook = ""
			if q.call != nil && q.call.ended {
				continue // cancelled with the one before it
			}
			g.current, q.since = q, t.now
		}
		if q == nil || !t.dialogOver(q) {
			break
		}
		g.current = nil
		if !q.seen || q.trusted {
			g.unsure = append(g.unsure, q)
		}
		if q.open {
			q.gone = t.now
			g.leaving = append(g.leaving, q)
		}
	}
	for len(g.leaving) > 0 && t.goesOn(g.leaving[0].gone) {
		g.over(t, g.leaving[0].call, contract.AllowOnce) // no refusal came
	}
	t.seek()
	g.at = g.wake(t.now)
}

// goesOn reports whether the agent works on after a dialog that went away then.
func (t *terminal) goesOn(gone time.Time) bool {
	return t.due(gone.Add(ranMost)) || t.due(gone.Add(ranWait)) && t.view.busy && t.viewT.After(gone)
}

// seek asks for a screen while it is not known what was answered at the terminal: that of
// a tool that prints all the time does not come to rest. One that is not at rest may be
// drawn in part, so none is asked for where a dialog may stand.
func (t *terminal) seek() {
	g := &t.gate
	if len(g.leaving) > 0 && g.calm() && t.due(later(g.leaving[0].gone, g.lookT).Add(ranWait)) {
		g.lookT = t.now
		t.step.Effects = append(t.step.Effects, adapters.Look{})
	}
}

// dialogOver follows the one dialog that may be shown, answers it, and reports whether
// there is room for the next.
func (t *terminal) dialogOver(q *question) bool {
	switch {
	case q.keys > 0:
		switch seen := t.viewT.After(q.keyT); {
		case seen && !t.view.dialog:
			return true
		case seen && t.due(q.keyT.Add(vanishWait)): // it stands as it did
			t.key(q)
		case !seen && len(t.gate.queue) > 0 && t.due(q.keyT.Add(consumedWait)):
			q.trusted = true
			return true
		}
		return false
	case !t.viewT.After(q.since):
	case t.view.dialog && !q.local:
		switch {
		case q.answer == "":
		case len(t.gate.unsure) == 0:
			t.key(q)
		case q.stuck.IsZero():
			q.stuck = t.now
		case t.due(q.stuck.Add(appearWait)):
			t.unfound(q)
		}
		return false
	case q.shown && t.view.composer:
		return true
	}
	if !q.shown && t.due(q.since.Add(appearWait)) {
		t.unfound(q)
		return true
	}
	return false
}

// unfound leaves a question to the person at the terminal.
func (t *terminal) unfound(q *question) {
	if !q.local && q.answer != "" {
		t.notice("The permission could not be given to Gemini CLI: its dialog was not found on the screen. It can be answered at the terminal.", "")
	}
	q.local = true
}

// calm reports whether no dialog can be there that is known of.
func (g *dialogGate) calm() bool {
	return g.current == nil && len(g.queue) == 0 && len(g.unsure) == 0
}

// wake is when to look again.
func (g *dialogGate) wake(now time.Time) (at time.Time) {
	next := func(x time.Time) {
		if x.After(now) && (at.IsZero() || x.Before(at)) {
			at = x
		}
	}
	if q := g.current; q != nil {
		next(q.since.Add(appearWait))
		if !q.stuck.IsZero() {
			next(q.stuck.Add(appearWait))
		}
		if q.keys > 0 {
			next(q.keyT.Add(consumedWait))
			next(q.keyT.Add(vanishWait))
		}
	}
	for _, q := range g.leaving {
		next(q.gone.Add(ranWait))
		next(q.gone.Add(ranMost))
		next(g.lookT.Add(ranWait))
	}
	return at
}

// key types the answer at the dialog that is shown.
func (t *terminal) key(q *question) {
	if q.keys >= maxKeys {
		if !q.local {
			q.local = true
			t.notice("The permission could not be given to Gemini CLI: its dialog takes no key. It can be answered at the terminal.", "")
		}
		return
	}
	q.keys++
	q.keyT = t.now
	if q.answer == rejectKey {
		t.turn.esc++ // it cancels the request, too
		t.turn.escT = t.now
	}
	if q.answer == allowKey {
		t.gate.allowT = t.now
	}
	t.write(q.answer)
}

// unstray takes a key that came too late for its dialog out of the input line.
func (g *dialogGate) unstray(t *terminal) {
	if g.allowT.IsZero() || !t.view.composer || t.view.dialog || !t.viewT.After(g.allowT) {
		return
	}
	switch {
	case t.view.line == allowKey:
		t.write("\x7f")
		g.allowT = time.Time{}
	case t.view.empty && t.due(g.allowT.Add(strayWait)):
		g.allowT = time.Time{}
	}
}

// allowed is told that the tool of a call ran or is about to.
func (g *dialogGate) allowed(t *terminal, c *heldCall) { g.over(t, c, contract.AllowOnce) }

// refused is told that it will not.
func (g *dialogGate) refused(t *terminal, c *heldCall) { g.over(t, c, contract.RejectOnce) }

func (g *dialogGate) over(t *terminal, c *heldCall, d contract.Decision) {
	q := g.find(func(q *question) bool { return q.call == c })
	if q == nil {
		return
	}
	g.leaving = slices.DeleteFunc(g.leaving, func(x *question) bool { return x == q })
	switch {
	case q.open:
		g.take(t, q, d)
	case d == contract.AllowOnce && q.answer == rejectKey && q.keys == 0:
		t.notice("A call that was refused runs all the same: it had been allowed at Gemini CLI's terminal before.", "")
	}
	if q == g.current {
		g.current = nil
		if gone := t.viewT.After(later(q.since, q.keyT)) && t.view.composer && !t.view.dialog; !gone || !q.shown {
			// No screen showed so, and which of two calls ended is not always certain.
			q.trusted = true
			g.unsure = append(g.unsure, q)
		}
	}
}

// ended is told that a call is over, and its dialog with it. A screen has to say so, too,
// where one will.
func (g *dialogGate) ended(c *heldCall) {
	g.unsure = slices.DeleteFunc(g.unsure, func(q *question) bool { return q.call == c && !q.trusted })
}

// take writes the decision of the person at the terminal and takes the ask back from acp.
func (g *dialogGate) take(t *terminal, q *question, d contract.Decision) {
	q.open = false
	if g.settled == nil {
		g.settled = map[string]bool{}
	}
	g.settled[q.key] = true
	t.decidedAtTerminal(q.call, d)
	t.say([]byte(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + q.id + `}}`))
	t.drain()
}

// dismissed is told that the person at the terminal cancelled everything.
func (g *dialogGate) dismissed(t *terminal) {
	if q := g.current; q != nil && q.open {
		g.take(t, q, contract.RejectOnce)
	}
}

// reset forgets the dialogs of a turn that is over.
func (g *dialogGate) reset(t *terminal) {
	for _, q := range g.queue {
		t.release(q.hook)
	}
	*g = dialogGate{last: g.last, fresh: g.fresh, settled: g.settled, allowT: g.allowT}
}
