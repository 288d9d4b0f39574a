package wireschema

import (
	"encoding/json/jsontext"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/contract/schema"
	"github.com/agenthost/agenthost/internal/gosource"
	"github.com/agenthost/agenthost/relay/wire"
)

// Schema makes schemas of the protocol's types.
type Schema struct {
	prefix  string // of references
	sources map[string]gosource.Source
	defs    Object
}

// open are string types whose constants are not all there is: a newer peer has more,
// or an agent has its own.
var open = []string{"contract.PermissionMode", "contract.ErrorCode"}

// New reads the source below root, the project's directory. Prefix is where
// definitions are: "#/components/schemas/" or "#/$defs/".
func New(root, prefix string) (*Schema, error) {
	s := &Schema{prefix: prefix, sources: map[string]gosource.Source{}}
	for _, dir := range []string{"relay/wire", "contract", "contract/session"} {
		src, err := gosource.Read(filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil {
			return nil, err
		}
		s.sources[path.Base(dir)] = src
	}
	if err := s.contract(); err != nil {
		return nil, err
	}
	for _, shape := range slices.Concat(wire.Shapes(), wire.Pushes()) {
		for _, v := range []any{shape.Params, shape.Result} {
			if v != nil {
				s.Of(v)
			}
		}
	}
	for _, v := range []any{
		wire.Error{},
		wire.Command{},
		wire.UploadParams{},
		wire.Upload{},
		wire.EnvelopesPage{},
		wire.EventsPage{},
		wire.TranscriptResult{},
		wire.Resolved{},
		wire.RetryAfter{},
		wire.HolderInfo{},
	} {
		s.Of(v)
	}
	return s, nil
}

// Definitions are the schemas by their names, sorted.
func (s *Schema) Definitions() Object {
	out := slices.Clone(s.defs)
	slices.SortStableFunc(out, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Of is the schema of a value's type: a reference for a struct.
func (s *Schema) Of(v any) Object { return s.of(reflect.TypeOf(v)) }

// Ref is a reference to a definition.
func (s *Schema) Ref(name string) Object { return Object{{"$ref", s.prefix + name}} }

// contract takes over the schemas of the contract, with a name space for each.
func (s *Schema) contract() error {
	for _, doc := range []struct{ space, root, text string }{
		{"contract.", "contract.Envelope", schema.EnvelopeExtended}, {"session.", "", schema.Session},
	} {
		v, err := Decode([]byte(doc.text))
		if err != nil {
			return err
		}
		whole, _ := v.(Object)
		defs, _ := whole.Get("$defs").(Object)
		for _, def := range defs {
			s.defs = append(s.defs, Member{doc.space + def.Name, s.moved(def.Value, doc.space)})
		}
		if doc.root == "" {
			continue
		}
		root := slices.DeleteFunc(slices.Clone(whole), func(m Member) bool { return strings.HasPrefix(m.Name, "$") })
		s.defs = append(s.defs, Member{doc.root, s.moved(root, doc.space)})
	}
	transcript := Object{
		{"type", "object"},
		{"description", "A session with what was said in it. Children are the sub-agents that it started itself."},
		{"properties", Object{
			{"session", s.Ref("session.Session")},
			{"messages", list(s.Ref("session.Message"))},
			{"pending", list(s.Ref("session.InputRequest"))},
			{"children", list(s.Ref("session.Transcript"))},
		}},
		{"required", []any{"session"}},
	}
	s.defs = append(s.defs, Member{"session.Transcript", transcript})
	return nil
}

func list(items any) Object { return Object{{"type", "array"}, {"items", items}} }

// moved is v with its references to where the definitions are now.
func (s *Schema) moved(v any, space string) any {
	switch v := v.(type) {
	case Object:
		out := make(Object, 0, len(v))
		for _, m := range v {
			if ref, ok := m.Value.(string); ok && m.Name == "$ref" {
				m.Value = s.prefix + space + strings.TrimPrefix(ref, "#/$defs/")
			} else {
				m.Value = s.moved(m.Value, space)
			}
			out = append(out, m)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.moved(v[i], space)
		}
		return out
	}
	return v
}

// of is the schema of a type.
func (s *Schema) of(t reflect.Type) Object {
	if t == reflect.TypeFor[jsontext.Value]() {
		return Object{} // any JSON
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		out := Object{{"type", "string"}}
		name := path.Base(t.PkgPath()) + "." + t.Name()
		if values := s.sources[path.Base(t.PkgPath())].Enums[t.Name()]; len(values) > 0 && !slices.Contains(open, name) {
			out = out.With("enum", values)
		}
		return out
	case reflect.Bool:
		return Object{{"type", "boolean"}}
	case reflect.Int, reflect.Int64:
		return Object{{"type", "integer"}}
	case reflect.Float64:
		return Object{{"type", "number"}}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return Object{{"type", "string"}, {"contentEncoding", "base64"}}
		}
		return list(s.of(t.Elem()))
	case reflect.Map:
		return Object{{"type", "object"}, {"additionalProperties", s.of(t.Elem())}}
	case reflect.Struct:
		if t.Name() == "" {
			return Object{{"type", "object"}}
		}
		return s.define(t)
	}
	panic(fmt.Sprintf("wireschema: no schema for %s", t)) // a new kind of field: a programming error
}

// define makes the definition of a struct and refers to it.
func (s *Schema) define(t reflect.Type) Object {
	space := path.Base(t.PkgPath())
	name := space + "." + t.Name()
	if s.defs.Get(name) != nil {
		return s.Ref(name)
	}
	at := len(s.defs)
	s.defs = append(s.defs, Member{name, Object{}}) // it may refer to itself
	docs := s.sources[space].Docs
	properties, required := Object{}, []any{}
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" || tag == "-" {
			continue
		}
		p := s.field(name+"."+f.Name, f.Type)
		if doc := docs[t.Name()+"."+f.Name]; doc != "" {
			p = p.With("description", doc)
		}
		properties = append(properties, Member{tag, p})
		if options == "" {
			required = append(required, tag)
		}
	}
	out := Object{{"type", "object"}}
	if doc := docs[t.Name()]; doc != "" {
		out = append(out, Member{"description", doc})
	}
	out = append(out, Member{"properties", properties})
	if len(required) > 0 {
		out = append(out, Member{"required", required})
	}
	s.defs[at].Value = out
	return s.Ref(name)
}

// field says of raw JSON what the Go type does not.
func (s *Schema) field(name string, t reflect.Type) Object {
	switch name {
	case "wire.AppendParams.Envelopes":
		return list(s.Ref("contract.Envelope"))
	case "wire.EnvelopesPush.Envelopes", "wire.EnvelopesPage.Envelopes":
		return list(Object{{"anyOf", []any{s.Ref("contract.Envelope"), Object{{"type", "null"}}}}})
	case "wire.EventsPush.Events", "wire.EventsPage.Events", "wire.LivePush.Events":
		return list(s.Ref("session.Event"))
	case "wire.SubscribeResult.Transcript", "wire.TranscriptResult.Transcript":
		return s.Ref("session.Transcript")
	case "wire.Ask.Request":
		return s.Ref("contract.PermissionRequest")
	case "wire.Resolved.By":
		return s.Ref("contract.DecisionBy")
	case "wire.DecideParams.Args", "wire.DecideParams.Answers":
		return Object{{"type", "object"}}
	}
	return s.of(t)
}
