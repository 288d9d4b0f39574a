package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/gosource"
)

const (
	// cuidPattern is the shape that contract.Validate wants of ids.
	cuidPattern = `^[a-z][0-9a-z]{1,31}$`
	// namePattern is the shape of a canonical tool name.
	namePattern = `^(mcp/[^\p{Z}\p{Cc}]*|[^\p{Z}\p{Cc}\p{Lu}_]+)$`
)

// events are the structs of the 14 types.
var events = [...]contract.Event{
	contract.Text{},
	contract.File{},
	contract.TurnStart{},
	contract.TurnEnd{},
	contract.ToolCallStart{},
	contract.ToolCallEnd{},
	contract.Service{},
	contract.SubagentStart{},
	contract.SubagentStop{},
	contract.SessionControlChanged{},
	contract.PermissionRequest{},
	contract.PermissionResponse{},
	contract.Abort{},
	contract.AgentConfigurationChanged{},
}

// envelopeSchema describes one envelope in a profile.
func envelopeSchema(src gosource.Source, p contract.Profile) *jsonschema.Schema {
	strict := p == contract.ProfileStrict
	r := &reflector{
		source: src, defs: map[string]*jsonschema.Schema{}, counts: true,
		open:   map[string]bool{"ErrorCode": true, "PermissionMode": !strict, "Fallback": true},
		refine: refine,
	}
	ev := &jsonschema.Schema{
		Type: "object", Required: []string{"t"}, Description: "The event, discriminated by t.",
		Properties: map[string]*jsonschema.Schema{"t": {Type: "string", MinLength: new(1)}},
	}
	if strict {
		ev.Properties["t"] = &jsonschema.Schema{Type: "string", Enum: src.Enums["EventType"]}
	}
	for _, e := range events {
		t := reflect.TypeOf(e)
		r.define(t)
		def := r.defs[t.Name()]
		def.Properties["t"] = constant(e.EventType())
		def.PropertyOrder = append([]string{"t"}, def.PropertyOrder...)
		def.Required = append([]string{"t"}, def.Required...)
		ev.AllOf = append(ev.AllOf, when(member("t", constant(e.EventType())), r.ref(t.Name())))
	}
	root := envelopeRoot(src, ev)
	root.Title += ", " + string(p) + " profile"
	if strict {
		restrict(r.defs)
		dropUnused(root, r.defs)
		delete(root.Properties, "origin")
		root.AdditionalProperties = never()
	}
	root.Defs = r.defs
	return root
}

func envelopeRoot(src gosource.Source, ev *jsonschema.Schema) *jsonschema.Schema {
	id := func(field string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: cuidPattern, Description: src.Docs["Envelope."+field]}
	}
	return &jsonschema.Schema{
		Title:       "Session protocol v2 envelope",
		Description: src.Docs["Envelope"],
		Type:        "object",
		Required:    []string{"id", "time", "role", "ev"},
		Properties: map[string]*jsonschema.Schema{
			"id":       id("ID"),
			"time":     {Type: "integer", Minimum: new(1.0), Maximum: new(253402300799999.0), Description: src.Docs["Envelope.Time"]},
			"role":     {Type: "string", Enum: src.Enums["Role"], Description: src.Docs["Envelope.Role"]},
			"turn":     id("Turn"),
			"subagent": id("Subagent"),
			"origin":   {Type: "string", Description: src.Docs["Envelope.Origin"]},
			"ev":       ev,
		},
		PropertyOrder: []string{"id", "time", "role", "turn", "subagent", "origin", "ev"},
		AllOf:         placement(),
	}
}

// refine adds what types and constants do not tell.
func refine(owner string, f reflect.StructField, s *jsonschema.Schema) {
	switch name := owner + "." + f.Name; name {
	case "ToolCallStart.Args", "PermissionRequest.Args", "PermissionResponse.Args", "PermissionResponse.Answers":
		s.Type = "object"
	case "ToolCallStart.Name", "PermissionRequest.ToolName":
		s.Pattern = namePattern
	case "SubagentStart.AgentID", "SubagentStop.AgentID":
		s.Pattern = cuidPattern
	case "FileRef.Ref", "File.Ref", "File.Name", "ToolCallStart.Call", "ToolCallStart.Title", "ToolCallStart.Description",
		"ToolCallEnd.Call", "FileDiff.Path", "PermissionRequest.Call", "PermissionRequest.Title",
		"PermissionRequest.Description", "PermissionOption.Label", "QuestionField.ID", "QuestionOption.Label",
		"PermissionResponse.Call":
		s.MinLength = new(1)
	case "Question.Questions":
		s.MinItems = new(1)
	}
}

// restrict cuts the definitions down to what contract.Strict leaves of an event
// that has everything, and requires what it leaves of one that has nothing.
func restrict(defs map[string]*jsonschema.Schema) {
	for _, e := range events {
		t := reflect.TypeOf(e)
		cut(defs, t, strictMembers(full(t)), strictMembers(empty(t)))
	}
}

// cut restricts the definition of t and of the structs in it to the members of
// all, and requires those of least.
func cut(defs map[string]*jsonschema.Schema, t reflect.Type, all, least map[string]any) {
	def := defs[t.Name()]
	def.AdditionalProperties = never()
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		if _, ok := all[name]; !ok {
			delete(def.Properties, name)
			def.PropertyOrder = slices.DeleteFunc(def.PropertyOrder, func(n string) bool { return n == name })
			continue
		}
		if _, ok := least[name]; ok && !slices.Contains(def.Required, name) && f.Type.Elem().Kind() != reflect.Struct {
			def.Required = append(def.Required, name)
		}
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			inner, _ := all[name].(map[string]any)
			innerLeast, _ := least[name].(map[string]any)
			cut(defs, f.Type.Elem(), inner, innerLeast)
		}
	}
}

// strictMembers are the members of an event in the strict profile.
func strictMembers(ev contract.Event) map[string]any {
	s, ok := contract.Strict(contract.Envelope{Event: ev})
	if !ok {
		panic(fmt.Sprintf("gen: %T is not in the draft", ev))
	}
	b, err := contract.AppendEvent(nil, s.Event)
	if err != nil {
		panic(fmt.Sprintf("gen: encoding %T: %v", ev, err))
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		panic(fmt.Sprintf("gen: decoding %T: %v", ev, err))
	}
	return m
}

// full is an event with a value in every member, empty one with pointers to
// structs alone.
func full(t reflect.Type) contract.Event  { return build(t, true) }
func empty(t reflect.Type) contract.Event { return build(t, false) }

func build(t reflect.Type, all bool) contract.Event {
	v := reflect.New(t).Elem()
	set(v, all)
	return v.Interface().(contract.Event)
}

func set(v reflect.Value, all bool) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch kind := f.Kind(); {
		case name == "Extra":
		case kind == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct:
			f.Set(reflect.New(f.Type().Elem()))
			set(f.Elem(), all)
		case !all:
		case kind == reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case f.Type() == reflect.TypeFor[contract.PermissionMode]():
			f.SetString(string(contract.ModePlan))
		case kind == reflect.String:
			f.SetString("x")
		case kind == reflect.Bool:
			f.SetBool(true)
		case kind == reflect.Int, kind == reflect.Int64:
			f.SetInt(1)
		case kind == reflect.Slice && f.Type().Elem().Kind() == reflect.Uint8:
			f.SetBytes([]byte("{}"))
		case kind == reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		default:
			panic(fmt.Sprintf("gen: no value for %s", name))
		}
	}
}

// dropUnused removes the definitions that nothing refers to any more.
func dropUnused(root *jsonschema.Schema, defs map[string]*jsonschema.Schema) {
	used := map[string]bool{}
	var visit func(*jsonschema.Schema)
	visit = func(s *jsonschema.Schema) {
		if s == nil {
			return
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok && !used[name] {
			used[name] = true
			visit(defs[name])
		}
		for _, p := range s.Properties {
			visit(p)
		}
		for _, a := range s.AllOf {
			visit(a.Then)
		}
		visit(s.Items)
	}
	visit(root.Properties["ev"])
	for name := range defs {
		if !used[name] {
			delete(defs, name)
		}
	}
}
