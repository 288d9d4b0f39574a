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
	// submittedLook is how many looks at the screen there were then, idle is since when
	// it shows that nothing runs, in an open turn with its prompt in the input line.
	submittedLook int
	idle          glimpse
	// used is the usage of each API message by its id.
	used map[string]contract.Usage
	// escapes counts how often the key that stops the turn was pressed.
	escapes int
	// prompt is the text that began the turn, ours that it was typed for somebody.
	// Recorded says that the file told it, behind the record parent.
	prompt   string
	ours     bool
	recorded bool
	parent   string
	// answered says that something was answered or done in the turn.
	answered bool
	// begun is when it began, look how many looks at the screen there were then, shown
	// what it has shown of the prompt since.
	begun time.Time
	look  int
	shown sight
	// awaited is the last answer as the Stop hook told it, until the file does; said is
	// the last that it told. stopped is when the hook came.
	awaited, said string
	stopped       time.Time
	// endLook and escLook are looks at whether the CLI still works.
	endLook, escLook inspection
	// keys counts what was typed at the terminal.
	keys int
}

// The alarms, each at most once at a time.
const (
	alarmFile = "file"       // a request waits for its call
	alarmCrew = "sub-agent"  // the session's file waits for a sub-agent's
	alarmEnd  = "turn's end" // a turn waits for the record of its end
	alarmType = "typing"     // a text waits, or its being taken
	alarmEsc  = "escape"     // an interrupted turn has not ended
	alarmBack = "back"       // a prompt may have been taken back
	alarmGate = "held call"  // a call is held for a text
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
		t.endLate()
	case alarmBack:
		t.lookBack()
	case alarmEsc:
		if !t.turn.open {
			return
		}
		_, _, line := t.watch.box()
		switch idle, known := t.inspect(&t.ends.escLook, alarmEsc); {
		case !known:
		case idle && line:
			t.cancelled() // the record is late, or there is none
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
	case e.submitted != "":
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
	switch {
	case k != nil:
	case t.typed.givenUp != "" && strings.HasSuffix(squash(text), t.typed.givenUp):
		t.typed.givenUp = ""
		t.notice(contract.ServiceNotice, "", "A message that was given up was taken by the agent after all.")
		t.forget()
		t.openTurn(nil)
		return
	default:
		t.openLocal(text)
		return
	}
	t.giveBack(k)
	t.forget()
	t.ends.prompt, t.ends.ours, t.ends.shown = k.text, true, k.shown
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
	t.ends = ending{used: t.ends.used, keys: t.ends.keys, failed: t.ends.failed, begun: t.now, look: t.watch.looks}
	t.alarmAt(alarmBack, t.now.Add(backPatience))
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
		t.ends.recorded, t.ends.parent = true, v.Get("parentUuid").Text()
		return
	}
	switch e := &t.ends; {
	case !t.turn.open:
	case e.recorded && !e.answered && e.parent == v.Get("parentUuid").Text():
		t.interrupted() // it stands in the place of the one before, which was taken back
	default:
		// Nothing told of its end, or the CLI went on with what waited behind it.
		t.endTurn(t.completed())
	}
	t.openPrompt(text)
	t.ends.recorded, t.ends.parent = true, v.Get("parentUuid").Text()
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
		t.giveBack(k)
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
		t.giveBack(k)
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

// endTurn ends the open turn.
func (t *terminal) endTurn(end contract.TurnEnd) {
	t.alarmOff(alarmEnd)
	t.alarmOff(alarmEsc)
	t.alarmOff(alarmBack)
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
