package main

import (
	"encoding/json/jsontext"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agenthost/agenthost/internal/gosource"
)

// reflector makes schemas of Go types. Named structs become $defs.
type reflector struct {
	source gosource.Source
	defs   map[string]*jsonschema.Schema
	// counts says that integers are counts: never negative.
	counts bool
	// open are the string types whose constants are not all there is.
	open map[string]bool
	// refine completes the schema of a field; owner is its struct's name.
	refine func(owner string, f reflect.StructField, s *jsonschema.Schema)
}

func (r *reflector) ref(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// of is the schema of a value of type t.
func (r *reflector) of(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[jsontext.Value]():
		return &jsonschema.Schema{} // any JSON
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return r.of(t.Elem())
	case reflect.String:
		s := &jsonschema.Schema{Type: "string"}
		if values := r.source.Enums[t.Name()]; len(values) > 0 && !r.open[t.Name()] {
			s.Enum = values
		}
		return s
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		s := &jsonschema.Schema{Type: "integer"}
		if r.counts {
			s.Minimum = new(0.0)
		}
		return s
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number", Minimum: new(0.0)}
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: r.of(t.Elem())}
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: r.of(t.Elem())}
	case reflect.Struct:
		r.define(t)
		return r.ref(t.Name())
	}
	panic(fmt.Sprintf("gen: no schema for %s", t)) // a new kind of field: a programming error
}

// define makes the $def of a struct.
func (r *reflector) define(t reflect.Type) {
	if r.defs[t.Name()] != nil {
		return
	}
	s := &jsonschema.Schema{Type: "object", Description: r.source.Docs[t.Name()], Properties: map[string]*jsonschema.Schema{}}
	r.defs[t.Name()] = s
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // Extra: additional properties
		}
		p := r.of(f.Type)
		p.Description = r.source.Docs[t.Name()+"."+f.Name]
		if r.refine != nil {
			r.refine(t.Name(), f, p)
		}
		s.Properties[name] = p
		s.PropertyOrder = append(s.PropertyOrder, name)
		if options == "" {
			s.Required = append(s.Required, name)
		}
	}
}
