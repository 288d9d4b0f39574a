package replay

import (
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// ACPModes maps an agent's mode ids to the contract's.
type ACPModes map[string]contract.PermissionMode

// ACP is the Wire of the Agent Client Protocol. Mode ids that modes does not
// name are passed on as they are.
func ACP(modes ACPModes) Wire { return acpWire{modes} }

type acpWire struct{ modes ACPModes }

// Options implements Wire: a client that loads or resumes a session is one with
// Options.Resume.
func (acpWire) Options(f transcript.File, o adapters.Options) adapters.Options {
	for _, r := range f.Records {
		msg, err := jsonrpc.Parse(r.Data)
		if r.Dir != transcript.In || err != nil || msg.Kind != jsonrpc.Request {
			continue
		}
		switch msg.Method {
		case "session/new":
		case "session/load", "session/resume":
			o.Resume = msg.Params.Get("sessionId").Text()
		case "session/fork":
			o.Fork = msg.Params.Get("sessionId").Text()
		default:
			continue
		}
		o.MCPServers = mcpServers(msg.Params.Get("mcpServers"))
		return o
	}
	return o
}

func mcpServers(list rawjson.Value) []adapters.MCPServer {
	var out []adapters.MCPServer
	for v := range list.Elements() {
		s := adapters.MCPServer{
			Name: v.Get("name").Text(), Transport: v.Get("type").Text(), Command: v.Get("command").Text(), URL: v.Get("url").Text(),
		}
		if s.Transport == "" {
			s.Transport = "stdio"
		}
		for a := range v.Get("args").Elements() {
			s.Args = append(s.Args, a.Text())
		}
		for e := range v.Get("env").Elements() {
			s.Env = append(s.Env, adapters.Pair{Name: e.Get("name").Text(), Value: e.Get("value").Text()})
		}
		for e := range v.Get("headers").Elements() {
			s.Headers = append(s.Headers, adapters.Pair{Name: e.Get("name").Text(), Value: e.Get("value").Text()})
		}
		out = append(out, s)
	}
	return out
}

// Mapper implements Wire.
func (w acpWire) Mapper(f transcript.File) Mapper {
	return newRPCMapper(&acpDialect{modes: w.modes, dir: f.Header.Dir}, f)
}

// Grease implements Wire. The session is one that the Protocol does not have,
// besides the messages that name none.
func (acpWire) Grease() [][]byte {
	return [][]byte{
		[]byte(`{"jsonrpc":"2.0","method":"_grease/hello","params":{"a":[1,{"b":null}]}}`),
		[]byte(`{"jsonrpc":"2.0","method":"grease/world"}`),
		[]byte(`{"jsonrpc":"2.0","id":"grease","method":"_grease/ask","params":{}}`),
		[]byte(`{"jsonrpc":"2.0","id":"never-asked","result":{"grease":true}}`),
		[]byte(`{"jsonrpc":"2.0","id":777777,"error":{"code":418,"message":"grease","data":[]}}`),
		[]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"grease","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"of another session"}}}}`),
		[]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"grease","update":{"sessionUpdate":"grease_update","x":1}}}`),
	}
}

// Types implements Wire.
func (acpWire) Types(f adapters.Frame) []string {
	if f.Source != adapters.Stdout {
		return nil
	}
	msg, err := jsonrpc.Parse(f.Data)
	if err != nil {
		return nil
	}
	if msg.Kind == jsonrpc.Response {
		if stop := msg.Result.Get("stopReason"); stop.Given() {
			return []string{"stopReason: " + stop.Text()}
		}
		return nil
	}
	types := []string{msg.Method}
	if msg.Method == "session/update" {
		u := msg.Params.Get("update")
		return append(append(types, u.Get("sessionUpdate").Text()), toolTypes(u)...)
	}
	for o := range msg.Params.Get("options").Elements() {
		types = append(types, "option: "+o.Get("kind").Text())
	}
	return append(types, toolTypes(msg.Params.Get("toolCall"))...)
}

// toolTypes names the enumerated values of a tool call, and its content.
func toolTypes(call rawjson.Value) []string {
	var types []string
	for _, name := range []string{"kind", "status"} {
		if v := call.Get(name); v.Kind() == rawjson.String {
			types = append(types, name+": "+v.Text())
		}
	}
	for c := range call.Get("content").Elements() {
		types = append(types, "content: "+c.Get("type").Text())
	}
	return types
}

// acpDialect follows the main session: the first one that the client opens.
type acpDialect struct {
	rpcFraming
	modes   ACPModes
	dir     string
	session string // the client's word for it, empty until it named one
	opened  bool
}

func (d *acpDialect) mark(jsonrpc.Message) string { return "" }

func (d *acpDialect) silent(string) bool { return false }

func (d *acpDialect) prompts(method string) bool { return method == "session/prompt" }

// request implements dialect.
func (d *acpDialect) request(m jsonrpc.Message) ([]adapters.Command, bool) {
	switch m.Method {
	case "initialize":
		return nil, true
	case "session/new", "session/load", "session/resume", "session/fork":
		if d.opened {
			return nil, false // a second session in one process
		}
		d.opened = true
		return nil, true
	}
	if id := m.Params.Get("sessionId"); id.Given() {
		if d.session == "" {
			d.session = id.Text()
		}
		if id.Text() != d.session {
			return nil, false
		}
	}
	switch m.Method {
	case "session/prompt":
		return []adapters.Command{d.prompt(m.Params.Get("prompt"))}, false
	case "session/set_mode":
		return []adapters.Command{adapters.Configure{Mode: d.mode(m.Params.Get("modeId").Text())}}, false
	case "session/set_model":
		return []adapters.Command{adapters.Configure{Model: m.Params.Get("modelId").Text()}}, false
	case "session/set_config_option":
		return d.option(m.Params), false
	case "authenticate", "logout":
		return nil, false
	default:
		params := m.Params.Clean()
		return []adapters.Command{adapters.Op{Name: strings.TrimPrefix(m.Method, "session/"), Params: params}}, false
	}
}

func (d *acpDialect) mode(id string) contract.PermissionMode {
	if m, ok := d.modes[id]; ok {
		return m
	}
	return contract.PermissionMode(id)
}

func (d *acpDialect) option(p rawjson.Value) []adapters.Command {
	value := p.Get("value").Text()
	switch id := p.Get("configId").Text(); {
	case id == "mode" || strings.HasSuffix(id, "#mode"):
		return []adapters.Command{adapters.Configure{Mode: d.mode(value)}}
	case id == "model":
		return []adapters.Command{adapters.Configure{Model: value}}
	case slices.Contains([]string{"effort", "thought_level", "thinking", "reasoning"}, id):
		return []adapters.Command{adapters.Configure{ThinkingLevel: value}}
	}
	return nil
}

// prompt makes the Prompt that a Protocol turns into such content blocks.
func (d *acpDialect) prompt(blocks rawjson.Value) adapters.Prompt {
	var p adapters.Prompt
	for b := range blocks.Elements() {
		switch b.Get("type").Text() {
		case "text":
			if p.Text != "" {
				p.Text += "\n"
			}
			p.Text += b.Get("text").Text()
		case "image", "audio":
			p.Files = append(p.Files, adapters.Attachment{
				Name: b.Get("type").Text(), MIME: b.Get("mimeType").Text(), Data: []byte(b.Get("data").Text()),
			})
		case "resource_link":
			uri := b.Get("uri").Text()
			p.Files = append(p.Files, adapters.Attachment{
				Name: b.Get("name").Text(), MIME: b.Get("mimeType").Text(), Path: strings.TrimPrefix(uri, "file://"),
			})
		case "resource":
			r := b.Get("resource")
			p.Files = append(p.Files, adapters.Attachment{
				Name: r.Get("uri").Text(), MIME: r.Get("mimeType").Text(), Data: []byte(r.Get("text").Text()),
			})
		}
	}
	return p
}

// notification implements dialect.
func (d *acpDialect) notification(m jsonrpc.Message) []adapters.Command {
	if m.Method == "session/cancel" && (d.session == "" || m.Params.Get("sessionId").Text() == d.session) {
		return []adapters.Command{adapters.Abort{}}
	}
	return nil
}

func (d *acpDialect) asks(method string) bool {
	return method == "session/request_permission" || method == "elicitation/create"
}

// answer implements dialect.
func (d *acpDialect) answer(asked, got jsonrpc.Message) adapters.Answer {
	if got.Err != nil {
		return adapters.Answer{Decision: contract.RejectOnce, Cancelled: true}
	}
	if asked.Method == "elicitation/create" {
		switch got.Result.Get("action").Text() {
		case "accept":
			return adapters.Answer{Decision: contract.AllowOnce, Answers: got.Result.Get("content").Clean()}
		case "decline":
			return adapters.Answer{Decision: contract.RejectOnce}
		}
		return adapters.Answer{Decision: contract.RejectOnce, Cancelled: true}
	}
	outcome := got.Result.Get("outcome")
	if outcome.Get("outcome").Text() != "selected" {
		return adapters.Answer{Decision: contract.RejectOnce, Cancelled: true}
	}
	for o := range asked.Params.Get("options").Elements() {
		if o.Get("optionId").Text() == outcome.Get("optionId").Text() {
			return adapters.Answer{Decision: contract.Decision(strings.ReplaceAll(o.Get("kind").Text(), "_", "-"))}
		}
	}
	return adapters.Answer{Decision: contract.RejectOnce}
}

// effect implements dialect.
func (d *acpDialect) effect(_, got jsonrpc.Message) adapters.EffectDone {
	if got.Err != nil {
		return adapters.EffectDone{Err: &adapters.EffectError{
			NotFound: got.Err.Code == jsonrpc.NotFound, Message: got.Err.Message,
		}}
	}
	r := got.Result
	done := adapters.EffectDone{
		Content: r.Get("content").Text(), Terminal: r.Get("terminalId").Text(),
		Output: r.Get("output").Text(), Truncated: r.Get("truncated").True(),
	}
	exit := r
	if r.Get("output").Given() {
		exit = r.Get("exitStatus")
	}
	if code, ok := exit.Get("exitCode").Int(); ok {
		done.Exit = &adapters.TerminalExit{Code: int(code), Signal: exit.Get("signal").Text()}
	}
	return done
}

// plain implements dialect.
func (d *acpDialect) plain(method string) (string, bool) {
	switch method {
	case "initialize":
		return `{"protocolVersion":1,"agentCapabilities":{}}`, true
	case "session/new":
		return `{"sessionId":"recorded-without"}`, true
	case "session/set_mode", "session/set_model", "session/set_config_option", "session/close":
		return `{}`, true
	}
	return "", false
}
