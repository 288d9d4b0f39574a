package scriptmodel

import (
	"encoding/json/jsontext"
	"net/http"
	"strings"
)

// geminiPath splits …/models/{model}:{method}.
func geminiPath(path string) (model, method string, ok bool) {
	_, rest, ok := strings.Cut(path, "/models/")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}

// gemini is the Gemini API; model and method stand in the path. A stream is
// always server-sent events (alt=sse), which is what every client asks for.
func gemini(model string, stream bool) protocol {
	return protocol{
		name: "gemini",
		decode: func(body []byte) (*request, error) {
			var g geminiRequest
			if err := lenient(body, &g); err != nil {
				return nil, err
			}
			return g.reduce(model, stream), nil
		},
		encoder: func(r *request, a *answer) encoder { return &geminiEncoder{answer: a} },
		failure: geminiFailure,
	}
}

type geminiRequest struct {
	Contents          []geminiContent `json:"contents"`
	SystemInstruction geminiContent   `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name                 string         `json:"name"`
			Parameters           jsontext.Value `json:"parameters"`
			ParametersJSONSchema jsontext.Value `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	GenerationConfig struct {
		ResponseMIMEType   string         `json:"responseMimeType"`
		ResponseSchema     jsontext.Value `json:"responseSchema"`
		ResponseJSONSchema jsontext.Value `json:"responseJsonSchema"`
		MaxOutputTokens    int            `json:"maxOutputTokens"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string `json:"role"`
	Parts []struct {
		Text         string `json:"text"`
		FunctionCall *struct {
			ID string `json:"id"`
		} `json:"functionCall"`
		FunctionResponse jsontext.Value `json:"functionResponse"`
	} `json:"parts"`
}

func (g *geminiRequest) reduce(model string, stream bool) *request {
	r := &request{model: model, stream: stream, maxTokens: g.GenerationConfig.MaxOutputTokens}
	for _, p := range g.SystemInstruction.Parts {
		r.system += p.Text + "\n"
	}
	for _, c := range g.Contents {
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				r.items = append(r.items, item{kind: modelCall, callID: p.FunctionCall.ID})
			case len(p.FunctionResponse) > 0:
				r.items = append(r.items, item{kind: callResult, text: string(p.FunctionResponse)})
			case p.Text != "" && c.Role == "model":
				r.items = append(r.items, item{kind: modelText, text: p.Text})
			case p.Text != "":
				r.items = append(r.items, item{kind: userText, text: p.Text})
			}
		}
	}
	for _, t := range g.Tools {
		for _, f := range t.FunctionDeclarations {
			params := f.ParametersJSONSchema
			if len(params) == 0 {
				params = f.Parameters
			}
			r.tools = append(r.tools, tool{name: f.Name, params: parseSchema(params)})
		}
	}
	c := g.GenerationConfig
	switch {
	case len(c.ResponseJSONSchema) > 0:
		r.schema = c.ResponseJSONSchema
	case len(c.ResponseSchema) > 0:
		r.schema = c.ResponseSchema
	case c.ResponseMIMEType == "application/json":
		r.schema = jsontext.Value(`{"type":"object"}`)
	}
	return r
}

// geminiEncoder writes one chunk for each piece and a last one with the reason
// and the usage. Calls and thoughts come whole: the API sends a thought's summary
// as one part.
type geminiEncoder struct {
	answer *answer
	parts  []any // of the whole answer
}

func (e *geminiEncoder) begin() []event { return nil }

func (e *geminiEncoder) open(b beat) []event { return nil }

func (e *geminiEncoder) piece(b beat, text string) []event {
	if b.op != beatText {
		return nil
	}
	return []event{{data: e.chunk(geminiText(b, text))}}
}

func (e *geminiEncoder) close(b beat) []event {
	if b.op != beatCall {
		e.parts = append(e.parts, geminiText(b, b.text))
		if b.op == beatThink {
			return []event{{data: e.chunk(geminiText(b, b.text))}}
		}
		return nil
	}
	fc := map[string]any{"name": b.call.name, "args": b.call.args}
	if b.call.id != "" {
		fc["id"] = b.call.id
	}
	part := map[string]any{"functionCall": fc}
	e.parts = append(e.parts, part)
	return []event{{data: e.chunk(part)}}
}

// end sends the finish reason. Its chunk has an empty part only after content:
// an answer of nothing has no parts at all.
func (e *geminiEncoder) end() []event {
	var parts []any
	if len(e.parts) > 0 {
		parts = []any{map[string]any{"text": ""}}
	}
	return []event{{data: e.final(parts)}}
}

func (e *geminiEncoder) whole() any { return e.final(e.parts) }

func (e *geminiEncoder) failed(word, note string) []event {
	body := geminiFailure(http.StatusInternalServerError, note)
	body.(map[string]any)["error"].(map[string]any)["status"] = word
	return []event{{data: body}}
}

func geminiText(b beat, text string) map[string]any {
	p := map[string]any{"text": text}
	if b.op == beatThink {
		p["thought"] = true
	}
	return p
}

func (e *geminiEncoder) chunk(parts ...any) map[string]any {
	return map[string]any{
		"candidates": []any{map[string]any{
			"content": map[string]any{"role": "model", "parts": parts},
			"index":   0,
		}},
		"modelVersion":  e.answer.model,
		"usageMetadata": e.usage(),
	}
}

func (e *geminiEncoder) final(parts []any) map[string]any {
	c := e.chunk(parts...)
	reasons := map[string]string{"max_tokens": "MAX_TOKENS", "safety": "SAFETY", "malformed": "MALFORMED_FUNCTION_CALL"}
	reason, ok := reasons[e.answer.finish]
	if !ok {
		reason = "STOP"
	}
	cand := c["candidates"].([]any)[0].(map[string]any)
	cand["finishReason"] = reason
	if len(parts) == 0 {
		cand["content"] = map[string]any{"role": "model"}
	}
	return c
}

func (e *geminiEncoder) usage() map[string]any {
	u := e.answer.usage
	m := map[string]any{
		"promptTokenCount":     u.in,
		"candidatesTokenCount": u.out - u.thinking,
		"totalTokenCount":      u.in + u.out,
	}
	if u.cached > 0 {
		m["cachedContentTokenCount"] = u.cached
	}
	if u.thinking > 0 {
		m["thoughtsTokenCount"] = u.thinking
	}
	return m
}

func geminiFailure(status int, reason string) any {
	names := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
		404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}
	name, ok := names[status]
	if !ok {
		name = "UNKNOWN"
	}
	return map[string]any{"error": map[string]any{"code": status, "message": reason, "status": name}}
}
