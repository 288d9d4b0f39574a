package claude

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// ending is what is known of the turn beside the protocol's own.
type ending struct {
	// failed says that StopFailure came, told that the file told of the failure.
	failed, told bool
	// planned says that a tool for plans was called, which changes the mode.
	planned bool
	// candidate is what was typed and begins a turn only if an answer follows: a
	// slash command, a shell command.
	candidate string
	// submitted is the prompt of a hook that the file has not told yet, early that of
	// the open turn if it was opened by its hook.
	submitted, early string
	submittedAt      time.Time
	// used is the usage of each API message by its id.
	used map[string]contract.Usage
	// escapes counts how often the key that stops the turn was pressed, escaped is when
	// last.
	escapes int
	escaped time.Time
	// prompt is the text that began the turn, ours that it was typed for somebody.
	prompt string
	ours   bool
	// keys counts what was typed at the terminal.
	keys int
}

// endPatience is how long after its Stop hook a turn may go without the record of
// its end. When it is hit the turn ends without.
const endPatience = 5 * time.Second

// submittedFor is how long a prompt's hook counts while the file does not tell the
// prompt. One that a hook of the user's refused never comes up.
const submittedFor = 10 * time.Second

// The alarms, each at most once at a time.
const (
	alarmFile = "file"       // a request waits for its call
	alarmCrew = "sub-agent"  // the session's file waits for a sub-agent's
	alarmEnd  = "turn's end" // a turn waits for the record of its end
	alarmType = "typing"     // a text waits, or its being taken
	alarmEsc  = "escape"     // an interrupted turn has not ended
)

// alarmAt asks for a Tick. An alarm that is set already rings at the new time.
func (t *terminal) alarmAt(kind string, at time.Time) {
	t.alarmOff(kind)
	t.requests.list = append(t.requests.list, &pending{kind: kind, deadline: at, got: func(reply) { t.rang(kind) }})
}

func (t *terminal) alarmOff(kind string) {
	t.requests.take(func(q *pending) bool { return q.kind == kind })
}

func (t *terminal) rang(kind string) {
	switch kind {
	case alarmCrew:
		t.releaseMain()
	case alarmEnd:
		if t.turn.open {
			t.endTurn(t.completed())
		}
	case alarmEsc:
		switch {
		case !t.turn.open:
		case t.putBack():
			if t.ends.ours {
				t.press(keyEnd + keyKill)
			}
			t.endTurn(contract.TurnEnd{Status: contract.TurnCancelled})
		default:
			t.escape()
		}
	}
}

// enter makes sure that a turn is open, for what the main agent does.
func (t *terminal) enter() {
	if t.turn.open {
		t.turn.background = false
		return
	}
	switch e := &t.ends; {
	case e.candidate != "":
		t.openLocal(e.candidate)
	case e.submitted != "" && t.now.Before(e.submittedAt.Add(submittedFor)):
		// The file stays behind its hooks.
		text := e.submitted
		t.openPrompt(text)
		t.ends.early = squash(text)
	default:
		t.openTurn(nil)
	}
}

// openPrompt opens the turn of a prompt: one that was sent from elsewhere and typed
// here, or a person's own.
func (t *terminal) openPrompt(text string) {
	k := t.typed.take(text)
	if k == nil {
		t.openLocal(text)
		return
	}
	t.forget()
	t.ends.prompt, t.ends.ours = k.text, true
	t.openTurn([]*input{k.input()})
	t.pressed(k)
}

// openLocal opens the turn of what was typed at the terminal.
func (t *terminal) openLocal(text string) {
	t.forget()
	t.ends.prompt = text
	key := t.key()
	t.emit(adapters.Draft{Role: contract.RoleUser, Key: key, Event: contract.Text{Text: text}})
	t.openTurn([]*input{{id: key, uuid: key}})
}

func (t *terminal) key() string {
	t.ends.keys++
	return "typed-" + strconv.Itoa(t.ends.keys)
}

// forget drops what the turn that opens has no part in.
func (t *terminal) forget() {
	t.alarmOff(alarmEnd)
	// Of a short turn the file can tell the start when a hook has told its end.
	t.ends = ending{used: t.ends.used, keys: t.ends.keys, failed: t.ends.failed}
	if t.ends.used == nil {
		t.ends.used = map[string]contract.Usage{}
	}
}

// promptRecord takes what a person sent. Its record begins a turn.
func (t *terminal) promptRecord(v rawjson.Value, text string) {
	text = unpaste(text)
	if text == "" {
		text = "(a picture)"
	}
	if early := t.ends.early; early != "" && early == squash(text) {
		t.ends.early = ""
		return
	}
	if t.turn.open {
		// Nothing told of its end, or the CLI went on with what waited behind it.
		t.endTurn(t.completed())
	}
	t.openPrompt(text)
	t.answers[v.Get("uuid").Text()] = t.lastAnswer
}

// steered takes a text that was given to the running turn.
func (t *terminal) steered(text string) {
	text = unpaste(text)
	switch k := t.typed.take(text); {
	case k == nil && !t.turn.open:
		t.openLocal(text)
	case k == nil:
		t.emit(byUser(contract.Text{Text: text, Steer: true}))
	case k.steer && t.turn.open:
		in := k.input()
		t.turn.inputs = append(t.turn.inputs, in)
		t.answers[in.uuid] = t.lastAnswer
		t.taken(in, "turn")
		t.pressed(k)
	default:
		// A prompt that the CLI folded into a turn that had just begun at the terminal.
		if t.turn.open {
			t.endTurn(t.completed())
		}
		t.forget()
		t.openTurn([]*input{k.input()})
		t.pressed(k)
	}
}

// slashCommand takes a command of the CLI that was typed. Those that are prompts are
// followed by an answer.
func (t *terminal) slashCommand(text string) {
	if t.turn.open {
		return // the model's own use of a skill
	}
	t.ends.candidate = strings.TrimSpace(between(text, "command-name") + " " + between(text, "command-args"))
}

// shellInput takes a command that was typed behind a "!": it runs without asking,
// and the model may say something about it.
func (t *terminal) shellInput(command string) {
	if !t.turn.open {
		t.ends.candidate = "!" + command
	}
}

func (t *terminal) shellOutput(text string) {
	out := strings.TrimSpace(between(text, "bash-stdout") + "\n" + between(text, "bash-stderr"))
	said := "A shell command was run in the agent's terminal."
	if c, ok := strings.CutPrefix(t.ends.candidate, "!"); ok {
		said = "A shell command was run in the agent's terminal: " + c
	}
	if out != "" {
		said += "\n\n" + out
	}
	t.notice(contract.ServiceNotice, "", said)
}

// stopHook takes the end of a turn. Its last answer may not be in the file yet, and
// a hook of the user's may make the agent go on: the file has the last word.
func (t *terminal) stopHook(failed bool) {
	t.ends.submitted = ""
	t.ends.failed = t.ends.failed || failed
	if t.turn.open {
		t.alarmAt(alarmEnd, t.now.Add(endPatience))
	}
}

// stopFailed takes the end of a turn whose request failed for good. There is no
// record of the end behind that of the failure.
func (t *terminal) stopFailed(v rawjson.Value) {
	if v.Get("agent_id").Text() != "" {
		return
	}
	t.stopHook(true)
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

// endTurn ends the open turn.
func (t *terminal) endTurn(end contract.TurnEnd) {
	t.alarmOff(alarmEnd)
	t.alarmOff(alarmEsc)
	end.Usage = t.usage()
	t.hooks.waiting = slices.DeleteFunc(t.hooks.waiting, func(r *request) bool {
		if r.agent == "" {
			t.letGo(r.hook)
		}
		return r.agent == ""
	})
	for id, c := range t.hooks.calls {
		if c.agent == "" {
			delete(t.hooks.calls, id)
		}
	}
	clear(t.hooks.refused)
	t.closeTurn(end)
	t.ends = ending{used: map[string]contract.Usage{}, keys: t.ends.keys}
	t.contextIs()
}

// usage is what the turn consumed, sub-agents included; what it cost is not told.
func (t *terminal) usage() *contract.Usage {
	var sum contract.Usage
	for _, u := range t.ends.used {
		sum.InputTokens += u.InputTokens
		sum.OutputTokens += u.OutputTokens
		sum.CacheReadTokens += u.CacheReadTokens
		sum.CacheWriteTokens += u.CacheWriteTokens
		sum.ReasoningTokens += u.ReasoningTokens
	}
	if sum.InputTokens == 0 && sum.OutputTokens == 0 {
		return nil
	}
	return &sum
}

// contextIs reports how full the context is.
func (t *terminal) contextIs() {
	if used := t.meter.context; used != 0 && used != t.facts.contextUsed {
		t.facts.contextUsed = used
		t.learn().ContextUsed = used
	}
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
	t.ends.escaped = t.now
	t.alarmAt(alarmEsc, t.now.Add(escapeAfter))
}

// putBack reports whether the key took back a turn of which nothing was answered yet:
// the CLI writes no record of that, and shows the prompt in its input line again.
func (t *terminal) putBack() bool {
	e := &t.ends
	return e.escapes > 0 && e.prompt != "" && t.watch.seen && t.watch.since.After(e.escaped) && t.watch.holds(e.prompt)
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
