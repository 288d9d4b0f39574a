package gemini

import (
	"encoding/json/jsontext"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// chatFile follows the file that Gemini CLI keeps of the conversation: a header,
// messages, of which the same id again is the same message with more to it, and what
// was changed ($set, $rewindTo).
//
// It is rewritten, too: after a cancel and after a compression everything is appended
// anew under new ids. What is no message of the running turn is history: one that is
// older than it, or that no model is named for.
type chatFile struct {
	path    string // that a hook named
	follows int
	seen    map[string]*message
}

// message is what of one message was told.
type message struct {
	thoughts int
	text     bool
	tokens   tokens
}

// tokens are the counts of one answer of the model.
type tokens struct{ input, output, cached, thoughts int64 }

func (c *chatFile) init() { c.seen = map[string]*message{} }

// follow has a chat file read.
func (t *terminal) follow(path string, from int64) {
	t.chat.follows++
	id := "chat-" + strconv.Itoa(t.chat.follows)
	t.step.Effects = append(t.step.Effects, adapters.Follow{ID: id, Path: path, From: from})
}

// record takes one line of a chat file. Two follows may find the same file: a message
// is known by its id.
func (t *terminal) record(f adapters.Frame) {
	v, err := rawjson.Parse(f.Data)
	if err != nil {
		t.errs = append(t.errs, fmt.Errorf("decoding a line of the chat file: %w", err))
		return
	}
	if v.Get("$rewindTo").Given() {
		t.rewound()
		return
	}
	if v.Get("$set", "sessionId").Given() { // written when an earlier session is loaded
		t.open.loaded = t.now
	}
	id, at := v.Get("id").Text(), stamped(v)
	if id == "" {
		return
	}
	switch v.Get("type").Text() {
	case "user":
		t.userRecord(v, id, at)
	case "gemini":
		t.modelRecord(v, id, at)
	case "info", "warning", "error":
		t.infoRecord(v, id, at)
	}
}

// stamped is when a record was made, the zero Time when it does not say.
func stamped(v rawjson.Value) time.Time {
	at, err := time.Parse(time.RFC3339Nano, v.Get("timestamp").Text())
	if err != nil {
		return time.Time{}
	}
	return at
}

// first reports whether a message was not seen before.
func (t *terminal) first(id string) (*message, bool) {
	if m := t.chat.seen[id]; m != nil {
		return m, false
	}
	const most = 10_000 // of one child; older ones are history by their time
	if len(t.chat.seen) >= most {
		clear(t.chat.seen)
	}
	m := &message{}
	t.chat.seen[id] = m
	return m, true
}

// userRecord begins a turn where no hook does.
func (t *terminal) userRecord(v rawjson.Value, id string, at time.Time) {
	_, first := t.first(id)
	if !first || !t.open.hooked.IsZero() || at.Before(t.born) {
		return
	}
	text := recordText(v.Get("content"))
	if text == "" || strings.HasPrefix(text, "<session_context>") {
		return
	}
	t.prompted(text, at)
}

// recordText is the text of a message's content.
func recordText(content rawjson.Value) string {
	if content.Kind() == rawjson.String {
		return content.Text()
	}
	var b strings.Builder
	for part := range content.Elements() {
		b.WriteString(part.Get("text").Text())
	}
	return b.String()
}

// modelRecord tells what is new in an answer of the model.
func (t *terminal) modelRecord(v rawjson.Value, id string, at time.Time) {
	if v.Get("model").Text() == "" || !t.turn.has(at) {
		return // history that was written anew
	}
	m, _ := t.first(id)
	if !t.turn.open && m.text && !v.Get("toolCalls").Given() {
		return
	}
	t.turn.heard = t.now
	t.turn.model = v.Get("model").Text()
	n := 0
	for thought := range v.Get("thoughts").Elements() {
		if n++; n <= m.thoughts {
			continue
		}
		t.chunk("agent_thought_chunk", "", thoughtText(thought))
	}
	m.thoughts = max(m.thoughts, n)
	text := recordText(v.Get("content"))
	if text != "" && !m.text {
		m.text = true
		t.chunk("agent_message_chunk", id, text)
		t.turn.lastText = text
	}
	t.turn.count(m, v.Get("tokens"))
	calls := v.Get("toolCalls")
	t.turn.pending = calls.Kind() == rawjson.Absent && text == ""
	for c := range calls.Elements() {
		t.toldCall(c)
	}
}

// thoughtText is a thought as Gemini CLI says it over ACP.
func thoughtText(thought rawjson.Value) string {
	subject, text := thought.Get("subject").Text(), thought.Get("description").Text()
	if subject == "" {
		return text
	}
	return "**" + subject + "**\n" + text
}

func (t *terminal) chunk(kind, message, text string) {
	if text == "" {
		return
	}
	b := rawjson.AppendString([]byte(`{"sessionUpdate":`), kind)
	if message != "" {
		b = rawjson.AppendString(append(b, `,"messageId":`...), message)
	}
	b = rawjson.AppendString(append(b, `,"content":{"type":"text","text":`...), text)
	t.update(jsontext.Value(append(b, '}', '}')))
}

// Texts of the chat file.
const (
	cancelledInfo = "Request cancelled."
	failedInfo    = "This request failed."
	apiError      = "[API Error: "
)

// infoRecord takes what Gemini CLI itself says to the person.
func (t *terminal) infoRecord(v rawjson.Value, id string, at time.Time) {
	_, first := t.first(id)
	text := strings.TrimSpace(recordText(v.Get("content")))
	if !first || at.Before(t.born) || text == "" || !t.open.done {
		return
	}
	t.turn.heard = t.now
	kind := v.Get("type").Text()
	switch {
	case text == cancelledInfo:
		t.wasCancelled()
	case strings.HasPrefix(text, failedInfo): // the error stands before it
	case kind == "error" && t.turn.open:
		t.turn.failure = text
	case kind == "error":
		t.step.Emit = append(t.step.Emit, adapters.Draft{Event: contract.Service{Text: text, Kind: contract.ServiceError}})
	default:
		t.notice(text, "")
	}
}

// rewound tells that the conversation goes on from an earlier message.
func (t *terminal) rewound() {
	if !t.open.done {
		return
	}
	t.notice("The conversation was rewound at the terminal: what was said since then is no longer known to the model.", "")
}
