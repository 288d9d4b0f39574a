package scriptmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"strconv"
	"strings"
)

// A schema is a JSON schema as far as agents use it, in JSON Schema's or in
// Gemini's spelling (types in capitals).
type schema struct {
	Type       typeName          `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Enum       []jsontext.Value  `json:"enum"`
	Const      jsontext.Value    `json:"const"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
	Minimum    *float64          `json:"minimum"`
	MinItems   jsontext.Value    `json:"minItems"` // Gemini writes it as a string
}

// UnmarshalJSON implements json.Unmarshaler: a schema that is no object (true
// stands for anything) is the empty schema.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	if jsontext.Value(data).Kind() != '{' {
		*s = schema{}
		return nil
	}
	return lenient(data, (*plain)(s))
}

// least is the number of items that an array needs at least.
func (s schema) least() int {
	n, err := strconv.Atoi(strings.Trim(string(s.MinItems), `"`))
	if err != nil {
		return 0
	}
	return min(n, 8)
}

// A typeName is the first type of a schema that is not null, in lower case.
type typeName string

// UnmarshalJSON implements json.Unmarshaler for a name or a list of names.
func (t *typeName) UnmarshalJSON(data []byte) error {
	var names []string
	if jsontext.Value(data).Kind() == '[' {
		if err := lenient(data, &names); err != nil {
			return err
		}
	} else {
		var one string
		if err := lenient(data, &one); err != nil {
			return err
		}
		names = []string{one}
	}
	for _, n := range names {
		if n = strings.ToLower(n); n != "null" {
			*t = typeName(n)
			break
		}
	}
	return nil
}

// maxDepth bounds example on schemas that nest without end.
const maxDepth = 16

// example returns the smallest value that fits s: required members only, the
// first choice of an enumeration, the least number. References are not followed.
func (s schema) example(depth int) any {
	switch {
	case len(s.Const) > 0:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case depth >= maxDepth:
		return nil
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].example(depth + 1)
	case len(s.OneOf) > 0:
		return s.OneOf[0].example(depth + 1)
	}
	switch s.Type {
	case "object", "":
		obj := map[string]any{}
		for _, name := range s.Required {
			obj[name] = s.Properties[name].example(depth + 1)
		}
		return obj
	case "array":
		list := []any{}
		for range s.least() {
			if s.Items != nil {
				list = append(list, s.Items.example(depth+1))
			}
		}
		return list
	case "number", "integer":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 0
	case "boolean":
		return false
	case "null":
		return nil
	}
	return "scripted"
}

// has returns the first of names that is a property of s, "" for none.
func (s schema) has(names ...string) string {
	for _, n := range names {
		if _, ok := s.Properties[n]; ok {
			return n
		}
	}
	return ""
}

// complete adds examples for the required members that args lacks.
func (s schema) complete(args map[string]any) {
	for _, name := range s.Required {
		if _, ok := args[name]; !ok {
			args[name] = s.Properties[name].example(0)
		}
	}
}

// parseSchema reads a schema; one that cannot be read accepts any object.
func parseSchema(data jsontext.Value) schema {
	var s schema
	if len(data) == 0 || lenient(data, &s) != nil {
		return schema{Type: "object"}
	}
	return s
}

// encode marshals v with sorted members, broken UTF-8 as U+FFFD. v is made of
// maps, lists, strings and numbers of this package, which cannot fail.
func encode(v any) jsontext.Value {
	data, _ := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	return data
}

// sortedNames are the names of the tools, for messages.
func sortedNames(tools []tool) []string {
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}
