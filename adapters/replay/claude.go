package replay

import (
	"bytes"
	"encoding/json/jsontext"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Claude is the Wire of Claude Code's stream-json with control requests.
func Claude() Wire { return claudeWire{} }

type claudeWire struct{}

// Options implements Wire: what the recorded client asked for stands in its argv.
func (claudeWire) Options(f transcript.File, o adapters.Options) adapters.Options {
	args := f.Header.Command
	for i, a := range args {
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch a {
		case "--resume", "-r":
			o.Resume = next
		case "--continue", "-c":
			o.Continue = true
		case "--permission-mode":
			o.Mode = next
		case "--model":
			o.Model = next
		case "--max-turns":
			o.MaxTurns, _ = strconv.Atoi(next)
		case "--max-budget-usd":
			o.BudgetUSD, _ = strconv.ParseFloat(next, 64)
		}
	}
	for _, a := range args {
		if a == "--fork-session" {
			o.Fork, o.Resume = o.Resume, ""
		}
	}
	return o
}

// Mapper implements Wire.
func (claudeWire) Mapper(f transcript.File) Mapper { return newRPCMapper(claudeDialect{}, f) }

// Grease implements Wire.
func (claudeWire) Grease() [][]byte {
	return [][]byte{
		[]byte(`{"type":"grease","uuid":"00000000-0000-4000-8000-000000000000","session_id":"x","a":[1]}`),
		[]byte(`{"type":"system","subtype":"grease","session_id":"x"}`),
		[]byte(`{"type":"control_request","request_id":"grease","request":{"subtype":"grease"}}`),
		[]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"never-asked","response":{}}}`),
		[]byte(`{"type":"control_response","response":{"subtype":"grease","request_id":"never-asked"}}`),
		[]byte(`{"type":"control_cancel_request","request_id":"never-asked"}`),
		[]byte(`{"type":7}`),
	}
}

// Types implements Wire.
func (claudeWire) Types(f adapters.Frame) []string {
	v, err := rawjson.Parse(f.Data)
	if err != nil || f.Source != adapters.Stdout {
		return nil
	}
	name := v.Get("type").Text()
	types := []string{name}
	for _, sub := range []rawjson.Value{
		v.Get("subtype"), v.Get("request", "subtype"), v.Get("response", "subtype"), v.Get("event", "type"),
	} {
		if sub.Given() {
			types = append(types, name+"/"+sub.Text())
		}
	}
	for b := range v.Get("message", "content").Elements() {
		types = append(types, name+": "+b.Get("type").Text())
	}
	for _, part := range []string{"content_block", "delta"} {
		if t := v.Get("event", part, "type"); t.Given() {
			types = append(types, part+": "+t.Text())
		}
	}
	return types
}

// claudeDialect reads a control_request as a request with its subtype as the
// method, a control_response as an answer and any other message as a
// notification of its type.
type claudeDialect struct{}

func (claudeDialect) parse(data []byte) (jsonrpc.Message, error) {
	v, err := rawjson.Parse(data)
	if err != nil {
		return jsonrpc.Message{}, jsonrpc.ErrNotJSON
	}
	switch kind := v.Get("type").Text(); kind {
	case "control_request":
		return jsonrpc.Message{
			Kind: jsonrpc.Request, ID: v.Get("request_id"), Method: v.Get("request", "subtype").Text(), Params: v.Get("request"),
		}, nil
	case "control_response":
		r := v.Get("response")
		m := jsonrpc.Message{Kind: jsonrpc.Response, ID: r.Get("request_id"), Result: r.Get("response")}
		if r.Get("subtype").Text() == "error" {
			m.Err = &jsonrpc.Error{Message: r.Get("error").Text()}
		}
		return m, nil
	case "":
		return jsonrpc.Message{}, jsonrpc.ErrNotMessage
	default:
		return jsonrpc.Message{Kind: jsonrpc.Notification, Method: kind, Params: v}, nil
	}
}

func (claudeDialect) readdress(data []byte, from, to rawjson.Value) []byte {
	v, err := rawjson.Parse(data)
	if err != nil {
		return data
	}
	response := v.Get("response")
	return replaceMember(data, "response", response, replaceMember(response, "request_id", from, to))
}

func (claudeDialect) result(id rawjson.Value, result string) []byte {
	return []byte(`{"type":"control_response","response":{"subtype":"success","request_id":` + string(id) + `,"response":` + result + `}}`)
}

func (claudeDialect) noMethod(id rawjson.Value, method string) []byte {
	text := rawjson.AppendString(nil, "Unsupported control request subtype: "+method)
	return []byte(`{"type":"control_response","response":{"subtype":"error","request_id":` + string(id) + `,"error":` + string(text) + `}}`)
}

func (claudeDialect) prompts(string) bool { return false } // user messages are no requests

func (claudeDialect) mark(m jsonrpc.Message) string {
	if m.Kind == jsonrpc.Notification && m.Method == "user" {
		return m.Params.Get("uuid").Text()
	}
	return ""
}

func (claudeDialect) silent(method string) bool { return method == "keep_alive" }

// request implements dialect.
func (claudeDialect) request(m jsonrpc.Message) ([]adapters.Command, bool) {
	switch m.Method {
	case "initialize":
		return nil, true
	case "":
		return nil, false
	case "interrupt":
		return []adapters.Command{adapters.Abort{}}, false
	case "set_permission_mode":
		return []adapters.Command{adapters.Configure{Mode: contract.PermissionMode(m.Params.Get("mode").Text())}}, false
	case "set_model":
		return []adapters.Command{adapters.Configure{Model: m.Params.Get("model").Text()}}, false
	case "set_max_thinking_tokens":
		level := "default" // null takes the limit away
		if n := m.Params.Get("max_thinking_tokens"); n.Given() {
			level = string(n.Clean())
		}
		return []adapters.Command{adapters.Configure{ThinkingLevel: level}}, false
	case "rewind_conversation", "rewind_files":
		return []adapters.Command{adapters.Op{Name: "rewind", Params: m.Params.Clean()}}, false
	default:
		return []adapters.Command{adapters.Op{Name: strings.ReplaceAll(m.Method, "_", "-"), Params: m.Params.Clean()}}, false
	}
}

// notification implements dialect.
func (claudeDialect) notification(m jsonrpc.Message) []adapters.Command {
	if m.Method != "user" {
		return nil
	}
	content := m.Params.Get("message", "content")
	p := adapters.Prompt{Text: content.Text()}
	for b := range content.Elements() {
		switch b.Get("type").Text() {
		case "text":
			p.Text += b.Get("text").Text()
		case "image":
			p.Files = append(p.Files, adapters.Attachment{
				Name: "image", MIME: b.Get("source", "media_type").Text(), Data: []byte(b.Get("source", "data").Text()),
			})
		}
	}
	return []adapters.Command{p}
}

func (claudeDialect) asks(method string) bool {
	return method == "can_use_tool" || method == "elicitation"
}

// answer implements dialect.
func (claudeDialect) answer(asked, got jsonrpc.Message) adapters.Answer {
	r := got.Result
	switch {
	case got.Err != nil:
		return adapters.Answer{Decision: contract.RejectOnce, Cancelled: true}
	case asked.Method == "elicitation":
		if r.Get("action").Text() == "accept" {
			return adapters.Answer{Decision: contract.AllowOnce, Answers: r.Get("content").Clean()}
		}
		return adapters.Answer{Decision: contract.RejectOnce, Cancelled: r.Get("action").Text() == "cancel"}
	case r.Get("behavior").Text() != "allow":
		return adapters.Answer{
			Decision: contract.RejectOnce, Message: r.Get("message").Text(), Cancelled: r.Get("interrupt").True(),
		}
	}
	ans := adapters.Answer{Decision: contract.AllowOnce}
	if !r.Get("updatedPermissions").Empty() {
		ans.Decision = contract.AllowAlways
	}
	input, updated := asked.Params.Get("input"), r.Get("updatedInput")
	switch {
	case updated.Get("answers").Given():
		ans.Answers = updated.Get("answers").Clean()
	case updated.Given() && string(compactJSON(updated)) != string(compactJSON(input)):
		ans.Args = updated.Clean()
	}
	return ans
}

func (claudeDialect) effect(_, _ jsonrpc.Message) adapters.EffectDone { return adapters.EffectDone{} }

func (claudeDialect) plain(method string) (string, bool) {
	switch method {
	case "initialize", "set_permission_mode", "set_model":
		return `{}`, true
	}
	return "", false
}

// compactJSON is data without insignificant white space.
func compactJSON(data []byte) jsontext.Value {
	v := jsontext.Value(bytes.Clone(data))
	if err := v.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return data
	}
	return v
}
