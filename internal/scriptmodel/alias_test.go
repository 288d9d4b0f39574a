package scriptmodel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// offers reads the tools that a real agent offered (testdata/tools: recorded
// requests without the descriptions).
func offers(t *testing.T, agent string) []tool {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "tools", agent+".json"))
	if err != nil {
		t.Fatal(err)
	}
	p := map[string]protocol{
		"claude": messages(), "codex": responses(), "codex-code-mode": responses(),
		"gemini": gemini("m", true), "opencode": chat(),
	}[agent]
	r, err := p.decode(body)
	if err != nil {
		t.Fatal(err)
	}
	return r.tools
}

// One script works with every agent: the golden file shows what each gets.
func TestAliases(t *testing.T) {
	var b strings.Builder
	for _, agent := range []string{"claude", "codex", "codex-code-mode", "gemini", "opencode"} {
		tools := offers(t, agent)
		fmt.Fprintf(&b, "-- %s --\n", agent)
		for _, s := range []string{
			"shell echo it's", `write a.txt "one\ntwo\n"`, `edit a.txt "one\ntwo" three`, "read a.txt", "task look",
			`mcp srv echo {"a":1}`, `tool apply_patch {"input":"*** Begin Patch"}`, `tool other {"a":1}`,
		} {
			a, err := parseAct(s)
			if err != nil {
				t.Fatal(err)
			}
			beat, err := a.content(tools)
			if err != nil {
				before, _, _ := strings.Cut(err.Error(), ":")
				fmt.Fprintf(&b, "%s\n    %s\n", s, before)
				continue
			}
			name := beat.call.name
			if beat.call.namespace != "" {
				name = beat.call.namespace + "." + name
			}
			if beat.call.custom {
				name += " (custom)"
			}
			fmt.Fprintf(&b, "%s\n    %s %s\n", s, name, strings.ReplaceAll(beat.text, "\n", "\n    "))
		}
	}
	golden(t, "aliases.golden", b.String())
}

func TestMCPNames(t *testing.T) {
	for _, tools := range [][]tool{
		{{name: "mcp_srv_echo"}}, {{name: "other_echo"}, {name: "srv_echo"}}, {{name: "echo", namespace: "mcp__srv"}}, {{name: "mcp__srv__echo"}},
	} {
		want := tools[len(tools)-1]
		got, err := mcpCall(tools, "srv", "echo", "{}")
		if err != nil || got.name != want.name || got.namespace != want.namespace {
			t.Errorf("mcp srv echo with %+v: got %+v, %v, want %q in %q", tools, got, err, want.name, want.namespace)
		}
	}
	if _, err := mcpCall([]tool{{name: "echo"}}, "srv", "echo", "{}"); err == nil {
		t.Error("a tool of no server was taken for one of srv")
	}
}

// Shells want their command as a string or as a list of words.
func TestShellAsList(t *testing.T) {
	tools := []tool{{name: "shell", params: parseSchema([]byte(`{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"}},"workdir":{"type":"string"}},"required":["command"]}`))}}
	c, err := shellCall(tools, "ls")
	if got, want := string(c.args), `{"command":["bash","-lc","ls"]}`; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestExample(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","minimum":3},"c":{"type":"boolean"}},"required":["a","b"]}`: `{"a":"scripted","b":3}`,
		`{"type":"OBJECT","properties":{"x":{"type":"STRING","enum":["flash","pro"]}},"required":["x"]}`:                                        `{"x":"flash"}`,
		`{"type":"array","items":{"type":"number"},"minItems":2}`:                                                                               `[0,0]`,
		`{"type":"array","items":{"type":"number"},"minItems":"2"}`:                                                                             `[0,0]`,
		`{"type":["null","string"]}`:                                 `"scripted"`,
		`{"anyOf":[{"const":7},{"type":"string"}]}`:                  `7`,
		`{"type":"object","properties":{"a":true},"required":["a"]}`: `{"a":{}}`,
		`true`: `{}`,
		`{"type":"object","properties":{"next_speaker":{"type":"string","enum":["model","user"]},"title":{"type":"string"},"complexity_score":{"type":"integer"}},"required":["next_speaker","title","complexity_score"]}`: `{"complexity_score":1,"next_speaker":"user","title":"Scripted session"}`,
	} {
		if got := string(encode(fitted(parseSchema([]byte(schema))))); got != want {
			t.Errorf("example of %s: got %s, want %s", schema, got, want)
		}
	}
	// A schema that holds itself ends.
	deep := strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 100) + `{}` + strings.Repeat(`}}`, 100)
	if got := string(encode(parseSchema([]byte(deep)).example(0))); !strings.Contains(got, "null") {
		t.Errorf("a deep schema gives %s, want it cut", got)
	}
}
