package acp

import (
	"errors"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

const (
	modesOnly  = `"modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"Default"},{"id":"autoEdit","name":"Auto Edit"},{"id":"yolo","name":"YOLO"},{"id":"plan","name":"Plan"}]}`
	allOptions = `"configOptions":[{"id":"mode","category":"mode","type":"select","currentValue":"default","options":[{"value":"default","name":"Manual"},{"value":"acceptEdits","name":"Accept"},{"value":"plan","name":"Plan"},{"value":"auto","name":"Auto"}]},` +
		`{"id":"model","category":"model","type":"select","currentValue":"a","options":[{"group":"g","name":"G","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]}]},` +
		`{"id":"effort","category":"thought_level","type":"select","currentValue":"low","options":[{"value":"low","name":"Low"},{"value":"high","name":"High"}]},` +
		`{"id":"fast","category":"speed","type":"boolean","currentValue":false},` +
		`{"id":"allow_all","category":"permissions","type":"boolean","currentValue":false}]`
)

func configured(t *testing.T, o adapters.Options, result string) *bench {
	t.Helper()
	return openBench(t, fake, o, `{"protocolVersion":1}`, `{"sessionId":"s",`+result+`}`)
}

func TestConfigFacts(t *testing.T) {
	b := configured(t, adapters.Options{}, modesOnly+`,"models":{"currentModelId":"m1","availableModels":[{"modelId":"m1","name":"M1","_meta":{"contextLimit":200000}},{"modelId":"m2","name":"M2"}]}`)
	f := b.facts
	if f.Mode != "default" || len(f.Modes) != 4 || f.Modes[1].ID != "acceptEdits" || f.Modes[2].ID != "bypassPermissions" {
		t.Errorf("mode %q of %+v, want the contract's names", f.Mode, f.Modes)
	}
	if f.Model != "m1" || len(f.Models) != 2 || f.Models[0].ContextWindow != 200000 {
		t.Errorf("model %q of %+v", f.Model, f.Models)
	}
	b = configured(t, adapters.Options{}, modesOnly+","+allOptions)
	if f := b.facts; f.Modes[1].ID != "acceptEdits" || f.Model != "a" || len(f.Models) != 2 || f.Thinking != "low" {
		t.Errorf("facts %+v, want those of the options", f)
	}
}

func TestConfigure(t *testing.T) {
	b := configured(t, adapters.Options{}, allOptions)
	b.submit(adapters.Configure{ID: "c", Mode: contract.ModePlan, Model: "b", ThinkingLevel: "high"})
	for _, want := range []string{
		`{"sessionId":"s","configId":"mode","value":"plan"}`, `{"sessionId":"s","configId":"model","value":"b"}`, `{"sessionId":"s","configId":"effort","value":"high"}`,
	} {
		m := b.last("session/set_config_option")
		if got := string(m.Params); got != want {
			t.Errorf("set_config_option %s, want %s", got, want)
		}
		if len(b.done) > 1 {
			t.Error("reported as done too early")
		}
		b.result(m, `{}`)
	}
	if o := b.done[len(b.done)-1]; o.ID != "c" || o.Err != nil {
		t.Errorf("outcome %+v", o)
	}
	b.want("config plan | config b | config high")
	if e := b.drafts[1].Event.(contract.AgentConfigurationChanged); e.From == nil || e.From.Model != "a" {
		t.Errorf("change %+v, want what was before", e)
	}
	b.submit(adapters.Configure{ID: "same", Model: "b"}) // already so
	if o := b.done[len(b.done)-1]; o.ID != "same" || o.Err != nil {
		t.Errorf("outcome %+v", o)
	}
	b.submit(adapters.Configure{ID: "bad", Model: "z", ThinkingLevel: "low"})
	b.fail(b.last("session/set_config_option"), `{"code":-32603,"message":"Internal error","data":{"details":"Model 'z' not found"}}`)
	if o := b.done[len(b.done)-1]; o.ID != "bad" || o.Err == nil || !strings.Contains(o.Err.Message, "Model 'z' not found") {
		t.Errorf("outcome %+v, want the agent's reason", o)
	}
}

func TestConfigureOldWay(t *testing.T) {
	b := configured(t, adapters.Options{}, modesOnly+`,"models":{"currentModelId":"m1","availableModels":[{"modelId":"m1","name":"M1"}]}`)
	b.submit(adapters.Configure{ID: "c", Mode: contract.ModeAcceptEdits, Model: "any"})
	if got := string(b.last("session/set_mode").Params); got != `{"sessionId":"s","modeId":"autoEdit"}` {
		t.Errorf("set_mode %s", got)
	}
	b.result(b.last("session/set_mode"), `{}`)
	if got := string(b.last("session/set_model").Params); got != `{"sessionId":"s","modelId":"any"}` {
		t.Errorf("set_model %s", got)
	}
	b.result(b.last("session/set_model"), `null`)
	b.want("config acceptEdits | config any")
}

// TestAgentChanges: an update and the answer tell one change once.
func TestAgentChanges(t *testing.T) {
	b := configured(t, adapters.Options{}, allOptions)
	b.update(`{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`)
	b.update(`{"sessionUpdate":"config_option_update",` + strings.Replace(allOptions, `"currentValue":"default"`, `"currentValue":"plan"`, 1) + `}`)
	b.submit(adapters.Configure{ID: "c", Model: "b"})
	changed := strings.Replace(strings.Replace(allOptions, `"currentValue":"default"`, `"currentValue":"plan"`, 1), `"currentValue":"a"`, `"currentValue":"b"`, 1)
	b.update(`{"sessionUpdate":"config_option_update",` + changed + `}`)
	b.result(b.last("session/set_config_option"), `{`+changed+`}`)
	b.want("config plan | config b")
	if b.facts.Mode != "plan" || b.facts.Model != "b" {
		t.Errorf("facts %+v", b.facts)
	}
}

// TestFreeModes: nobody gets into a mode that acts unasked without the local opt-in.
func TestFreeModes(t *testing.T) {
	for mode, free := range map[contract.PermissionMode]bool{
		contract.ModeBypassPermissions: true, "yolo": true, "YOLO": true, contract.ModePlan: false, "autoEdit": false, contract.ModeAcceptEdits: false, "default": false,
	} {
		b := configured(t, adapters.Options{}, modesOnly)
		if err := b.try(adapters.Configure{ID: "c", Mode: mode}); (err != nil) != free {
			t.Errorf("mode %s: %v, want refused %v", mode, err, free)
		}
		b = configured(t, adapters.Options{AllowBypass: true}, modesOnly)
		if err := b.try(adapters.Configure{ID: "c", Mode: mode}); err != nil {
			t.Errorf("mode %s with the opt-in: %v", mode, err)
		}
	}
	b := configured(t, adapters.Options{}, modesOnly)
	if err := b.try(adapters.Configure{ID: "c", Mode: "nonsense"}); !errors.Is(err, adapters.ErrUnsupported) || !strings.Contains(err.Error(), "autoEdit") {
		t.Errorf("mode nonsense: %v, want ErrUnsupported with the modes there are", err)
	}
	if err := newBench(t, fake, adapters.Options{Mode: "bypassPermissions"}).try(adapters.Open{}); err == nil {
		t.Error("a session in bypassPermissions was opened without the opt-in")
	}
}

// TestStartMode: an agent that starts in a mode that acts unasked is brought out of
// it before the first prompt.
func TestStartMode(t *testing.T) {
	auto := strings.Replace(allOptions, `"currentValue":"default"`, `"currentValue":"auto"`, 1)
	b := newBench(t, fake, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1}`)
	b.result(b.last("session/new"), `{"sessionId":"s",`+auto+`}`)
	if b.opened() {
		t.Fatal("open in mode auto")
	}
	m := b.last("session/set_config_option")
	if v := m.Params.Get("value").Text(); v != "default" {
		t.Fatalf("switches to %q", v)
	}
	b.result(m, `{}`)
	if !b.opened() || b.done[0].Err != nil || b.facts.Mode != "default" {
		t.Errorf("outcome %+v, mode %q", b.done, b.facts.Mode)
	}
	b.want("") // nothing has changed: it starts so

	// It won't leave the mode: the session does not open.
	b = newBench(t, fake, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1}`)
	b.result(b.last("session/new"), `{"sessionId":"s",`+auto+`}`)
	b.fail(b.last("session/set_config_option"), `{"code":-32603,"message":"no"}`)
	if len(b.done) != 1 || b.done[0].Err == nil {
		t.Errorf("outcome %+v, want an error", b.done)
	}
	if err := b.try(adapters.Prompt{ID: "p", Text: "go"}); err == nil {
		t.Error("a prompt was taken by a session that did not open")
	}
}

func TestOptionsOfTheSession(t *testing.T) {
	b := newBench(t, fake, adapters.Options{Model: "b", Mode: "plan", Thinking: "high"})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1}`)
	b.result(b.last("session/new"), `{"sessionId":"s",`+allOptions+`}`)
	for _, want := range []string{"model", "effort", "mode"} {
		m := b.last("session/set_config_option")
		if got := m.Params.Get("configId").Text(); got != want {
			t.Fatalf("sets %q, want %q", got, want)
		}
		b.result(m, `{}`)
	}
	if f := b.facts; f.Mode != "plan" || f.Model != "b" || f.Thinking != "high" || b.done[0].Err != nil {
		t.Errorf("facts %+v, outcome %+v", f, b.done[0])
	}
	b = newBench(t, fake, adapters.Options{Thinking: "high"})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1}`)
	b.result(b.last("session/new"), `{"sessionId":"s"}`)
	if b.done[0].Err == nil || b.done[0].Err.Code != contract.CodeUnsupported {
		t.Errorf("a thinking level that cannot be set: %+v", b.done[0])
	}
}

// TestStartModeOfTheUsersSettings: a session starts in the mode that the host says,
// which is "default" when it says none, whatever the agent's own settings say.
func TestStartModeOfTheUsersSettings(t *testing.T) {
	for mode, o := range map[string]adapters.Options{"autoEdit": {}, "plan": {}, "yolo": {AllowBypass: true}} {
		b := newBench(t, fake, o)
		b.submit(adapters.Open{ID: "open"})
		b.result(b.last("initialize"), `{"protocolVersion":1}`)
		b.result(b.last("session/new"), `{"sessionId":"s",`+strings.Replace(modesOnly, `"currentModeId":"default"`, `"currentModeId":"`+mode+`"`, 1)+`}`)
		if b.opened() {
			t.Fatalf("open in mode %s, which nobody chose", mode)
		}
		m := b.last("session/set_mode")
		if got := m.Params.Get("modeId").Text(); got != "default" {
			t.Errorf("from mode %s it switches to %q", mode, got)
		}
		b.result(m, `{}`)
		if !b.opened() || b.facts.Mode != "default" {
			t.Errorf("from mode %s: outcome %+v, mode %q", mode, b.done, b.facts.Mode)
		}
	}
	// An agent without such a mode stays in the one it has.
	b := openBench(t, fake, adapters.Options{}, `{"protocolVersion":1}`,
		`{"sessionId":"s","modes":{"currentModeId":"careful","availableModes":[{"id":"careful","name":"Careful"}]}}`)
	if n := b.count("session/set_mode"); n != 0 {
		t.Errorf("%d changes of the mode of an agent without a default mode", n)
	}
}

// TestAllowAllIsSwitchedOff: what the agent's own settings allow beside the mode is
// off before the first prompt, or the session does not open.
func TestAllowAllIsSwitchedOff(t *testing.T) {
	boolean := strings.Replace(allOptions, `"category":"permissions","type":"boolean","currentValue":false`, `"category":"permissions","type":"boolean","currentValue":true`, 1)
	choice := `"configOptions":[{"id":"allow_all","category":"permissions","type":"select","currentValue":"on","options":[{"value":"on","name":"On"},{"value":"off","name":"Off"}]}]`
	for options, want := range map[string]string{boolean: `"type":"boolean","value":false`, choice: `"value":"off"`} {
		begin := func(o adapters.Options) *bench {
			b := newBench(t, fake, o)
			b.submit(adapters.Open{ID: "open"})
			b.result(b.last("initialize"), `{"protocolVersion":1}`)
			b.result(b.last("session/new"), `{"sessionId":"s",`+options+`}`)
			return b
		}
		b := begin(adapters.Options{})
		if b.opened() {
			t.Fatal("open while everything is allowed")
		}
		m := b.last("session/set_config_option")
		if m.Params.Get("configId").Text() != "allow_all" || !strings.Contains(string(m.Params), want) {
			t.Errorf("sends %s, want %s", m.Params, want)
		}
		b.result(m, `{}`)
		if !b.opened() || b.done[0].Err != nil {
			t.Errorf("outcome %+v, want it open", b.done)
		}
		b = begin(adapters.Options{})
		b.fail(b.last("session/set_config_option"), `{"code":-32603,"message":"no"}`)
		if o := b.done; len(o) != 1 || o[0].Err == nil {
			t.Errorf("refused: outcome %+v, want an error", o)
		}
		b = begin(adapters.Options{})
		b.result(b.last("session/set_config_option"), `{`+options+`}`)
		if o := b.done; len(o) != 1 || o[0].Err == nil {
			t.Errorf("answered and not done: outcome %+v, want an error", o)
		}
		if b = begin(adapters.Options{AllowBypass: true}); !b.opened() {
			t.Error("a person opted in, and the session waits")
		}
	}
}
