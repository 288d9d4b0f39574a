package main

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
	"github.com/agenthost/agenthost/relay/wire/wireschema"
)

type (
	object = wireschema.Object
	member = wireschema.Member
)

// document is the OpenAPI document of the routes, made from the project at root.
func document(root string) ([]byte, error) {
	schema, err := wireschema.New(root, "#/components/schemas/")
	if err != nil {
		return nil, err
	}
	paths := object{}
	for _, r := range gateway.Routes() {
		item, _ := paths.Get(r.Path).(object)
		paths = paths.With(r.Path, item.With(strings.ToLower(r.Method), operation(schema, r)))
	}
	return wireschema.Encode(object{
		{Name: "openapi", Value: "3.1.0"},
		{Name: "info", Value: object{
			{Name: "title", Value: "agenthost"},
			{Name: "version", Value: strings.TrimPrefix(wire.Protocol, "agenthost.")},
			{Name: "description", Value: "Coding agents as sessions: the HTTP face of a daemon or a relay. The WebSocket at /v1/ws has the same and more; see docs/relay.md. Errors are a wire.Error with the status of its code."},
		}},
		{Name: "jsonSchemaDialect", Value: "https://json-schema.org/draft/2020-12/schema"},
		{Name: "security", Value: []any{object{{Name: "token", Value: []any{}}}}},
		{Name: "paths", Value: paths},
		{Name: "components", Value: object{
			{Name: "securitySchemes", Value: object{{Name: "token", Value: object{
				{Name: "type", Value: "http"},
				{Name: "scheme", Value: "bearer"},
				{Name: "description", Value: "Authorization: Bearer TOKEN. Tokens in URLs are refused."},
			}}}},
			{Name: "schemas", Value: schema.Definitions()},
		}},
	})
}

var pathName = regexp.MustCompile(`\{(\w+)\}`)

// about says what the names in paths are.
var about = map[string]string{
	"session": "a session's id, its beginning of at least four characters, the agent's own id, or last",
	"call":    "the tool call that asks",
	"name":    "the operation: rewind, fork, …",
	"ref":     "a file's ref",
}

func operation(schema *wireschema.Schema, r gateway.Route) object {
	id := r.Wire
	if id == "" || r.Stream || r.Wire == wire.SessionSubscribe {
		id = strings.ToLower(r.Method) + strings.NewReplacer("/", ".", "{", "", "}", "").Replace(r.Path)
	}
	op := object{{Name: "operationId", Value: id}, {Name: "summary", Value: r.Summary}}
	if m, ok := wire.MethodOf(r.Wire); ok {
		op = append(op, member{Name: "description", Value: "Method " + r.Wire + "; needs the scope " + string(m.Scope) + "."})
	}
	if params := parameters(r); len(params) > 0 {
		op = append(op, member{Name: "parameters", Value: params})
	}
	switch {
	case r.Raw:
		op = append(op, member{Name: "requestBody", Value: content("application/octet-stream", object{})})
	case r.Body != nil:
		op = append(op, member{Name: "requestBody", Value: content("application/json", body(schema, r))})
	}
	if r.Path == "/openapi.json" {
		op = append(op, member{Name: "security", Value: []any{}})
	}
	return append(op, member{Name: "responses", Value: responses(schema, r)})
}

// body is the schema of a body. What the path says need not be in it.
func body(schema *wireschema.Schema, r gateway.Route) object {
	ref := schema.Of(r.Body)
	def, _ := schema.Definitions().Get(strings.TrimPrefix(ref.Text("$ref"), "#/components/schemas/")).(object)
	names := pathName.FindAllStringSubmatch(r.Path, -1)
	required, _ := def.Get("required").([]any)
	properties, _ := def.Get("properties").(object)
	var keep []any
	for _, name := range required {
		if !inPath(names, name) {
			keep = append(keep, name)
		}
	}
	if len(keep) == len(required) {
		return ref
	}
	var rest object
	for _, p := range properties {
		if !inPath(names, p.Name) {
			rest = append(rest, p)
		}
	}
	out := object{{Name: "type", Value: "object"}, {Name: "description", Value: def.Text("description")}, {Name: "properties", Value: rest}}
	if len(keep) > 0 {
		out = append(out, member{Name: "required", Value: keep})
	}
	return out
}

func inPath(names [][]string, name any) bool {
	for _, n := range names {
		if n[1] == name {
			return true
		}
	}
	return false
}

func parameters(r gateway.Route) []any {
	var out []any
	for _, m := range pathName.FindAllStringSubmatch(r.Path, -1) {
		out = append(out, parameter("path", m[1], "string", about[m[1]], true))
	}
	for _, q := range r.Query {
		out = append(out, parameter("query", q.Name, q.Type, q.About, false))
	}
	if r.Stream {
		out = append(out, parameter("header", "Last-Event-ID", "string", "of an event stream: the id of the last event that was seen, in place of from", false))
	}
	if r.Raw {
		out = append(out, parameter("header", "Upload-Offset", "integer", "how much of the file is there already", true))
	}
	return out
}

func parameter(in, name, kind, about string, required bool) object {
	return object{
		{Name: "name", Value: name},
		{Name: "in", Value: in},
		{Name: "required", Value: required},
		{Name: "description", Value: about},
		{Name: "schema", Value: object{{Name: "type", Value: kind}}},
	}
}

func content(kind string, schema object) object {
	return object{{Name: "required", Value: true}, {Name: "content", Value: object{{Name: kind, Value: object{{Name: "schema", Value: schema}}}}}}
}

func responses(schema *wireschema.Schema, r gateway.Route) object {
	good := object{{Name: "description", Value: r.Summary}}
	kinds := object{}
	if r.Result != nil && r.Status != http.StatusNoContent {
		kinds = append(kinds, member{Name: "application/json", Value: object{{Name: "schema", Value: schema.Of(r.Result)}}})
	}
	if r.Stream {
		kinds = append(kinds, member{Name: "text/event-stream", Value: object{}})
	}
	if r.Stream && r.Wire == wire.SessionSubscribe {
		kinds = append(kinds, member{Name: "application/x-ndjson", Value: object{}})
	}
	if r.Text {
		kinds = append(kinds, member{Name: "text/plain", Value: object{}})
	}
	switch {
	case r.Path == "/openapi.json":
		kinds = object{{Name: "application/json", Value: object{}}}
	case r.Path == "/v1/files/{ref}" && r.Method == http.MethodGet:
		kinds = object{{Name: "application/octet-stream", Value: object{}}}
	}
	if len(kinds) > 0 {
		good = append(good, member{Name: "content", Value: kinds})
	}
	failed := object{
		{Name: "description", Value: "An error, with the status of its code"},
		{Name: "content", Value: object{{Name: "application/json", Value: object{{Name: "schema", Value: schema.Of(wire.Error{})}}}}},
	}
	return object{{Name: strconv.Itoa(r.Status), Value: good}, {Name: "default", Value: failed}}
}
