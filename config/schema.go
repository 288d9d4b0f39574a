package config

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"
)

// Schema is the JSON Schema (draft 2020-12) of the file, for editors.
func Schema() []byte {
	properties := map[string]any{}
	for _, s := range sections() {
		properties[s.name] = object(s.doc, map[string]any{})
	}
	for _, k := range keys() {
		section, name, nested := strings.Cut(k.path, ".")
		if !nested {
			properties[section] = k.schema()
			continue
		}
		members(properties[section])[name] = k.schema()
	}
	members(properties["permissions"])["rules"] = map[string]any{
		"type": "array", "items": ruleSchema(), "description": "The rules of the policy. The strictest kind that matches wins: deny, ask, allow.",
	}
	agents := object("Settings by agent, and agents of your own.", map[string]any{"custom": map[string]any{
		"type": "array", "items": customSchema(), "description": "Agents that speak ACP and are not known by themselves.",
	}})
	agents["additionalProperties"] = agentSchema()
	properties["agents"] = agents
	prices := object("What models cost, in USD per million tokens. A name that ends in * stands for all that begin so.", map[string]any{})
	prices["additionalProperties"] = priceSchema()
	properties["prices"] = prices

	root := object("The configuration of agenthost.", properties)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "agenthost"
	out, err := json.Marshal(root, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		panic("config: encoding the schema: " + err.Error()) // it is made of texts and maps only
	}
	return append(out, '\n')
}

// object describes a mapping that may have no value.
func object(doc string, properties map[string]any) map[string]any {
	return map[string]any{
		"type": []string{"object", "null"}, "description": doc, "properties": properties, "additionalProperties": false,
	}
}

// members are the properties of an object.
func members(o any) map[string]any {
	m, _ := o.(map[string]any)
	p, _ := m["properties"].(map[string]any)
	return p
}

// schema describes a key. A value may be missing.
func (k key) schema() map[string]any {
	s := map[string]any{"description": k.doc}
	if k.def != "" {
		s["default"] = k.def
	}
	switch k.kind {
	case word:
		values := []any{nil}
		for _, v := range k.values {
			values = append(values, v)
		}
		s["enum"] = values
	case boolean:
		s["type"], s["default"] = []string{"boolean", "null"}, k.def == "true"
	case count:
		s["type"], s["minimum"] = []string{"integer", "null"}, k.least
	case size:
		s["type"], s["pattern"] = []string{"integer", "string", "null"}, `^\d+ ?([KMGT]i?B|B)?$`
	case duration:
		s["type"], s["pattern"] = []string{"integer", "string", "null"}, `^(0|\d+d|(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+)$`
	default:
		s["type"] = []string{"string", "null"}
	}
	return s
}

func textSchema(doc string) map[string]any {
	return map[string]any{"type": []string{"string", "number", "boolean", "null"}, "description": doc}
}

func listSchema(doc string) map[string]any {
	return map[string]any{"type": []string{"array", "string", "null"}, "items": map[string]any{"type": []string{"string", "number"}}, "description": doc}
}

func mapSchema(doc string) map[string]any {
	return map[string]any{"type": []string{"object", "null"}, "additionalProperties": textSchema(""), "description": doc}
}

func flagSchema(doc string) map[string]any {
	return map[string]any{"type": []string{"boolean", "null"}, "description": doc}
}

func wordSchema(doc string, words ...string) map[string]any {
	return map[string]any{"enum": append([]string{}, words...), "description": doc}
}

func envSchema() map[string]any {
	return map[string]any{
		"type": []string{"object", "array", "null"}, "additionalProperties": textSchema(""), "items": map[string]any{"type": "string", "pattern": "="},
		"description": "Variables of the agent: a mapping, or a list of NAME=VALUE. Names keep their case.",
	}
}

func ruleSchema() map[string]any {
	r := object("One of allow, ask and deny, with filters.", map[string]any{
		"allow": textSchema("tool(pattern, …) that may run"), "ask": textSchema("tool(pattern, …) that a person decides"), "deny": textSchema("tool(pattern, …) that never runs"),
		"agents": listSchema("only for these agents"), "cwd": textSchema("only for sessions in a directory that matches"), "subagent": flagSchema("only for sub-agents (true) or main agents (false)"),
	})
	r["type"] = "object"
	r["oneOf"] = []any{
		map[string]any{"required": []string{"allow"}}, map[string]any{"required": []string{"ask"}}, map[string]any{"required": []string{"deny"}},
	}
	return r
}

func agentSchema() map[string]any {
	return object("Settings of one agent.", map[string]any{
		"command": listSchema("replaces the agent's own command"), "args": listSchema("further arguments"), "env": envSchema(),
		"passEnv": listSchema("globs of the host's variables that the agent gets too"), "model": textSchema("the model to begin with"),
		"mode":     wordSchema("the permission mode to begin with", "default", "acceptEdits", "plan", "bypassPermissions"),
		"thinking": textSchema("the thinking level to begin with"), "settings": mapSchema("the adapter's own settings"),
	})
}

func customSchema() map[string]any {
	c := object("An agent that speaks ACP.", map[string]any{
		"name": textSchema("what users type"), "title": textSchema("its name for people"), "command": listSchema("makes it speak ACP on standard input and output"),
		"install": textSchema("a command line that installs it"), "login": textSchema("a command line that logs in"), "versionArgs": listSchema("make the command print its version"),
		"env": envSchema(), "passEnv": listSchema("globs of the host's variables that it gets too"), "quirks": quirksSchema(),
	})
	c["type"], c["required"] = "object", []string{"name", "command"}
	return c
}

func quirksSchema() map[string]any {
	return object("Deviations from ACP.", map[string]any{
		"modes": mapSchema("permission mode: the agent's mode"), "startMode": textSchema("the agent's mode to switch to first"), "freeModes": listSchema("modes that act without asking"),
		"tools": mapSchema("native tool name: canonical name"), "nameFromTitle": flagSchema("the first title of a call is the tool's name"),
		"nameFromID": textSchema("what stands in a call's id before this text is the tool's name"), "titleIsCommand": flagSchema("the title of an execute call is the command line"),
		"readFile": flagSchema("offer fs/read_text_file"), "writeFile": flagSchema("offer fs/write_text_file"), "terminal": flagSchema("offer terminal/*"),
		"usage": wordSchema("what token counts count", "turn", "session", "last-request"), "steer": wordSchema("how it takes input in a turn", "advertised", "prompt", "drain", "never"),
		"fork": wordSchema("how it forks a session", "advertised", "branch", "never"), "rewind": flagSchema("it can rewind"),
		"replaySettle": textSchema("how long history may come after session/load was answered"), "noResume": flagSchema("session/resume does not work"),
		"noLoad": textSchema("why earlier sessions cannot be opened"), "imagesAlone": flagSchema("an image goes with no other attachment"), "errorText": textSchema("begins a text that is a failure"),
		"missingReadsEmpty": flagSchema("a missing file reads as empty"), "noElicitation": flagSchema("do not offer questions to the user"),
		"subagents": flagSchema("ask for sub-agents as sessions of their own"), "stubWait": textSchema("how long the start of a call without input is held back"),
		"since":         textSchema("the version from which steer, fork and rewind hold"),
		"narrowOptions": listSchema("ids of permission options that reach no further than they say"), "launchTakes": listSchema("options of a session that the command takes care of"),
	})
}

func priceSchema() map[string]any {
	number := func(doc string) map[string]any {
		return map[string]any{"type": "number", "minimum": 0, "description": doc}
	}
	p := object("USD per million tokens.", map[string]any{
		"input": number("input tokens"), "output": number("output tokens"), "cacheRead": number("read from a cache; that of input when missing"), "cacheWrite": number("written to a cache; that of input when missing"),
	})
	p["type"], p["required"] = "object", []string{"input", "output"}
	return p
}
