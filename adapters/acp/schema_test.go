package acp

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agenthost/agenthost/internal/jsonrpc"
)

// oracle checks what we write against the published JSON Schema of the protocol:
// requests and notifications by their method, answers by that of the request.
type oracle struct {
	requests, answers map[string]*jsonschema.Schema
}

var acpSchema = sync.OnceValues(func() (oracle, error) {
	data, err := os.ReadFile(filepath.Join("testdata", "schema", "acp-v1-unstable.json"))
	if err != nil {
		return oracle{}, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return oracle{}, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("acp.json", doc); err != nil {
		return oracle{}, err
	}
	o := oracle{map[string]*jsonschema.Schema{}, map[string]*jsonschema.Schema{}}
	for name, def := range doc.(map[string]any)["$defs"].(map[string]any) {
		d, _ := def.(map[string]any)
		method, _ := d["x-method"].(string)
		side, _ := d["x-side"].(string)
		if method == "" {
			continue
		}
		s, err := c.Compile("acp.json#/$defs/" + name)
		if err != nil {
			return oracle{}, err
		}
		response := len(name) > 8 && name[len(name)-8:] == "Response"
		switch {
		case side == "client" && response:
			o.answers[method] = s
		case side != "client" && !response:
			o.requests[method] = s
		}
	}
	return o, nil
})

// checkWritten holds a message of ours against the schema. Methods that are not in
// it are extensions, or older than it.
func checkWritten(t *testing.T, m jsonrpc.Message, asked map[string]string) {
	t.Helper()
	o, err := acpSchema()
	if err != nil {
		t.Fatal(err)
	}
	s, body := o.requests[m.Method], m.Params
	if m.Kind == jsonrpc.Response {
		if m.Err != nil {
			return
		}
		s, body = o.answers[asked[string(m.ID)]], m.Result
	}
	if s == nil {
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s%s %s breaks the protocol's schema: %v", m.Method, asked[string(m.ID)], body, err)
	}
}

func TestSchemaKnowsMethods(t *testing.T) {
	o, err := acpSchema()
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"initialize", "session/new", "session/load", "session/resume", "session/fork", "session/list", "session/prompt", "session/cancel", "$/cancel_request"} {
		if o.requests[method] == nil {
			t.Errorf("the schema lacks %s", method)
		}
	}
	for _, method := range []string{"session/request_permission", "elicitation/create", "fs/read_text_file", "terminal/create"} {
		if o.answers[method] == nil {
			t.Errorf("the schema lacks the answer to %s", method)
		}
	}
}
