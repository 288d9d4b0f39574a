package gemini

import (
	"strconv"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Times of a turn's end.
const (
	// lastLines is how long the lines of the file may come after the hook that says
	// that a turn is over.
	lastLines = 400 * time.Millisecond
	// nudgeWait is how long Gemini CLI may take to go on after an empty answer.
	nudgeWait = 2 * time.Second
	// idleWait is how long the screen must be idle, and the file silent, for a turn
	// to be over that no hook ends.
	idleWait = 2 * time.Second
	// escAgain is when a cancel is typed again that nothing came of, maxEsc how often: a
	// screen that is newer shows the request. Two in an idle input line are a command.
	escAgain = 2 * time.Second
	maxEsc   = 3
)

// liveTurn is the turn that runs, if one does.
type liveTurn struct {
	open    bool
	request rawjson.Value // acp's prompt, that waits for the end
	since   time.Time     // by the agent's clock, when its prompt was taken; zero before
	n       int           // of prompts that were typed at the terminal
	heard   time.Time     // of the newest record or hook
	// taken: the agent has the prompt.
	taken bool
	// after: the hook said that it is over; endAt is when to believe that the file is
	// read, too.
	after bool
	endAt time.Time
	// idle: since when the screen is idle; idleAt when that is long enough.
	idle, idleAt time.Time
	cancelled    bool // the agent says so
	stopped      bool // the last turn was: what the file says then is history
	esc          int  // cancels that were typed, the last at escT
	escT         time.Time
	failure      string
	lastText     string
	pending      bool // the last message has neither text nor results
	model        string
	total        tokens
}

// begin notes that acp began a turn.
func (l *liveTurn) begin(now time.Time, auto bool) {
	*l = liveTurn{open: true, taken: auto, n: l.n, heard: now, since: l.since}
}

// end notes that acp ended it.
func (l *liveTurn) end() {
	*l = liveTurn{n: l.n, since: l.since, stopped: l.cancelled || l.esc > 0}
}

// has reports whether a record of that time belongs to the turn, or to the one before
// when none runs.
func (l *liveTurn) has(at time.Time) bool {
	switch {
	case l.since.IsZero() || at.Before(l.since):
		return false
	case l.open:
		return l.taken
	}
	return !l.stopped
}

// finished reports whether the agent is done with the turn.
func (l *liveTurn) finished() bool { return l.after || l.cancelled }

// count adds the tokens of a message, which are told once or more.
func (l *liveTurn) count(m *message, v rawjson.Value) {
	n := func(name string) int64 {
		i, _ := v.Get(name).Int()
		return max(i, 0)
	}
	now := tokens{n("input"), n("output"), n("cached"), n("thoughts")}
	if now == (tokens{}) {
		return
	}
	l.total.input += now.input - m.tokens.input
	l.total.output += now.output - m.tokens.output
	l.total.cached += now.cached - m.tokens.cached
	l.total.thoughts += now.thoughts - m.tokens.thoughts
	m.tokens = now
}

// looked takes a new screen.
func (l *liveTurn) looked(v view, now time.Time) {
	if !v.composer || v.busy {
		l.idle = time.Time{}
	} else if l.idle.IsZero() {
		l.idle = now
	}
}

// prompted is told that the agent took a prompt: one of ours, or one that a person
// typed at the terminal.
func (t *terminal) prompted(text string, at time.Time) {
	if at.IsZero() {
		at = t.now
	}
	if nudge(text) {
		// It goes on by itself: nobody said that.
		if l := &t.turn; l.open && l.taken {
			l.after, l.endAt, l.idle = false, time.Time{}, time.Time{}
		}
		return
	}
	if t.typed.isOurs(text) {
		t.turn.since, t.turn.taken, t.turn.idle = at, true, time.Time{}
		t.typed.confirmed(t, text)
		t.conversed()
		return
	}
	if blankText(text) {
		return
	}
	if t.turn.open && t.turn.taken && t.turn.finished() {
		t.endTurn()
	}
	if t.turn.open && t.turn.request != nil {
		if t.haunted(text) {
			t.write("\x1b") // not escape: ours waits on, and is not cancelled
			return
		}
		// It came before ours was sent, or goes into a turn: ours waits on.
		t.turn.since, t.turn.taken, t.turn.after, t.turn.endAt, t.turn.idle = at, true, false, time.Time{}, time.Time{}
		t.typed.behind = t.typed.waiting()
		t.typed.barred = t.typed.barred || t.typed.state == typingText || t.typed.state == typingEnter
		t.byUser(adapters.Draft{Event: contract.Text{Text: rawjson.Repair(text), Steer: true}})
		t.conversed()
		return
	}
	if !t.open.done {
		t.ready()
	}
	t.turn.n++
	key := "typed-" + strconv.Itoa(t.turn.n)
	t.byUser(adapters.Draft{Key: key, Event: contract.Text{Text: rawjson.Repair(text)}})
	t.turn.since = at
	if err := t.tell(adapters.Prompt{ID: key, Text: text}); err != nil {
		t.errs = append(t.errs, err)
		return
	}
	t.turn.taken = true
	t.conversed()
	if t.haunted(text) {
		t.escape()
	}
}

// nudge reports whether a prompt is one that Gemini CLI gives itself, when an answer
// of the model was empty.
func nudge(text string) bool {
	return strings.HasPrefix(text, "[System: You successfully executed a tool but returned an empty response.") ||
		strings.HasPrefix(text, "[System: You previously returned an empty response")
}

func blankText(s string) bool { return strings.TrimSpace(s) == "" }

// afterAgent is told by a hook that the agent is done.
func (t *terminal) afterAgent(response string) {
	l := &t.turn
	if !l.open || !l.taken {
		return
	}
	l.after, l.endAt = true, t.now.Add(lastLines)
	if l.pending && l.failure == "" {
		l.endAt = t.now.Add(nudgeWait) // an empty answer: it may go on by itself
	}
	if last := squeezed(l.lastText); last != "" && strings.Contains(squeezed(response), last) && !l.pending {
		l.endAt = t.now // the file is read to the last answer
	}
}

// squeezed is a text without white space: the hook's form of an answer has more of it.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// wasCancelled is told that the agent cancelled what it did.
func (t *terminal) wasCancelled() {
	l := &t.turn
	if !l.open || !l.taken {
		return
	}
	if l.esc == 0 && !l.cancelled {
		t.gate.dismissed(t)
		t.byUser(adapters.Draft{Event: contract.Abort{}})
	}
	l.cancelled = true
	l.endAt = t.now
}

// endings ends a turn that is over, and repeats a cancel.
func (t *terminal) endings() {
	l := &t.turn
	l.idleAt = time.Time{}
	if !l.open {
		return
	}
	if t.due(l.endAt) {
		t.endTurn()
		return
	}
	if !l.taken {
		return
	}
	if l.esc > 0 && l.esc < maxEsc {
		if t.due(l.escT.Add(escAgain)) && t.view.busy && t.viewT.After(l.escT) {
			t.escape()
		}
		if again := l.escT.Add(escAgain); again.After(t.now) {
			l.idleAt = again
		}
	}
	if l.idle.IsZero() || t.gate.current != nil || l.after {
		return
	}
	at := later(l.idle, l.heard).Add(idleWait)
	if l.pending && l.failure == "" && l.esc == 0 {
		at = at.Add(4 * idleWait)
	}
	if t.due(at) {
		t.endTurn()
		return
	}
	if l.idleAt.IsZero() || at.Before(l.idleAt) {
		l.idleAt = at
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// endTurn answers acp's prompt. A prompt of ours that was not sent yet keeps the turn
// open: a person's was before it.
func (t *terminal) endTurn() {
	l := &t.turn
	if l.request == nil {
		l.endAt, l.after = time.Time{}, false
		return
	}
	if t.typed.behind && !l.cancelled && l.esc == 0 {
		t.typed.behind, t.typed.since = false, t.now
		l.taken, l.after, l.endAt, l.failure = false, false, time.Time{}, ""
		return
	}
	request := l.request
	l.request = nil
	t.typed.drop()
	switch {
	case l.cancelled || l.esc > 0:
		t.answer(request, `{"stopReason":"cancelled"}`)
	case l.failure != "":
		t.say(failureAnswer(request, l.failure))
	default:
		t.answer(request, l.result())
	}
	t.drain()
}

// result is the answer to a prompt that went well.
func (l *liveTurn) result() string {
	n := func(b []byte, name string, v int64) []byte {
		return strconv.AppendInt(append(append(append(b, '"'), name...), `":`...), v, 10)
	}
	b := []byte(`{"stopReason":"end_turn"`)
	if u := l.total; u != (tokens{}) {
		b = n(append(b, `,"usage":{`...), "inputTokens", u.input)
		b = n(append(b, ','), "outputTokens", u.output+u.thoughts)
		b = n(append(b, ','), "thoughtTokens", u.thoughts)
		b = n(append(b, ','), "cachedReadTokens", u.cached)
		b = append(n(append(b, ','), "totalTokens", u.input+u.output+u.thoughts), '}')
	}
	if l.model != "" {
		b = rawjson.AppendString(append(b, `,"_meta":{"quota":{"model_usage":[{"model":`...), l.model)
		b = append(b, `,"token_count":{}}]}}`...)
	}
	return string(append(b, '}'))
}

// failureAnswer is an error as Gemini CLI says it over ACP: an HTTP status and JSON.
func failureAnswer(request rawjson.Value, text string) []byte {
	code := int64(500)
	if inner, ok := strings.CutPrefix(text, apiError); ok {
		text = strings.TrimSuffix(inner, "]")
		if v, err := rawjson.Parse([]byte(text)); err == nil {
			if n, ok := v.Get("error", "code").Int(); ok {
				code = n
			}
		}
	}
	return jsonrpc.AppendError(nil, request, code, text, nil)
}

// cancel types what cancels a request.
func (t *terminal) cancel() {
	l := &t.turn
	switch {
	case l.taken:
		t.escape()
	case t.typed.state == typingEnter:
		t.typed.revoked = true // it may be on its way: what becomes of it decides
	default: // our prompt was not sent: nothing runs of it
		t.typed.takeBack(t)
		l.cancelled = true
		t.endTurn()
	}
}

func (t *terminal) escape() {
	t.turn.esc++
	t.turn.escT = t.now
	t.write("\x1b")
}
