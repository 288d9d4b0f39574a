package claude

import (
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// assistantRecord takes a block of an answer.
func (t *terminal) assistantRecord(v rawjson.Value) error {
	if v.Get("isApiErrorMessage").True() {
		t.apiErrorRecord(v)
		return nil
	}
	content := v.Get("message", "content")
	if v.Get("message", "model").Text() == synthetic && madeUp(content) {
		return nil
	}
	t.enter()
	t.ends.answered = true
	if text := contentText(content); text != "" {
		t.ends.said = text
	}
	if f := t.turn.failure; f != nil {
		// The turn goes on all the same.
		t.turn.failure, t.ends.told = nil, false
		t.notice(contract.ServiceError, f.code(), f.text)
	}
	t.meterRecord(v)
	t.modelIs(v.Get("message", "model").Text())
	for b := range content.Elements() {
		if name := b.Get("name").Text(); name == toolExitPlan || name == "EnterPlanMode" {
			t.ends.planned = true
		}
	}
	return t.assistant(native(v))
}

// madeUp reports whether an answer stands only for an answer that never came.
func madeUp(content rawjson.Value) bool {
	for b := range content.Elements() {
		if b.Get("text").Text() != "No response requested." {
			return false
		}
	}
	return true
}

// apiErrorRecord takes the CLI's text about a request that failed for good.
func (t *terminal) apiErrorRecord(v rawjson.Value) {
	f := &failure{kind: v.Get("error").Text(), status: int(integer(v.Get("apiErrorStatus")))}
	for b := range v.Get("message", "content").Elements() {
		f.text += b.Get("text").Text()
	}
	t.enter()
	t.ends.answered = true
	t.turn.failure = f
	if t.ends.failed {
		t.endTurn(t.completed())
		return
	}
	t.ends.told = true
	t.alarmAt(alarmEnd, t.now.Add(endPatience))
}

// meterRecord counts what an API message consumed: each of its blocks is a record
// that tells it.
func (t *terminal) meterRecord(v rawjson.Value) {
	if id := v.Get("message", "id").Text(); id != "" {
		u := mainUsage(v.Get("message", "usage"))
		if u.InputTokens != 0 || u.OutputTokens != 0 {
			if t.ends.used == nil {
				t.ends.used = map[string]contract.Usage{}
			}
			t.ends.used[id] = u
		}
	}
}

// userRecord takes a record in the user's role: a tool result, what a person sent,
// or what the CLI tells the model.
func (t *terminal) userRecord(v rawjson.Value) error {
	if v.Get("isMeta").True() || v.Get("isCompactSummary").True() {
		return nil
	}
	content := v.Get("message", "content")
	results := false
	for b := range content.Elements() {
		if b.Get("type").Text() == "tool_result" {
			results = true
			t.resultSeen(b, v)
		}
	}
	if results {
		err := t.user(native(v))
		t.ends.planned = t.ends.planned && t.stillPlans(v)
		return err
	}
	text := contentText(content)
	switch {
	case strings.HasPrefix(text, "[Request interrupted by user"):
		t.interrupted()
	case v.Get("origin", "kind").Text() == "task-notification" || strings.HasPrefix(text, "<task-notification>"):
		t.taskNotice(text)
	case strings.HasPrefix(text, "<bash-input>"):
		t.shellInput(between(text, "bash-input"))
	case strings.HasPrefix(text, "<bash-stdout>"), strings.HasPrefix(text, "<bash-stderr>"):
		t.shellOutput(text)
	case strings.HasPrefix(text, "<command-name>"), strings.HasPrefix(text, "<command-message>"):
		t.slashCommand(text)
	case strings.HasPrefix(text, "<local-command-"):
		// What a command of the CLI printed: it was no prompt.
		t.ends.candidate = ""
	case strings.HasPrefix(text, "<system-reminder>"), strings.TrimSpace(text) == "" && !pictures(content):
		// Context.
	case v.Get("origin", "kind").Text() == "human", v.Get("promptSource").Text() != "", !v.Get("origin").Given() && v.Get("rowSource").Text() == "":
		t.promptRecord(v, text)
	default:
		// Something else made the CLI go on (a channel, a schedule): a turn without a
		// person's text.
		t.enter()
	}
	return nil
}

// stillPlans reports whether the mode may still change because of a tool for plans:
// until the result after its own.
func (t *terminal) stillPlans(v rawjson.Value) bool {
	c := t.calls[firstResult(v)]
	return c != nil && (c.native == toolExitPlan || c.native == "EnterPlanMode")
}

// resultSeen learns from a tool's result how its ask was answered at the terminal.
func (t *terminal) resultSeen(b, v rawjson.Value) {
	id := b.Get("tool_use_id").Text()
	delete(t.hooks.calls, id)
	t.hooks.answered(func(d standing) bool { return d.call == id && id != "" })
	if task, c := v.Get("toolUseResult", "agentId").Text(), t.calls[id]; task != "" && c != nil {
		if m := t.crew.member(task); !m.linked {
			t.enlist(m, c)
		}
	}
	decided := v.Get("permissionDecision")
	decision := contract.AllowOnce
	switch {
	case decided.Get("decision").Text() == "reject", decided.Get("decision").Text() == "deny":
		decision = contract.RejectOnce
	case decided.Get("source").Text() == "user_permanent":
		decision = contract.AllowAlways
	case !decided.Given() && b.Get("is_error").True():
		decision = contract.RejectOnce
	}
	if !decision.Allows() {
		delete(t.hooks.refused, id)
	}
	t.settleLocally(id, decision, v.Get("toolUseResult", "answers"))
	delete(t.hooks.refused, id)
}

// systemRecord takes what the CLI notes about the conversation.
func (t *terminal) systemRecord(v rawjson.Value) error {
	switch v.Get("subtype").Text() {
	case "turn_duration":
		if t.turn.open {
			t.endTurn(t.completed())
		}
	case "local_command":
		t.ends.candidate = ""
	case "compact_boundary":
		t.compactBoundary(native(v))
	case "api_error":
		t.apiErrorRetry(v)
	case "informational":
		t.systemNotice(native(v))
		if v.Get("promptSubmitEnding").Given() {
			t.blocked(v.Get("content").Text())
		}
	case "model_refusal_fallback", "model_refusal_no_fallback":
		t.systemNotice(native(v))
	default:
		// Summaries of hooks, measures: the screen's own.
	}
	return nil
}

// apiErrorRetry takes a request that failed and is repeated.
func (t *terminal) apiErrorRetry(v rawjson.Value) {
	status := v.Get("error", "status")
	o := new(object).raw("attempt", number(v.Get("retryAttempt"))).raw("max_retries", number(v.Get("maxRetries"))).
		raw("retry_delay_ms", number(v.Get("retryInMs")))
	if status.Given() {
		o.raw("error_status", number(status))
	}
	t.apiRetry(newMessage(o.value()))
}

// number is a number as JSON, 0 for what is none.
func number(v rawjson.Value) []byte {
	if f, ok := v.Float(); ok {
		return decimal(int(f))
	}
	return []byte("0")
}

// attachment takes what went along with a message. Only a text that was given to the
// running turn is a person's.
func (t *terminal) attachment(v rawjson.Value) {
	if v.Get("type").Text() != "queued_command" {
		return
	}
	text := contentText(v.Get("prompt"))
	switch {
	case v.Get("origin", "kind").Text() == "task-notification" || strings.HasPrefix(text, "<task-notification>"):
		t.taskNotice(text)
	case v.Get("commandMode").Text() == "prompt" && !v.Get("isMeta").True():
		t.steered(text)
	}
}

// contentText is the text of a message.
func contentText(content rawjson.Value) string {
	if content.Kind() == rawjson.String {
		return content.Text()
	}
	var parts []string
	for b := range content.Elements() {
		if b.Get("type").Text() == "text" {
			parts = append(parts, b.Get("text").Text())
		}
	}
	return strings.Join(parts, "\n")
}

func pictures(content rawjson.Value) bool {
	for b := range content.Elements() {
		if kind := b.Get("type").Text(); kind == "image" || kind == "document" {
			return true
		}
	}
	return false
}

// between is what stands in the first element of that name.
func between(text, tag string) string {
	_, rest, _ := strings.Cut(text, "<"+tag+">")
	inner, _, _ := strings.Cut(rest, "</"+tag+">")
	return inner
}
