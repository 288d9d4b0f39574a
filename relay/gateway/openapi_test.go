package gateway_test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// The document, the table of routes and what is served are the same.
func TestOpenAPIRoutes(t *testing.T) {
	b := newBench(t, gateway.Options{})
	doc := openAPI(t, b)
	paths := doc["paths"].(map[string]any)
	n := 0
	for _, r := range gateway.Routes() {
		item, _ := paths[r.Path].(map[string]any)
		if item[strings.ToLower(r.Method)] == nil {
			t.Errorf("%s %s is not in the document", r.Method, r.Path)
		}
		path := strings.NewReplacer("{session}", "none", "{call}", "c", "{name}", "rewind", "{ref}", "f1").Replace(r.Path)
		body := ""
		if r.Body != nil || r.Raw {
			body = "{}"
		}
		resp, answer := b.do(r.Method, path, "admin-token", body)
		if strings.HasPrefix(answer, `{"code":"unknown_method"`) || resp.StatusCode >= 500 {
			t.Errorf("%s %s = %s %s", r.Method, path, resp.Status, answer)
		}
	}
	for _, item := range paths {
		n += len(item.(map[string]any))
	}
	if n != len(gateway.Routes()) {
		t.Errorf("the document has %d operations, the table %d", n, len(gateway.Routes()))
	}
	// All commands and questions of viewers can be had over HTTP, or say why not.
	have := map[string]bool{
		wire.ViewerHello: true, wire.SessionUnsubscribe: true, // a connection's
		wire.SessionsSubscribe: true, // GET /v1/sessions as a stream
	}
	for _, r := range gateway.Routes() {
		have[r.Wire] = true
	}
	for _, m := range wire.Methods() {
		if m.From == wire.PartyViewer && !have[m.Name] {
			t.Errorf("%s has no route", m.Name)
		}
	}
}

func openAPI(t *testing.T, b *bench) map[string]any {
	t.Helper()
	resp, body := b.do("GET", "/openapi.json", "", "")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	return doc.(map[string]any)
}

// Real answers are what the document says.
func TestOpenAPIAnswers(t *testing.T) {
	b := newBench(t, gateway.Options{})
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", openAPI(t, b)); err != nil {
		t.Fatal(err)
	}
	check := func(name, body string) {
		t.Helper()
		s, err := c.Compile("openapi.json#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%s is no %s: %v", body, name, err)
		}
	}
	const path = "/v1/sessions/abcdefgh"
	_, body := b.do("POST", "/v1/sessions", "control-token", `{"agent":"echo","dir":"/w","id":"abcdefgh","title":"T","prompt":{"text":"one"}}`)
	check("wire.SessionResult", body)
	b.host.Ask("abcdefgh", "c1")
	b.host.AppendLines("abcdefgh", []byte("damaged"))
	b.host.Say("abcdefgh", "bye")
	for p, name := range map[string]string{
		"/v1/hosts": "wire.HostsResult", "/v1/sessions": "wire.SessionsResult", path: "wire.SessionResult", path + "/asks": "wire.AsksResult",
		path + "/envelopes": "wire.EnvelopesPage", path + "/events": "wire.EventsPage", path + "/transcript": "wire.TranscriptResult",
		"/v1/sessions/none": "wire.Error",
	} {
		_, body := b.do("GET", p, "view-token", "")
		check(name, body)
	}
	for p, name := range map[string]string{path + "/messages": "wire.SentResult", path + "/control": "wire.SessionResult", "/v1/files": "wire.Upload"} {
		_, body := b.do("POST", p, "control-token", `{"text":"more","name":"f","size":3}`)
		check(name, body)
	}
	// Every definition can be compiled: no reference leads nowhere.
	for name := range openAPI(t, b)["components"].(map[string]any)["schemas"].(map[string]any) {
		if _, err := c.Compile("openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
