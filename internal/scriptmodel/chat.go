package scriptmodel

import (
	"encoding/json/jsontext"
	"fmt"
)

// chat is the OpenAI chat completions API.
func chat() protocol {
	return protocol{
		name:       "chat",
		callPrefix: "call_",
		decode: func(body []byte) (*request, error) {
			var c chatRequest
			if err := lenient(body, &c); err != nil {
				return nil, err
			}
			return c.reduce(), nil
		},
		encoder: func(r *request, a *answer) encoder { return &chatEncoder{answer: a, usageWanted: r.usage} },
		failure: openaiFailure,
	}
}

type chatRequest struct {
	Model               string `json:"model"`
	Stream              bool   `json:"stream"`
	MaxTokens           int    `json:"max_tokens"`
	MaxCompletionTokens int    `json:"max_completion_tokens"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []struct {
		Role      string  `json:"role"`
		Content   content `json:"content"`
		ToolCalls []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name       string         `json:"name"`
			Parameters jsontext.Value `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema jsontext.Value `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

func (c *chatRequest) reduce() *request {
	r := &request{
		model: c.Model, stream: c.Stream, usage: c.StreamOptions.IncludeUsage,
		maxTokens: max(c.MaxTokens, c.MaxCompletionTokens),
	}
	for _, m := range c.Messages {
		switch m.Role {
		case "system", "developer":
			r.system += m.Content.text() + "\n"
		case "user":
			r.texts(userText, m.Content)
		case "assistant":
			r.texts(modelText, m.Content)
			for _, t := range m.ToolCalls {
				r.items = append(r.items, item{kind: modelCall, callID: t.ID})
			}
		case "tool", "function":
			r.items = append(r.items, item{kind: callResult, text: m.Content.text()})
		}
	}
	for _, t := range c.Tools {
		r.tools = append(r.tools, tool{name: t.Function.Name, params: parseSchema(t.Function.Parameters)})
	}
	switch c.ResponseFormat.Type {
	case "json_schema":
		r.schema = c.ResponseFormat.JSONSchema.Schema
	case "json_object":
		r.schema = jsontext.Value(`{"type":"object"}`)
	}
	return r
}

// chatEncoder writes chat.completion.chunk events and [DONE].
type chatEncoder struct {
	answer      *answer
	usageWanted bool
	text, think string
	calls       []any
}

// created is the time stamp of every OpenAI answer: answers depend on nothing
// but the requests.
const created = 1_700_000_000

func (e *chatEncoder) frame(object string) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("chatcmpl-%08x%04d", e.answer.sum, e.answer.serial), "object": object,
		"created": created, "model": e.answer.model,
	}
}

func (e *chatEncoder) chunk(delta map[string]any, reason any) event {
	f := e.frame("chat.completion.chunk")
	f["choices"] = []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}
	return event{data: f}
}

func (e *chatEncoder) begin() []event {
	return []event{e.chunk(map[string]any{"role": "assistant", "content": ""}, nil)}
}

func (e *chatEncoder) open(b beat) []event {
	if b.op != beatCall {
		return nil
	}
	return []event{e.chunk(map[string]any{"tool_calls": []any{map[string]any{
		"index": len(e.calls), "id": b.call.id, "type": "function",
		"function": map[string]any{"name": b.call.name, "arguments": ""},
	}}}, nil)}
}

func (e *chatEncoder) piece(b beat, text string) []event {
	switch b.op {
	case beatCall:
		return []event{e.chunk(map[string]any{"tool_calls": []any{map[string]any{
			"index": len(e.calls), "function": map[string]any{"arguments": text},
		}}}, nil)}
	case beatThink:
		return []event{e.chunk(map[string]any{"reasoning_content": text}, nil)}
	}
	return []event{e.chunk(map[string]any{"content": text}, nil)}
}

func (e *chatEncoder) close(b beat) []event {
	switch b.op {
	case beatCall:
		e.calls = append(e.calls, map[string]any{
			"id": b.call.id, "type": "function",
			"function": map[string]any{"name": b.call.name, "arguments": b.text},
		})
	case beatThink:
		e.think += b.text
	default:
		e.text += b.text
	}
	return nil
}

func (e *chatEncoder) end() []event {
	events := []event{e.chunk(map[string]any{}, e.reason())}
	if e.usageWanted {
		f := e.frame("chat.completion.chunk")
		f["choices"], f["usage"] = []any{}, e.usage()
		events = append(events, event{data: f})
	}
	return append(events, event{data: rawData("[DONE]")})
}

func (e *chatEncoder) failed(word, note string) []event {
	return []event{{data: map[string]any{"error": map[string]any{"type": word, "code": word, "message": note}}}}
}

func (e *chatEncoder) whole() any {
	msg := map[string]any{"role": "assistant", "content": e.text}
	if e.think != "" {
		msg["reasoning_content"] = e.think
	}
	if e.calls != nil {
		msg["tool_calls"] = e.calls
	}
	f := e.frame("chat.completion")
	f["choices"] = []any{map[string]any{"index": 0, "message": msg, "finish_reason": e.reason()}}
	f["usage"] = e.usage()
	return f
}

func (e *chatEncoder) reason() string {
	switch e.answer.finish {
	case "max_tokens":
		return "length"
	case "safety":
		return "content_filter"
	}
	if e.answer.calls() {
		return "tool_calls"
	}
	return "stop"
}

func (e *chatEncoder) usage() map[string]any {
	u := e.answer.usage
	return map[string]any{
		"prompt_tokens": u.in, "completion_tokens": u.out, "total_tokens": u.in + u.out,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.cached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.thinking},
	}
}

// openaiFailure is the error body of both OpenAI APIs.
func openaiFailure(status int, reason string) any {
	types := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
		404: "not_found_error", 429: "rate_limit_exceeded",
	}
	kind, ok := types[status]
	if !ok {
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": reason, "type": kind, "code": kind, "param": nil}}
}
