package scriptmodel

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s: line %d: got\n%s\nwant\n%s\n(-update rewrites the file)", name, i+1, g[i], append(w, "end of file")[min(i, len(w))])
		}
	}
	t.Fatalf("%s: got ends at line %d of %d", name, len(g), len(w))
}

// An endpoint is how one API is asked.
type endpoint struct {
	name string
	path func(stream bool) string
	body func(prompt string, stream bool) map[string]any
}

func fixed(path string) func(bool) string { return func(bool) string { return path } }

func endpoints() []endpoint {
	params := map[string]any{"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}}, "required": []any{"command"}}
	return []endpoint{
		{"gemini", func(stream bool) string {
			if stream {
				return "/v1beta/models/m:streamGenerateContent?alt=sse"
			}
			return "/v1beta/models/m:generateContent"
		}, func(prompt string, stream bool) map[string]any {
			return map[string]any{
				"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": prompt}}}},
				"tools":    []any{map[string]any{"functionDeclarations": []any{map[string]any{"name": "run_shell_command", "parametersJsonSchema": params}}}},
			}
		}},
		{"messages", fixed("/v1/messages?beta=true"), func(prompt string, stream bool) map[string]any {
			return map[string]any{
				"model": "m", "stream": stream, "max_tokens": 1000,
				"messages": []any{map[string]any{"role": "user", "content": prompt}},
				"tools":    []any{map[string]any{"name": "Bash", "input_schema": params}},
			}
		}},
		{"chat", fixed("/v1/chat/completions"), func(prompt string, stream bool) map[string]any {
			return map[string]any{
				"model": "m", "stream": stream, "stream_options": map[string]any{"include_usage": true},
				"messages": []any{map[string]any{"role": "user", "content": prompt}},
				"tools":    []any{map[string]any{"type": "function", "function": map[string]any{"name": "bash", "parameters": params}}},
			}
		}},
		{"responses", fixed("/v1/responses"), func(prompt string, stream bool) map[string]any {
			return map[string]any{
				"model": "m", "stream": stream, "input": prompt,
				"tools": []any{
					map[string]any{"type": "function", "name": "exec_command", "parameters": params},
					map[string]any{"type": "custom", "name": "apply_patch"},
					map[string]any{"type": "namespace", "name": "agents", "tools": []any{map[string]any{"type": "function", "name": "spawn_agent"}}},
				},
			}
		}},
	}
}

// ask sends one request to the handler itself.
func (e endpoint) ask(t *testing.T, s *Server, prompt string, stream bool) *httptest.ResponseRecorder {
	t.Helper()
	body, err := json.Marshal(e.body(prompt, stream), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, e.path(stream), bytes.NewReader(body)))
	return w
}

// indentBody makes a JSON body readable and leaves others as they are.
func indentBody(body string) string {
	v := jsontext.Value(body)
	if v.Indent() != nil {
		return strings.TrimSuffix(body, "\n") + "\n"
	}
	return string(v) + "\n"
}

func TestGolden(t *testing.T) {
	cases := []struct{ name, script string }{
		{"text", "text hello there"},
		{"think, text and two calls", `think let me see ++ text I look ++ shell ls -la ++ shell@mine pwd`},
		{"custom and namespaced tools", `tool apply_patch {"input":"*** Begin Patch\n*** End Patch\n"} ++ tool spawn_agent {"message":"x"}`},
		{"usage and max_tokens", "usage 1200 34 1000 8 ++ finish max_tokens ++ text cut"},
		{"safety", "finish safety ++ text no"},
		{"empty", "empty"},
		{"chunks and grease", `raw {"type":"unknown.event"} ++ chunks 2 8`},
		{"fail", "text a ++ fail overloaded_error too busy"},
		{"badsse", "text a ++ badsse"},
		{"error", "error 429 slow down"},
		{"other error", "error 418"},
		{"unknown verb", "sing a song"},
		{"no such tool", "task x"},
	}
	for _, e := range endpoints() {
		t.Run(e.name, func(t *testing.T) {
			s := New()
			var b strings.Builder
			for _, c := range cases {
				for _, stream := range []bool{true, false} {
					mode := "whole"
					if stream {
						mode = "stream"
					}
					w := e.ask(t, s, "SCRIPT: "+c.script, stream)
					fmt.Fprintf(&b, "-- %s (%s) --\nHTTP %d %s\n%s", c.name, mode, w.Code, w.Header().Get("Content-Type"), indentBody(w.Body.String()))
				}
			}
			golden(t, e.name+".golden", b.String())
		})
	}
}

// Every chunk of a stream is JSON, and the joined pieces are the whole answer.
func TestStreamEqualsWhole(t *testing.T) {
	for _, e := range endpoints() {
		s := New()
		text := "one  two\n\tthree é世界 " + strings.Repeat("x", 50)
		script := `SCRIPT: text ` + string(encode(text))
		w := e.ask(t, s, script, true)
		var joined strings.Builder
		for line := range strings.SplitSeq(w.Body.String(), "\n") {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok || data == "[DONE]" {
				continue
			}
			if !jsontext.Value(data).IsValid() {
				t.Errorf("%s: event data %s is no JSON", e.name, data)
			}
			joined.WriteString(deltaText(t, data))
		}
		if joined.String() != text {
			t.Errorf("%s: the pieces give %q, want %q", e.name, joined.String(), text)
		}
		if whole := e.ask(t, s, script, false).Body.String(); !strings.Contains(whole, strings.Trim(string(encode(text)), `"`)) {
			t.Errorf("%s: the whole answer %s does not hold the text", e.name, whole)
		}
	}
}

// deltaText is the new text in the data of one event of any API.
func deltaText(t *testing.T, data string) string {
	var d struct {
		Type       string         `json:"type"`
		Delta      jsontext.Value `json:"delta"`
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
		} `json:"choices"`
	}
	if err := lenient([]byte(data), &d); err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, c := range d.Candidates {
		for _, p := range c.Content.Parts {
			out += p.Text
		}
	}
	for _, c := range d.Choices {
		out += c.Delta.Content
	}
	switch d.Type {
	case "response.output_text.delta":
		lenient(d.Delta, &out)
	case "content_block_delta":
		var td struct {
			Text string `json:"text"`
		}
		lenient(d.Delta, &td)
		out += td.Text
	}
	return out
}
