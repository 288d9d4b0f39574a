package replay

import (
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Codex is the Wire of Codex's app-server.
func Codex() Wire { return codexWire{} }

type codexWire struct{}

// Options implements Wire.
func (codexWire) Options(f transcript.File, o adapters.Options) adapters.Options {
	for _, r := range f.Records {
		msg, err := jsonrpc.Parse(r.Data)
		if r.Dir != transcript.In || err != nil || msg.Kind != jsonrpc.Request {
			continue
		}
		switch msg.Method {
		case "thread/start":
		case "thread/resume":
			o.Resume = msg.Params.Get("threadId").Text()
		case "thread/fork":
			o.Fork = msg.Params.Get("threadId").Text()
		default:
			continue
		}
		o.Model = msg.Params.Get("model").Text()
		return o
	}
	return o
}

// Mapper implements Wire.
func (codexWire) Mapper(f transcript.File) Mapper { return newRPCMapper(&codexDialect{}, f) }

// Grease implements Wire.
func (codexWire) Grease() [][]byte {
	return [][]byte{
		[]byte(`{"method":"grease/hello","params":{"threadId":"grease","a":[1]},"emittedAtMs":1}`),
		[]byte(`{"method":"grease"}`),
		[]byte(`{"id":"grease","method":"grease/ask","params":{}}`),
		[]byte(`{"id":777777,"result":{"grease":true}}`),
		[]byte(`{"error":{"code":418,"message":"grease"},"id":"never-asked"}`),
		[]byte(`{"method":"item/completed","params":{"threadId":"grease","turnId":"g","item":{"type":"grease","id":"g"}}}`),
	}
}

// Types implements Wire.
func (codexWire) Types(f adapters.Frame) []string {
	if f.Source != adapters.Stdout && f.Source != adapters.Socket {
		return nil
	}
	msg, err := jsonrpc.Parse(f.Data)
	if err != nil || msg.Kind == jsonrpc.Response {
		return nil
	}
	types := []string{msg.Method}
	if item := msg.Params.Get("item", "type"); item.Given() {
		types = append(types, "item: "+item.Text())
	}
	if status := msg.Params.Get("turn", "status"); status.Given() {
		types = append(types, "turn: "+status.Text())
	}
	return types
}

// codexDialect follows the main thread: the first one that the client opens.
type codexDialect struct {
	rpcFraming
	opened bool
	thread string
}

func (d *codexDialect) prompts(method string) bool { return method == "turn/start" }

func (d *codexDialect) silent(method string) bool { return method == "initialized" }

func (d *codexDialect) mark(m jsonrpc.Message) string {
	return m.Params.Get("clientUserMessageId").Text()
}

// request implements dialect.
func (d *codexDialect) request(m jsonrpc.Message) ([]adapters.Command, bool) {
	switch m.Method {
	case "initialize":
		return nil, true
	case "thread/start", "thread/resume", "thread/fork":
		if !d.opened {
			d.opened = true
			return nil, true
		}
		if m.Method != "thread/fork" {
			return nil, false
		}
	}
	if id := m.Params.Get("threadId"); id.Given() {
		if d.thread == "" {
			d.thread = id.Text()
		}
		if id.Text() != d.thread {
			return nil, false
		}
	}
	switch m.Method {
	case "turn/start", "turn/steer":
		// The host decides whether a message joins the running turn.
		return []adapters.Command{codexInput(m.Params.Get("input"))}, false
	case "turn/interrupt":
		return []adapters.Command{adapters.Abort{}}, false
	case "thread/settings/update":
		return []adapters.Command{adapters.Configure{
			Model: m.Params.Get("model").Text(), ThinkingLevel: m.Params.Get("effort").Text(),
		}}, false
	}
	name := strings.TrimPrefix(m.Method, "thread/")
	return []adapters.Command{adapters.Op{Name: name, Params: m.Params.Clean()}}, false
}

func codexInput(list rawjson.Value) adapters.Prompt {
	var p adapters.Prompt
	for in := range list.Elements() {
		switch in.Get("type").Text() {
		case "text":
			p.Text += in.Get("text").Text()
		case "image":
			p.Files = append(p.Files, adapters.Attachment{Name: "image", MIME: "image/png", Data: []byte(in.Get("url").Text())})
		case "localImage":
			p.Files = append(p.Files, adapters.Attachment{Name: "image", MIME: "image/png", Path: in.Get("path").Text()})
		}
	}
	return p
}

func (d *codexDialect) notification(jsonrpc.Message) []adapters.Command { return nil }

func (d *codexDialect) asks(method string) bool {
	return strings.HasSuffix(method, "/requestApproval") || strings.HasSuffix(method, "/requestUserInput") ||
		strings.HasSuffix(method, "elicitation/request")
}

// answer implements dialect.
func (d *codexDialect) answer(_, got jsonrpc.Message) adapters.Answer {
	r := got.Result
	reject := adapters.Answer{Decision: contract.RejectOnce}
	switch {
	case got.Err != nil:
		reject.Cancelled = true
		return reject
	case r.Get("answers").Given():
		return adapters.Answer{Decision: contract.AllowOnce, Answers: codexAnswers(r.Get("answers"))}
	case r.Get("permissions").Given():
		return adapters.Answer{Decision: contract.AllowOnce}
	}
	word := r.Get("decision").Text() + r.Get("action").Text()
	switch word {
	case "accept":
		return adapters.Answer{Decision: contract.AllowOnce, Answers: r.Get("content").Clean()}
	case "acceptForSession":
		return adapters.Answer{Decision: contract.AllowAlways}
	case "cancel":
		reject.Cancelled = true
	case "":
		if r.Get("decision").Kind() == rawjson.Object { // accept with an amendment of the policy
			return adapters.Answer{Decision: contract.AllowAlways}
		}
	}
	return reject
}

// codexAnswers flattens {"q1":{"answers":["B"]}} to {"q1":["B"]}.
func codexAnswers(v rawjson.Value) []byte {
	out := []byte{'{'}
	for name, a := range v.Members() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(rawjson.AppendString(out, name), ':')
		list := a.Get("answers").Clean()
		if list == nil {
			list = []byte("[]")
		}
		out = append(out, list...)
	}
	return append(out, '}')
}

func (d *codexDialect) effect(_, _ jsonrpc.Message) adapters.EffectDone { return adapters.EffectDone{} }

func (d *codexDialect) plain(method string) (string, bool) {
	switch method {
	case "initialize":
		return `{"userAgent":"recorded-without"}`, true
	case "thread/start":
		return `{"thread":{"id":"recorded-without"}}`, true
	}
	return "", false
}
