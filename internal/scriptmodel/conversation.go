package scriptmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A request is a model request of any API, reduced to what an answer depends on.
type request struct {
	model     string
	stream    bool
	usage     bool   // the client wants usage in the stream (chat completions)
	system    string // system prompt, parts joined by line ends
	items     []item // the conversation, oldest first
	tools     []tool
	schema    jsontext.Value // JSON schema of the wanted answer, nil for free text
	maxTokens int            // 0 when the request sets none
}

type itemKind int

const (
	userText itemKind = iota
	modelText
	modelCall
	callResult
)

// An item is one text, call or result of the conversation.
type item struct {
	kind   itemKind
	text   string // userText, modelText; callResult: its JSON as received
	callID string // modelCall, "" when the API has none
}

// A tool is one tool that the request offers.
type tool struct {
	name      string
	namespace string // OpenAI Responses: the namespace the tool stands in
	custom    bool   // takes free text instead of JSON
	params    schema
}

// lenient reads what agents send: doubled members and broken UTF-8 are theirs.
func lenient(data []byte, v any) error {
	return json.Unmarshal(data, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// content is message content that is a string or a list of typed parts.
type content []contentPart

type contentPart struct {
	Type string `json:"type"`
	Text string `json:"text"`

	// Anthropic tool_use.
	ID string `json:"id"`

	// Anthropic tool_result.
	Content jsontext.Value `json:"content"`

	// OpenAI Responses agent_message.
	EncryptedContent string `json:"encrypted_content"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	switch jsontext.Value(data).Kind() {
	case '"':
		var s string
		if err := lenient(data, &s); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: s}}
	case '[':
		var parts []contentPart
		if err := lenient(data, &parts); err != nil {
			return err
		}
		*c = parts
	}
	return nil
}

// text joins the text parts by line ends.
func (c content) text() string {
	var b strings.Builder
	for _, p := range c {
		if p.Text != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// texts adds one item of the given kind for each text part.
func (r *request) texts(kind itemKind, c content) {
	for _, p := range c {
		if p.Text != "" {
			r.items = append(r.items, item{kind: kind, text: p.Text})
		}
	}
}

// A position is where a conversation stands in its script.
type position struct {
	script string // text of the script, "" for none
	round  int    // how many user texts before it held a script
	next   int    // index of the step to play
	later  string // newest user text after the script that agents did not add themselves
}

// locate finds the script that counts and the step that comes next.
func (r *request) locate() position {
	p, at := position{}, -1
	for i, it := range r.items {
		if it.kind != userText {
			continue
		}
		if text, ok := findScript(it.text); ok {
			if at >= 0 {
				p.round++
			}
			p.script, p.later, at = text, "", i
		} else if said(it.text) {
			p.later = it.text
		}
	}
	if at >= 0 {
		p.next = answersIn(r.items[at+1:])
	}
	return p
}

// said reports whether a person wrote the text: blocks that agents add to the
// conversation (<environment_context>, <system-reminder>, …) begin with a tag.
func said(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && text[0] != '<' && !strings.HasPrefix(text, "# AGENTS.md")
}

// answersIn counts the model's answers: runs of its items between others. A call
// id of ours names its step, which holds also where results of parallel calls
// stand between the calls.
func answersIn(items []item) int {
	n, inside := 0, false
	for _, it := range items {
		model := it.kind == modelText || it.kind == modelCall
		if model && !inside {
			n++
		}
		if s, ok := stepOf(it.callID); ok && it.kind == modelCall {
			n = s + 1
		}
		inside = model
	}
	return n
}

// callID makes the id of the k-th call of an answer. It is unique within a server
// by serial, and with the sum of the request also after the server's restart.
func (a *answer) callID(prefix string, k int) string {
	return fmt.Sprintf("%s%08x%04d_s%d_%d", prefix, a.sum, a.serial, a.step, k)
}

// stepOf reads the step from an id that callID made.
func stepOf(id string) (int, bool) {
	f := strings.Split(id, "_")
	if len(f) < 4 || !slices.Contains([]string{"call", "toolu"}, f[0]) {
		return 0, false
	}
	num, ok := strings.CutPrefix(f[2], "s")
	n, err := strconv.Atoi(num)
	return n, ok && err == nil && n >= 0
}
