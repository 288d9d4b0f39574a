package claude

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// files are what is followed: the session's file and those of its sub-agents.
type files struct {
	native string // the CLI's session id
	path   string
	main   string // the Follow of the session's file
	crew   string // that of its sub-agents' files
	n      int
	// over says that the CLI said SessionEnd.
	over bool
	// held are lines of the session's file that wait for a sub-agent's.
	held []rawjson.Value
}

// sessionStart takes the start of the CLI or another session in it: by /clear and
// /resume. The path of the file is the hook's: how the CLI names it is its secret.
func (t *terminal) sessionStart(v rawjson.Value) {
	id, path, source := v.Get("session_id").Text(), v.Get("transcript_path").Text(), v.Get("source").Text()
	t.files.over = false
	first := t.files.native == ""
	if first {
		f := t.learn()
		f.AgentName = "Claude Code"
		f.Mode = t.facts.mode
	}
	t.modelIs(v.Get("model").Text())
	if path != "" && path != t.files.path {
		t.followFile(path, source)
	}
	if id != "" && id != t.files.native {
		t.otherSession(id, source, first)
	}
	t.opened()
}

// followFile follows the session's file and its sub-agents' files. A file that the
// CLI makes anew is ours from its start; of one that it goes on with, what is added.
func (t *terminal) followFile(path, source string) {
	for _, old := range []string{t.files.main, t.files.crew} {
		if old != "" {
			t.step.Effects = append(t.step.Effects, adapters.Unfollow{ID: old})
		}
	}
	t.releaseMain()
	from := int64(-1)
	if source == "startup" || source == "clear" {
		from = 0
	}
	t.files.n++
	n := strconv.Itoa(t.files.n)
	t.files.path, t.files.main, t.files.crew = path, "session-"+n, "agents-"+n
	t.step.Effects = append(t.step.Effects,
		adapters.Follow{ID: t.files.main, Path: path, From: from},
		adapters.Follow{ID: t.files.crew, Path: strings.TrimSuffix(path, ".jsonl") + "/subagents/agent-*.jsonl", From: from})
}

// otherSession takes the id of the session that goes on.
func (t *terminal) otherSession(id, source string, first bool) {
	t.files.native = id
	if first {
		t.sessionID(id) // tells when it is not the one that was asked for
		return
	}
	t.facts.native = id
	t.learn().NativeSession = id
	text := "Another session was opened in the agent's terminal: what is said from here on belongs to it."
	if source == "clear" {
		text = "The conversation was cleared. The agent goes on without what was said before."
	}
	if t.turn.open {
		t.endTurn(contract.TurnEnd{Status: contract.TurnCancelled})
	}
	t.lastAnswer = ""
	t.notice(contract.ServiceNotice, "", text)
}

func (t *terminal) sessionEnd(v rawjson.Value) {
	if reason := v.Get("reason").Text(); reason != "clear" && reason != "resume" {
		t.files.over = true
	}
}

// line takes a line of a file.
func (t *terminal) line(f adapters.Frame) error {
	if f.ID == "" || f.ID != t.files.main && f.ID != t.files.crew || blank(f.Data) {
		return nil // of a session that was left
	}
	v, err := rawjson.Parse(f.Data)
	switch {
	case err == nil && v.Kind() == rawjson.Array:
		return nil // the CLI's own, for requests of its API
	case err != nil || v.Kind() != rawjson.Object:
		// A process that died in a write leaves half a line, on which the next goes on.
		return fmt.Errorf("line of %d bytes of %s: want a JSON object", len(f.Data), f.File)
	}
	if t.history(v) {
		return nil
	}
	if f.ID == t.files.crew {
		return t.crewRecord(f.File, v)
	}
	if v.Get("isSidechain").True() {
		return t.crewRecord("agent-"+v.Get("agentId").Text()+".jsonl", v)
	}
	if len(t.files.held) > 0 {
		t.files.held = append(t.files.held, clone(v))
		return nil
	}
	if t.holds(v) {
		t.files.held = append(t.files.held, clone(v))
		t.alarmAt(alarmCrew, t.now.Add(crewPatience))
		return nil
	}
	return t.record(v)
}

// record takes a record of the session's file.
func (t *terminal) record(v rawjson.Value) error {
	if version := v.Get("version").Text(); version != "" && version != t.facts.version {
		t.facts.version = version
		t.learn().AgentVersion = version
	}
	switch kind := v.Get("type").Text(); kind {
	case "assistant":
		return t.assistantRecord(v)
	case "user":
		return t.userRecord(v)
	case "system":
		return t.systemRecord(v)
	case "attachment":
		t.attachment(v.Get("attachment"))
	case "permission-mode":
		t.modeIs(v.Get("permissionMode").Text())
	case "ai-title":
		t.titled(v.Get("aiTitle").Text())
	case "custom-title":
		t.titled(v.Get("customTitle").Text())
	case "queue-operation":
		t.queued(v)
	case "summary", "mode", "last-prompt", "cost-state", "tools-used", "agent-name", "agent-color", "agent-setting",
		"file-history-snapshot", "file-history-delta", "api-request", "api-request-blob", "api-request-shape", "atis-latch", "tag", "pr-link",
		"progress", "content-replacement", "speculation-accept", "task-summary", "worktree-state", "attribution-snapshot", "marble-origami-commit",
		"marble-origami-snapshot":
		// The CLI's own notes.
	default:
		return fmt.Errorf("record of type %q: want one that is known", kind)
	}
	return nil
}

func (t *terminal) titled(title string) {
	if title != "" {
		t.learn().Title = title
	}
}

// history reports whether a record is one of before: of a session that goes on, of a
// file that was read anew, of one that was copied for a branch.
func (t *terminal) history(v rawjson.Value) bool {
	if at, err := time.Parse(time.RFC3339, v.Get("timestamp").Text()); err == nil && at.Before(t.born) {
		return true
	}
	return t.seen.again(v.Get("uuid").Text())
}

// records are the ids of the records that were read.
type records struct{ seen map[string]bool }

// maxRecords bounds them. When it is hit they are forgotten, and what a file that is
// read anew repeats would be told again.
const maxRecords = 1 << 16

func (r *records) init() { r.seen = map[string]bool{} }

func (r *records) again(uuid string) bool {
	if uuid == "" {
		return false
	}
	if r.seen[uuid] {
		return true
	}
	if len(r.seen) >= maxRecords {
		clear(r.seen)
	}
	r.seen[uuid] = true
	return false
}

// native gives a record the form of the message of stream-json that says the same.
func native(v rawjson.Value) message {
	o := new(object)
	for name, value := range v.Members() {
		switch name {
		case "type", "subtype", "uuid", "message", "content", "level":
			o.raw(name, value)
		case "toolUseResult":
			o.raw("tool_use_result", value)
		case "agentId":
			o.raw("agent_id", value)
		case "compactMetadata":
			o.raw("compact_metadata", snake(value))
		}
	}
	if d := v.Get("permissionDecision"); strings.HasPrefix(d.Get("source").Text(), "user_reject") {
		id := firstResult(v)
		meta := new(object).str("id", id).str("non_execution_kind", "user-rejected")
		o.raw("tool_result_meta", array(meta.value()))
	}
	return newMessage(o.value())
}

// snake is an object with the names that stream-json has for preTokens and postTokens.
func snake(v rawjson.Value) []byte {
	o := new(object)
	for name, value := range v.Members() {
		switch name {
		case "preTokens":
			name = "pre_tokens"
		case "postTokens":
			name = "post_tokens"
		}
		o.raw(name, value)
	}
	return o.value()
}

// firstResult is the call of a record's first tool result.
func firstResult(v rawjson.Value) string {
	for b := range v.Get("message", "content").Elements() {
		if id := b.Get("tool_use_id").Text(); id != "" {
			return id
		}
	}
	return ""
}

// modelIs notes the model. Variants of one (a larger context) are told in brackets
// in places.
func (t *terminal) modelIs(name string) {
	if name == synthetic {
		return
	}
	known, _, _ := strings.Cut(t.facts.model, "[")
	if plain, _, _ := strings.Cut(name, "["); plain != "" && plain == known {
		return
	}
	t.modelSeen(name)
}

// modeIs notes the mode. The person at the terminal changes it, or the model by the
// tools for plans.
func (t *terminal) modeIs(mode string) {
	if mode == "" || mode == t.facts.mode {
		return
	}
	role := contract.RoleUser
	if t.turn.open && t.ends.planned {
		role = contract.RoleAgent
	}
	t.setMode(role, mode)
	for {
		q := t.requests.take(func(q *pending) bool { return q.kind == waitMode+mode })
		if q == nil {
			return
		}
		t.succeed(q.owner, nil)
	}
}
