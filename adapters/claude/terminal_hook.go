package claude

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// The hooks, as the CLI names them.
const (
	hookSessionStart = "SessionStart"
	hookSessionEnd   = "SessionEnd"
	hookPrompt       = "UserPromptSubmit"
	hookPreTool      = "PreToolUse"
	hookPostTool     = "PostToolUse"
	hookToolFailed   = "PostToolUseFailure"
	hookPermission   = "PermissionRequest"
	hookNotification = "Notification"
	hookStop         = "Stop"
	hookStopFailed   = "StopFailure"
	hookAgentStop    = "SubagentStop"
)

// hooks is what is known by hooks.
type hooks struct {
	// calls are the tool calls that a PreToolUse named, by tool_use_id, until they end.
	calls map[string]*foretold
	// waiting are permission requests whose calls the file has not told yet.
	waiting []*request
	// held are the PermissionRequest hooks that were not answered.
	held map[string]bool
	// asked are all that ever were: their ids name asks.
	asked map[string]bool
	// standing are the CLI's own dialogs for asks that were withdrawn, by hook.
	standing map[string]standing
	// gated are hooks of calls that are not answered while a text is typed, gatedSince
	// is since when.
	gated      []gated
	gatedSince time.Time
	// refused are calls that were rejected from elsewhere.
	refused map[string]bool
}

// foretold is a tool call as its PreToolUse hook told it.
type foretold struct {
	id, name string
	input    rawjson.Value
	agent    string
	seq      int
	// free says that its hook was answered: its dialog may come from then on, when the
	// person's own hooks have ended. Asked says that it came.
	free, asked bool
}

// standing is a dialog of a sub-agent's that only the person at the terminal can answer:
// the ask's key, the call if it is known, and the CLI's id of the sub-agent.
type standing struct{ key, call, agent string }

// gated is a hook that waits, and the call that it is before; none when it is behind one.
type gated struct{ hook, call string }

// request is a permission request that waits for its call to be told.
type request struct {
	hook, call, agent string
	body              rawjson.Value
	until             time.Time
}

func (h *hooks) init() {
	*h = hooks{calls: map[string]*foretold{}, asked: map[string]bool{}, held: map[string]bool{}, standing: map[string]standing{}, refused: map[string]bool{}}
}

// hook takes a hook's input. It is answered at once, unless somebody is to be asked.
func (t *terminal) hook(id string, data []byte) error {
	v, err := rawjson.Parse(data)
	if err != nil || v.Kind() != rawjson.Object {
		t.letGo(id)
		return fmt.Errorf("hook of %d bytes: want a JSON object", len(data))
	}
	name := v.Get("hook_event_name").Text()
	switch name {
	case hookPermission:
		return t.permissionHook(id, v)
	case hookPreTool:
		t.preTool(id, v)
		return nil
	}
	// What the step does comes before the answer: a file is followed before the CLI
	// goes on to write it.
	err = t.heard(name, v)
	if name == hookPostTool || name == hookToolFailed {
		t.gate(id, "")
		return err
	}
	t.letGo(id)
	return err
}

// heard takes a hook that wants no decision.
func (t *terminal) heard(name string, v rawjson.Value) error {
	switch name {
	case hookSessionStart:
		t.sessionStart(v)
	case hookSessionEnd:
		t.sessionEnd(v)
	case hookPrompt:
		t.promptHook(v)
	case hookPostTool, hookToolFailed:
		t.ran(v)
	case hookStop:
		t.stopHook(false, v.Get("last_assistant_message").Text())
	case hookStopFailed:
		t.stopFailed(v)
	case hookAgentStop:
		t.agentStopped(v.Get("agent_id").Text())
	case hookNotification:
		t.notification(v)
	case "SubagentStart", "PreCompact", "PostCompact", "PostToolBatch", "MessageDisplay":
		// Not asked for: the file tells it.
	default:
		return fmt.Errorf("hook %q: want one that was asked for", name)
	}
	if v.Get("agent_id").Text() == "" {
		t.modeIs(v.Get("permission_mode").Text())
	}
	return nil
}

// letGo answers a hook with nothing: the CLI does what it would without it.
func (t *terminal) letGo(id string) { t.reply(id, nil) }

func (t *terminal) reply(id string, output []byte) {
	delete(t.hooks.held, id)
	if id != "" && !t.gone {
		t.step.Effects = append(t.step.Effects, adapters.HookReply{ID: id, Output: output})
	}
}

// preTool notes a call that is about to be made.
func (t *terminal) preTool(id string, v rawjson.Value) {
	call := v.Get("tool_use_id").Text()
	if call != "" {
		t.callSeq++
		t.hooks.calls[call] = &foretold{
			id: call, name: v.Get("tool_name").Text(), input: clone(v.Get("tool_input")), agent: v.Get("agent_id").Text(), seq: t.callSeq,
		}
	}
	if v.Get("agent_id").Text() == "" {
		t.ends.answered = true
	}
	t.gate(id, call)
}

// gate holds a hook before or behind a call while a text waits: no dialog can come before
// it is answered, so that is when one can be typed.
func (t *terminal) gate(id, call string) {
	if len(t.hooks.gated) == 0 {
		t.hooks.gatedSince = t.now
	}
	t.hooks.gated = append(t.hooks.gated, gated{id, call})
}

// ungate lets the calls go on that waited for a text to be typed.
func (t *terminal) ungate() {
	for _, g := range t.hooks.gated {
		if c := t.hooks.calls[g.call]; c != nil {
			c.free = true
		}
		t.letGo(g.hook)
	}
	t.hooks.gated, t.hooks.gatedSince = nil, time.Time{}
	t.alarmOff(alarmGate)
}

// unsettled reports whether a permission dialog may open any moment: a call was let go
// and has neither asked nor ended. How long the person's own hooks keep it is not known.
// That of a sub-agent in the background opens only when its hook was answered.
func (t *terminal) unsettled() bool {
	for _, c := range t.hooks.calls {
		if c.free && !c.asked && !t.inBackground(c.agent) {
			return true
		}
	}
	return false
}

// inBackground reports whether a sub-agent, by the CLI's id, works beside the turn or
// not any more.
func (t *terminal) inBackground(agent string) bool {
	a := t.agents.byTask[agent]
	return agent != "" && (!t.turn.open || a != nil && (a.background || !a.running()))
}

// ran takes a call that ran: somebody allowed it, or nobody had to be asked.
func (t *terminal) ran(v rawjson.Value) {
	id := v.Get("tool_use_id").Text()
	delete(t.hooks.calls, id)
	t.hooks.answered(func(d standing) bool { return d.call == id && id != "" })
	t.settleLocally(id, contract.AllowOnce, v.Get("tool_input", "answers"))
}

// notification takes what the CLI tells its user beside the conversation.
func (t *terminal) notification(v rawjson.Value) {
	switch v.Get("notification_type").Text() {
	case "permission_prompt":
		// The request itself was heard.
	case "idle_prompt":
		// Nothing has happened for a minute.
		switch {
		case !t.turn.open || len(t.asks)+len(t.hooks.waiting) > 0:
		case t.ends.prompt != "" && !t.ends.answered && t.turn.failure == nil:
			t.interrupted() // it was taken back
		default:
			t.endTurn(t.completed())
		}
	default:
		if text := v.Get("message").Text(); text != "" {
			t.notice(contract.ServiceNotice, "", text)
		}
	}
}

// permissionHook takes a permission request. It names no call: it is the newest of
// that tool and input that was not asked about.
func (t *terminal) permissionHook(id string, v rawjson.Value) error {
	native, input := v.Get("tool_name").Text(), v.Get("tool_input")
	if native == "" || input.Kind() != rawjson.Object || id == "" || t.hooks.asked[id] {
		t.letGo(id)
		return fmt.Errorf("hook %s: want a tool_name and a tool_input", hookPermission)
	}
	r := &request{hook: id, agent: v.Get("agent_id").Text(), until: t.now.Add(filePatience)}
	if c := t.hooks.match(native, input); c != nil {
		c.asked = true
		r.call = c.id
	}
	body := new(object).str("tool_name", native).raw("input", input.Clean())
	if s := v.Get("permission_suggestions"); s.Given() {
		body.raw("permission_suggestions", s.Clean())
	}
	if r.call != "" {
		body.str("tool_use_id", r.call)
	}
	if r.agent != "" {
		body.str("agent_id", r.agent)
	}
	r.body = body.value()
	t.hooks.held[id], t.hooks.asked[id] = true, true
	t.hooks.waiting = append(t.hooks.waiting, r)
	return nil
}

func (h *hooks) match(native string, input rawjson.Value) *foretold {
	var found *foretold
	want := string(input.Clean())
	for _, c := range h.calls {
		if !c.asked && c.name == native && string(c.input.Clean()) == want && (found == nil || c.seq > found.seq) {
			found = c
		}
	}
	return found
}

// filePatience is how long the file may stay behind the hooks. It is written up to
// some 200 ms later, seconds on a machine that has other things to do. When it is
// hit, what the hooks told is told without it.
const filePatience = 3 * time.Second

// putAsks asks about the calls that have been told.
func (t *terminal) putAsks() {
	if t.gone {
		return
	}
	t.hooks.waiting = slices.DeleteFunc(t.hooks.waiting, func(r *request) bool {
		switch c := t.calls[r.call]; {
		case r.call != "" && t.told(r.call):
			t.letGo(r.hook) // it has an end: somebody was faster
			return true
		case r.call != "" && c == nil && t.now.Before(r.until):
			return false
		}
		t.putRequest(r)
		return true
	})
	for _, r := range t.hooks.waiting {
		t.alarmAt(alarmFile, r.until)
	}
}

func (t *terminal) putRequest(r *request) {
	if r.agent == "" {
		t.enter()
	}
	v := rawjson.Value(r.body)
	if a := t.crew.known(r.agent); a != nil && r.call == "" {
		a.said = true
	}
	t.canUseTool(message{Value: v}, r.hook, v)
	if r.agent != "" && t.openAsk(r.hook) != nil {
		// A sub-agent in the background asks its hooks first and shows its dialog only
		// when they say nothing: the person at the terminal must not wait for others.
		t.waitFor("", ownDialog+r.hook, ownDialogAfter, func(reply) { t.release(r) })
	}
}

// ownDialog begins the kind of the wait for an answer from elsewhere.
const ownDialog = "answer to "

// ownDialogAfter is how long a background sub-agent's request waits for a decision
// from elsewhere. Then the CLI shows its own dialog, which has the last word.
const ownDialogAfter = 20 * time.Second

// release leaves a request to the CLI's own dialog. The ask is withdrawn: a decision
// about it would be told and have no effect. The dialog stands in the way of keys until
// it is known to be closed; an abort does not close it.
func (t *terminal) release(r *request) {
	a := t.openAsk(r.hook)
	if a == nil {
		return
	}
	if t.typed.typing() && t.onTheWay(t.typed.queue[0]) {
		// Its dialog would take the key. Another is not pressed while the request is open.
		t.waitFor("", ownDialog+r.hook, time.Second, func(reply) { t.release(r) })
		return
	}
	t.hooks.standing[r.hook] = standing{a.key, r.call, r.agent}
	t.asks = slices.DeleteFunc(t.asks, func(o *ask) bool { return o == a })
	t.withdraw(a.key)
	t.endOwn(a)
	t.letGo(r.hook)
	t.notice(contract.ServiceNotice, "", "A sub-agent's permission request was not decided in time and is shown in the agent's terminal: it can be answered there only.")
}

// answered forgets the dialogs that are known to be closed.
func (h *hooks) answered(closed func(standing) bool) {
	maps.DeleteFunc(h.standing, func(_ string, d standing) bool { return closed(d) })
}

// asking reports whether a permission dialog is open or about to be.
func (t *terminal) asking() bool {
	t.hooks.answered(func(d standing) bool {
		a := t.agents.byTask[d.agent]
		return a != nil && !a.running() || t.told(d.call)
	})
	return len(t.asks)+len(t.hooks.waiting)+len(t.hooks.standing) > 0
}

// settleHooks lets the hooks go whose ask has ended otherwise, as with its sub-agent.
func (t *terminal) settleHooks() {
	var moot []string
	for id := range t.hooks.held {
		waits := slices.ContainsFunc(t.hooks.waiting, func(r *request) bool { return r.hook == id })
		if !waits && t.openAsk(id) == nil {
			moot = append(moot, id)
		}
	}
	slices.Sort(moot)
	for _, id := range moot {
		t.closeHook(id, nil)
	}
}

// openAsk is the open ask of a hook, nil when there is none.
func (t *terminal) openAsk(hook string) *ask {
	for _, a := range t.asks {
		if a.request == hook {
			return a
		}
	}
	return nil
}

// decide settles an ask from elsewhere.
func (t *terminal) decide(c adapters.Answer) error {
	for _, d := range t.hooks.standing {
		if d.key == c.Ask {
			return fmt.Errorf("claude: answer to %q: it is asked in the agent's terminal now and can be answered there only", c.Ask)
		}
	}
	return t.submitAnswer(c)
}

// answerHook answers a held PermissionRequest hook with a decision: what the CLI
// takes there is what it takes on its control protocol.
func (t *terminal) answerHook(a *ask, response []byte) {
	if rawjson.Value(response).Get("behavior").Text() == "deny" && a.call != "" {
		t.hooks.refused[a.call] = true
	}
	t.closeHook(a.request, response)
}

// closeHook answers a held hook, with nothing when decision is nil.
func (t *terminal) closeHook(id string, decision []byte) {
	t.requests.take(func(q *pending) bool { return q.kind == ownDialog+id })
	if !t.hooks.held[id] {
		return
	}
	if decision == nil {
		t.letGo(id)
		return
	}
	out := new(object).str("hookEventName", hookPermission).raw("decision", decision)
	t.reply(id, new(object).raw("hookSpecificOutput", out.value()).value())
}

// settleLocally settles the ask about a call that the person at the terminal
// answered, as the call's course shows.
func (t *terminal) settleLocally(call string, decision contract.Decision, answers rawjson.Value) {
	if call == "" {
		return
	}
	if decision.Allows() && t.hooks.refused[call] {
		delete(t.hooks.refused, call)
		t.notice(contract.ServiceError, contract.CodeProtocol,
			"A call was rejected, but it had been allowed in the agent's terminal before, and ran.")
	}
	t.hooks.waiting = slices.DeleteFunc(t.hooks.waiting, func(r *request) bool {
		if r.call == call {
			t.letGo(r.hook)
		}
		return r.call == call
	})
	t.asks = slices.DeleteFunc(t.asks, func(a *ask) bool {
		if a.call != call || a.own {
			return false
		}
		d := byUser(contract.PermissionResponse{Call: call, Decision: decision, Answers: a.form.local(answers)})
		d.Subagent = a.agent
		t.emit(d)
		t.closeHook(a.request, nil)
		return true
	})
}

// local are the answers that were given at the terminal, by the field's ID.
func (f form) local(answers rawjson.Value) []byte {
	if f.question == nil || answers.Kind() != rawjson.Object {
		return nil
	}
	o := new(object)
	for name, v := range answers.Members() {
		if i := slices.Index(f.names, name); i >= 0 {
			o.raw(f.question.Questions[i].ID, v.Clean())
		}
	}
	return o.value()
}
