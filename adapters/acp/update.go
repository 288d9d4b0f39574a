package acp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// early holds updates that name a session we do not know yet: agents send some
// before the answer that names it.
type early struct {
	updates []rawjson.Value // the params of session/update
	bytes   int
}

// maxEarly bounds what is held, in bytes; what comes then is lost, and said so.
const maxEarly = 8 << 20

// notified handles session/update.
func (p *Protocol) notified(params rawjson.Value) error {
	u := params.Get("update")
	id := params.Get("sessionId").Text()
	switch {
	case u.Kind() != rawjson.Object:
		return fmt.Errorf("session/update without an update")
	case id == p.session && id != "":
		return p.update(u, "")
	case p.agents.isSession(id):
		return p.update(u, id)
	case p.phase == opening && p.session == "":
		if p.early.bytes += len(params); p.early.bytes > maxEarly {
			return fmt.Errorf("dropped an update for session %q: too many before it was opened", id)
		}
		p.early.updates = append(p.early.updates, rawjson.Value(params.Clean()))
		return nil
	case p.foreign.has(id):
		return nil // a fork that another process will open
	}
	return fmt.Errorf("dropped an update for session %q: want %q", id, p.session)
}

// replayEarly handles what came before the session was known.
func (p *Protocol) replayEarly() {
	held := p.early.updates
	p.early = early{}
	for _, params := range held {
		if params.Get("sessionId").Text() == p.session {
			_ = p.update(params.Get("update"), "") // an unknown kind was of no use early, and is of none now
		}
	}
}

// update handles one update of the session, or of the sub-agent's session.
func (p *Protocol) update(u rawjson.Value, subagent string) error {
	kind := u.Get("sessionUpdate").Text()
	if kind != "tool_call" && kind != "tool_call_update" {
		p.settleCalls("")
	}
	if p.opener.replaying {
		p.opener.heard(p)
		if history(kind) {
			return nil
		}
	}
	if subagent != "" && !history(kind) {
		return nil // how things are with a sub-agent is not how they are with the session
	}
	switch kind {
	case "agent_message_chunk":
		p.chunk(u, subagent, false)
	case "agent_thought_chunk":
		p.chunk(u, subagent, true)
	case "user_message_chunk":
		// The echo of a prompt, or a part of a replay: the host has it already.
	case "tool_call", "tool_call_update":
		return p.toolUpdate(u, subagent, kind == "tool_call")
	case "plan":
		p.facts().Plan = planEntries(u.Get("entries"))
	case "plan_update", "plan_removed":
		p.planUpdate(u, kind)
	case "available_commands_update":
		p.facts().Commands = commands(u.Get("availableCommands"))
	case "current_mode_update":
		p.modeIs(u.Get("currentModeId").Text())
	case "config_option_update":
		p.configIs(u.Get("configOptions"))
	case "session_info_update":
		p.sessionInfo(u)
	case "usage_update":
		p.usageUpdate(u)
	case "notice":
		p.notice(u)
	case "compaction_update":
		p.compaction(u)
	case "session_message":
		p.sessionMessage(u)
	case "compaction_summary_chunk", "session_message_chunk":
		// The agent's own summaries and notes are never text of the conversation.
	case "subagent_update":
		p.subagentUpdate(u)
	default:
		return fmt.Errorf("unknown session/update %q", kind)
	}
	return nil
}

// history reports whether an update repeats what was said, rather than telling
// how things are.
func history(kind string) bool {
	switch kind {
	case "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update":
		return false
	}
	return true
}

// chunk handles a piece of agent text, or of its thinking.
func (p *Protocol) chunk(u rawjson.Value, subagent string, thinking bool) {
	p.usageChunk(u)
	text := contentText(u.Get("content"))
	if text == "" {
		return
	}
	if p.spec.Hooks.Chunk != nil {
		c := p.spec.Hooks.Chunk(rawjson.Repair(text), thinking)
		if c.Mode != "" {
			p.modeIs(c.Mode)
		}
		if c.Drop {
			return
		}
	}
	p.ensureTurn()
	p.addText(thinking, u.Get("messageId").Text(), p.agents.begin(p, subagent), text)
}

// contentText is a content block as text, as the agent cut it. There is no place
// to upload a picture to, so that a person sees at least that there is one.
func contentText(c rawjson.Value) string {
	switch c.Get("type").Text() {
	case "text":
		return c.Get("text").Wobbly()
	case "image", "audio":
		size := len(c.Get("data")) * 3 / 4 / 1024
		return "[" + mediaType(c) + ", " + strconv.Itoa(size) + " KiB]"
	case "resource_link":
		name := c.Get("title").Text()
		if name == "" {
			name = c.Get("name").Text()
		}
		return "[" + name + "](" + c.Get("uri").Text() + ")"
	case "resource":
		r := c.Get("resource")
		if t := r.Get("text"); t.Given() {
			return t.Text()
		}
		return "[" + mediaType(r) + " " + r.Get("uri").Text() + "]"
	}
	return ""
}

func mediaType(c rawjson.Value) string {
	if m := c.Get("mimeType").Text(); m != "" {
		return m
	}
	return c.Get("type").Text()
}

// sessionInfo takes the title. Codex tells in _meta that a turn has failed.
func (p *Protocol) sessionInfo(u rawjson.Value) {
	if title := u.Get("title").Text(); title != "" {
		p.facts().Title = title
	}
	if u.Get("_meta", "codex", "threadStatus", "type").Text() == "systemError" {
		p.turn.systemError = true
	}
}

// notice is a message of the agent's program, not of its model.
func (p *Protocol) notice(u rawjson.Value) {
	text := u.Get("title").Text()
	if d := u.Get("description").Text(); d != "" {
		text = strings.TrimSpace(text + "\n\n" + d)
	}
	if text == "" {
		return
	}
	kind := contract.ServiceNotice
	if u.Get("severity").Text() == "error" {
		kind = contract.ServiceError
	}
	p.emit(contract.Service{Text: text, Kind: kind})
}

// compaction tells when the agent begins to shorten its context and how it ended.
func (p *Protocol) compaction(u rawjson.Value) {
	text := ""
	switch status := u.Get("status").Text(); status {
	case "in_progress", "started", "running":
		text = "Compacting the conversation"
	case "completed":
		text = "The conversation was compacted"
	case "failed":
		text = "Compacting the conversation failed"
		if e := u.Get("error").Text(); e != "" {
			text += ": " + e
		}
	default:
		return
	}
	// Updates are upserts: the same state may come again with another summary.
	if key := u.Get("compactionId").Text() + "\x00" + text; key != p.turn.compaction {
		p.turn.compaction = key
		p.emit(contract.Service{Text: text, Kind: contract.ServiceCompaction})
	}
}

// planEntries reads a plan; an empty one clears.
func planEntries(list rawjson.Value) []adapters.PlanEntry {
	entries := []adapters.PlanEntry{}
	for e := range list.Elements() {
		entries = append(entries, adapters.PlanEntry{
			Content: e.Get("content").Text(), Priority: e.Get("priority").Text(), Status: e.Get("status").Text(),
		})
	}
	return entries
}

// planUpdate takes the unstable form, in which a session has several plans; the
// last one that changed is shown.
func (p *Protocol) planUpdate(u rawjson.Value, kind string) {
	if kind == "plan_removed" {
		p.facts().Plan = []adapters.PlanEntry{}
		return
	}
	plan := u.Get("plan")
	if entries := plan.Get("entries"); entries.Kind() == rawjson.Array {
		p.facts().Plan = planEntries(entries)
	} else if text := plan.Get("content").Text(); text != "" {
		p.facts().Plan = []adapters.PlanEntry{{Content: text, Status: "pending"}}
	}
}

func commands(list rawjson.Value) []adapters.SlashCommand {
	out := []adapters.SlashCommand{}
	for c := range list.Elements() {
		if name := c.Get("name").Text(); name != "" {
			out = append(out, adapters.SlashCommand{
				Name: name, Description: c.Get("description").Text(), Hint: c.Get("input", "hint").Text(),
			})
		}
	}
	return out
}
