package scriptmodel

import (
	"encoding/json/jsontext"
	"fmt"
)

// responses is the OpenAI Responses API.
func responses() protocol {
	return protocol{
		name:             "responses",
		callPrefix:       "call_",
		peopleUseSchemas: true,
		decode: func(body []byte) (*request, error) {
			var q responsesRequest
			if err := lenient(body, &q); err != nil {
				return nil, err
			}
			return q.reduce(), nil
		},
		encoder: func(r *request, a *answer) encoder { return &responsesEncoder{answer: a} },
		failure: openaiFailure,
	}
}

type responsesRequest struct {
	Model           string          `json:"model"`
	Stream          bool            `json:"stream"`
	Instructions    string          `json:"instructions"`
	MaxOutputTokens int             `json:"max_output_tokens"`
	Input           responsesInput  `json:"input"`
	Tools           []responsesTool `json:"tools"`
	Text            struct {
		Format wantedFormat `json:"format"`
	} `json:"text"`
}

type responsesTool struct {
	Type       string          `json:"type"` // function, custom, namespace, web_search, …
	Name       string          `json:"name"`
	Parameters jsontext.Value  `json:"parameters"`
	Tools      []responsesTool `json:"tools"` // of a namespace
}

type responsesItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content content         `json:"content"`
	CallID  string          `json:"call_id"`
	Output  jsontext.Value  `json:"output"` // a string or blocks
	Tools   []responsesTool `json:"tools"`  // of additional_tools
}

// responsesInput is a list of items or the text of one user message.
type responsesInput []responsesItem

// UnmarshalJSON implements json.Unmarshaler.
func (in *responsesInput) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '"' {
		var s string
		if err := lenient(data, &s); err != nil {
			return err
		}
		*in = responsesInput{{Role: "user", Content: content{{Text: s}}}}
		return nil
	}
	return lenient(data, (*[]responsesItem)(in))
}

func (q *responsesRequest) reduce() *request {
	r := &request{model: q.Model, stream: q.Stream, system: q.Instructions, maxTokens: q.MaxOutputTokens}
	r.offer("", q.Tools)
	for _, it := range q.Input {
		switch it.Type {
		case "message", "":
			switch it.Role {
			case "user":
				r.texts(userText, it.Content)
			case "assistant":
				r.texts(modelText, it.Content)
			default:
				r.system += "\n" + it.Content.text()
			}
		case "function_call", "custom_tool_call", "local_shell_call", "web_search_call":
			r.items = append(r.items, item{kind: modelCall, callID: it.CallID})
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
			r.items = append(r.items, item{kind: callResult, text: string(it.Output)})
		case "agent_message":
			r.items = append(r.items, agentMessage(it.Content))
		case "additional_tools":
			r.offer("", it.Tools)
		}
	}
	if q.Text.Format.Type == "json_schema" {
		r.schema = q.Text.Format.Schema
	}
	return r
}

// agentMessage is a message between codex's agents. A task with a script is what
// a sub-agent has for a prompt; the rest are results. The real API encrypts the
// message that the model writes, here it comes back as it was.
func agentMessage(c content) item {
	for _, p := range c {
		if _, ok := findScript(p.EncryptedContent); ok {
			return item{kind: userText, text: p.EncryptedContent}
		}
	}
	return item{kind: callResult}
}

// offer adds tools, those of namespaces with the namespace's name.
func (r *request) offer(namespace string, tools []responsesTool) {
	for _, t := range tools {
		switch t.Type {
		case "namespace":
			r.offer(t.Name, t.Tools)
		case toolSearch:
			r.tools = append(r.tools, tool{name: toolSearch})
		case "function", "custom":
			r.tools = append(r.tools, tool{name: t.Name, namespace: namespace, custom: t.Type == "custom", params: parseSchema(t.Parameters)})
		}
	}
}

// toolSearch finds the tools that codex does not list, of MCP servers for instance.
const toolSearch = "tool_search"

// responsesEncoder writes the event sequence of the Responses API.
type responsesEncoder struct {
	answer *answer
	seq    int
	output []any // finished items
}

func (e *responsesEncoder) event(name string, data map[string]any) event {
	data["sequence_number"] = e.seq
	e.seq++
	return named(name, data)
}

// delta is an event about the item that is being written.
func (e *responsesEncoder) delta(name string, data map[string]any) event {
	data["item_id"] = e.itemID()
	data["output_index"] = len(e.output)
	return e.event(name, data)
}

func (e *responsesEncoder) itemID() string {
	return fmt.Sprintf("item_%08x%04d_%d", e.answer.sum, e.answer.serial, len(e.output))
}

func (e *responsesEncoder) begin() []event {
	return []event{
		e.event("response.created", map[string]any{"response": e.response("in_progress")}),
		e.event("response.in_progress", map[string]any{"response": e.response("in_progress")}),
	}
}

func (e *responsesEncoder) open(b beat) []event {
	events := []event{e.event("response.output_item.added", map[string]any{
		"output_index": len(e.output), "item": e.item(b, "", "in_progress"),
	})}
	switch b.op {
	case beatText:
		events = append(events, e.delta("response.content_part.added", map[string]any{"content_index": 0, "part": outputText("")}))
	case beatThink:
		events = append(events, e.delta("response.reasoning_summary_part.added", map[string]any{"summary_index": 0, "part": summaryText("")}))
	}
	return events
}

func (e *responsesEncoder) piece(b beat, text string) []event {
	switch {
	case b.op == beatThink:
		return []event{e.delta("response.reasoning_summary_text.delta", map[string]any{"summary_index": 0, "delta": text})}
	case b.op == beatText:
		return []event{e.delta("response.output_text.delta", map[string]any{"content_index": 0, "delta": text})}
	case b.call.custom:
		return []event{e.delta("response.custom_tool_call_input.delta", map[string]any{"delta": text})}
	}
	return []event{e.delta("response.function_call_arguments.delta", map[string]any{"delta": text})}
}

func (e *responsesEncoder) close(b beat) []event {
	var events []event
	switch {
	case b.op == beatThink:
		events = append(events,
			e.delta("response.reasoning_summary_text.done", map[string]any{"summary_index": 0, "text": b.text}),
			e.delta("response.reasoning_summary_part.done", map[string]any{"summary_index": 0, "part": summaryText(b.text)}))
	case b.op == beatText:
		events = append(events,
			e.delta("response.output_text.done", map[string]any{"content_index": 0, "text": b.text}),
			e.delta("response.content_part.done", map[string]any{"content_index": 0, "part": outputText(b.text)}))
	case b.call.custom:
		events = append(events, e.delta("response.custom_tool_call_input.done", map[string]any{"input": b.text}))
	default:
		events = append(events, e.delta("response.function_call_arguments.done", map[string]any{"arguments": b.text}))
	}
	done := e.item(b, b.text, "completed")
	events = append(events, e.event("response.output_item.done", map[string]any{"output_index": len(e.output), "item": done}))
	e.output = append(e.output, done)
	return events
}

// item is an output item that holds text so far.
func (e *responsesEncoder) item(b beat, text, status string) map[string]any {
	it := map[string]any{"id": e.itemID(), "status": status}
	switch {
	case b.op == beatThink:
		it["type"], it["summary"] = "reasoning", []any{}
		if text != "" {
			it["summary"] = []any{summaryText(text)}
		}
	case b.op == beatText:
		it["type"], it["role"], it["content"] = "message", "assistant", []any{}
		if status == "completed" {
			it["content"] = []any{outputText(text)}
		}
	case b.call.custom:
		it["type"], it["call_id"], it["name"], it["input"] = "custom_tool_call", b.call.id, b.call.name, text
	default:
		it["type"], it["call_id"], it["name"], it["arguments"] = "function_call", b.call.id, b.call.name, text
	}
	if b.call.namespace != "" {
		it["namespace"] = b.call.namespace
	}
	return it
}

func outputText(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}}
}

func summaryText(text string) map[string]any {
	return map[string]any{"type": "summary_text", "text": text}
}

func (e *responsesEncoder) end() []event {
	name := "response." + e.status()
	return []event{e.event(name, map[string]any{"response": e.whole()})}
}

func (e *responsesEncoder) failed(word, note string) []event {
	r := e.response("failed")
	r["error"] = map[string]any{"code": word, "message": note}
	return []event{e.event("response.failed", map[string]any{"response": r})}
}

func (e *responsesEncoder) whole() any {
	r := e.response(e.status())
	u := e.answer.usage
	r["usage"] = map[string]any{
		"input_tokens": u.in, "output_tokens": u.out, "total_tokens": u.in + u.out,
		"input_tokens_details":  map[string]any{"cached_tokens": u.cached},
		"output_tokens_details": map[string]any{"reasoning_tokens": u.thinking},
	}
	switch e.answer.finish {
	case "max_tokens":
		r["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	case "safety":
		r["incomplete_details"] = map[string]any{"reason": "content_filter"}
	}
	return r
}

func (e *responsesEncoder) status() string {
	switch e.answer.finish {
	case "max_tokens", "safety":
		return "incomplete"
	}
	return "completed"
}

func (e *responsesEncoder) response(status string) map[string]any {
	output := e.output
	if output == nil {
		output = []any{}
	}
	return map[string]any{
		"id": fmt.Sprintf("resp_%08x%04d", e.answer.sum, e.answer.serial), "object": "response",
		"created_at": created, "status": status, "model": e.answer.model,
		"output": output, "error": nil, "incomplete_details": nil, "usage": nil,
	}
}
