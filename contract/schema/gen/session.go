package main

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/gosource"
)

// sessionSchema describes an Event; its $defs hold every struct of the contract.
func sessionSchema(src gosource.Source) *jsonschema.Schema {
	r := &reflector{source: src, defs: map[string]*jsonschema.Schema{}}
	for _, t := range []reflect.Type{
		reflect.TypeFor[session.Event](), reflect.TypeFor[session.SendOpts](), reflect.TypeFor[session.ModelInfo](),
	} {
		r.define(t)
	}
	r.defs["Capability"] = r.of(reflect.TypeFor[session.Capability]())
	r.defs["Capability"].Description = src.Docs["Capability"]
	return &jsonschema.Schema{
		Title:       "Session contract: event",
		Description: src.Docs["Event"],
		Ref:         "#/$defs/Event",
		Defs:        r.defs,
	}
}
