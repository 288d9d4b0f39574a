package scriptmodel

import (
	"encoding/json/jsontext"
	"fmt"
)

// messages is the Anthropic Messages API.
func messages() protocol {
	return protocol{
		name:       "messages",
		callPrefix: "toolu_",
		decode: func(body []byte) (*request, error) {
			var m messagesRequest
			if err := lenient(body, &m); err != nil {
				return nil, err
			}
			return m.reduce(), nil
		},
		encoder: func(r *request, a *answer) encoder { return &messagesEncoder{answer: a} },
		failure: messagesFailure,
	}
}

type messagesRequest struct {
	Model     string  `json:"model"`
	System    content `json:"system"`
	Stream    bool    `json:"stream"`
	MaxTokens int     `json:"max_tokens"`
	Messages  []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string         `json:"name"`
		InputSchema jsontext.Value `json:"input_schema"`
	} `json:"tools"`
	OutputFormat wantedFormat `json:"output_format"`
	OutputConfig struct {
		Format wantedFormat `json:"format"`
	} `json:"output_config"`
}

type wantedFormat struct {
	Type   string         `json:"type"`
	Schema jsontext.Value `json:"schema"`
}

func (m *messagesRequest) reduce() *request {
	r := &request{model: m.Model, stream: m.Stream, maxTokens: m.MaxTokens, system: m.System.text()}
	for _, msg := range m.Messages {
		for _, p := range msg.Content {
			switch {
			case p.Type == "tool_use":
				r.items = append(r.items, item{kind: modelCall, callID: p.ID})
			case p.Type == "tool_result":
				r.items = append(r.items, item{kind: callResult, text: string(p.Content)})
			case msg.Role == "assistant":
				r.items = append(r.items, item{kind: modelText, text: p.Text})
			case msg.Role == "user" && p.Text != "":
				r.items = append(r.items, item{kind: userText, text: p.Text})
			case msg.Role == "system":
				r.system += "\n" + p.Text
			}
		}
	}
	for _, t := range m.Tools {
		r.tools = append(r.tools, tool{name: t.Name, params: parseSchema(t.InputSchema)})
	}
	for _, f := range []wantedFormat{m.OutputFormat, m.OutputConfig.Format} {
		if f.Type == "json_schema" && len(f.Schema) > 0 {
			r.schema = f.Schema
		}
	}
	return r
}

// messagesEncoder writes the event sequence of the Messages API.
type messagesEncoder struct {
	answer *answer
	blocks []any // content blocks so far, whole
}

func (e *messagesEncoder) id() string {
	return fmt.Sprintf("msg_%08x%04d", e.answer.sum, e.answer.serial)
}

func (e *messagesEncoder) begin() []event {
	msg := e.message([]any{}, nil)
	usage := msg["usage"].(map[string]any)
	usage["output_tokens"] = min(1, e.answer.usage.out)
	delete(usage, "output_tokens_details")
	return []event{
		named("message_start", map[string]any{"message": msg}),
		named("ping", map[string]any{}),
	}
}

// named is an event whose data repeat its name as their type.
func named(name string, data map[string]any) event {
	data["type"] = name
	return event{name: name, data: data}
}

func (e *messagesEncoder) open(b beat) []event {
	return []event{named("content_block_start", map[string]any{
		"index": len(e.blocks), "content_block": messagesBlock(b, ""),
	})}
}

// messagesBlock is a content block that holds text so far. The input of a call
// is an object: {} at the start, the arguments at the end.
func messagesBlock(b beat, text string) map[string]any {
	switch b.op {
	case beatThink:
		block := map[string]any{"type": "thinking", "thinking": text, "signature": ""}
		if text != "" {
			block["signature"] = signature
		}
		return block
	case beatCall:
		block := map[string]any{"type": "tool_use", "id": b.call.id, "name": b.call.name, "input": jsontext.Value("{}")}
		if text != "" {
			block["input"] = jsontext.Value(text)
		}
		return block
	}
	return map[string]any{"type": "text", "text": text}
}

// signature stands for the signature of a thinking block.
const signature = "c2NyaXB0bW9kZWw="

func (e *messagesEncoder) delta(d map[string]any) event {
	return named("content_block_delta", map[string]any{"index": len(e.blocks), "delta": d})
}

func (e *messagesEncoder) piece(b beat, text string) []event {
	switch b.op {
	case beatThink:
		return []event{e.delta(map[string]any{"type": "thinking_delta", "thinking": text})}
	case beatCall:
		return []event{e.delta(map[string]any{"type": "input_json_delta", "partial_json": text})}
	}
	return []event{e.delta(map[string]any{"type": "text_delta", "text": text})}
}

func (e *messagesEncoder) close(b beat) []event {
	var events []event
	if b.op == beatThink {
		events = append(events, e.delta(map[string]any{"type": "signature_delta", "signature": signature}))
	}
	events = append(events, named("content_block_stop", map[string]any{"index": len(e.blocks)}))
	e.blocks = append(e.blocks, messagesBlock(b, b.text))
	return events
}

func (e *messagesEncoder) end() []event {
	return []event{
		named("message_delta", map[string]any{
			"delta": map[string]any{"stop_reason": e.reason(), "stop_sequence": nil},
			"usage": e.usage(),
		}),
		named("message_stop", map[string]any{}),
	}
}

func (e *messagesEncoder) failed(word, note string) []event {
	return []event{named("error", map[string]any{"error": map[string]any{"type": word, "message": note}})}
}

func (e *messagesEncoder) whole() any {
	if e.blocks == nil {
		e.blocks = []any{}
	}
	return e.message(e.blocks, e.reason())
}

func (e *messagesEncoder) message(blocks []any, reason any) map[string]any {
	return map[string]any{
		"id": e.id(), "type": "message", "role": "assistant", "model": e.answer.model,
		"content": blocks, "stop_reason": reason, "stop_sequence": nil, "usage": e.usage(),
	}
}

func (e *messagesEncoder) reason() string {
	switch e.answer.finish {
	case "max_tokens":
		return "max_tokens"
	case "safety":
		return "refusal"
	}
	if e.answer.calls() {
		return "tool_use"
	}
	return "end_turn"
}

func (e *messagesEncoder) usage() map[string]any {
	u := e.answer.usage
	m := map[string]any{
		"input_tokens":                u.in - u.cached,
		"cache_read_input_tokens":     u.cached,
		"cache_creation_input_tokens": 0,
		"output_tokens":               u.out,
	}
	if u.thinking > 0 {
		m["output_tokens_details"] = map[string]any{"thinking_tokens": u.thinking}
	}
	return m
}

func messagesFailure(status int, reason string) any {
	types := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
		404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error", 503: "overloaded_error",
	}
	kind, ok := types[status]
	if !ok {
		kind = "api_error"
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": reason}}
}
