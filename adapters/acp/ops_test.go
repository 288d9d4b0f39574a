package acp

import (
	"encoding/json/jsontext"
	"errors"
	"slices"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract/session"
)

func opened(t *testing.T, spec AgentSpec, extra string) *bench {
	t.Helper()
	return openBench(t, spec, adapters.Options{}, everything, `{"sessionId":"s"`+extra+`}`)
}

func TestOps(t *testing.T) {
	qwen24 := qwen()
	qwen24.Quirks.Since = ""
	for _, c := range []struct {
		name   string
		spec   AgentSpec
		params string
		method string
		sent   string
	}{
		{"list", fake, `{"cwd":"/w","cursor":"c"}`, "session/list", `{"cwd":"/w","cursor":"c"}`},
		{"list", fake, ``, "session/list", `{}`},
		{"delete", fake, `{"session":"other"}`, "session/delete", `{"sessionId":"other"}`},
		{"fork", fake, ``, "session/fork", `{"sessionId":"s","cwd":"/w","mcpServers":[]}`},
		{"fork", qwen24, ``, "qwen/control/session/branch", `{"sessionId":"s"}`},
		{"rewind-points", qwen24, ``, "qwen/status/session/rewind_snapshots", `{"sessionId":"s"}`},
		{"rewind", qwen24, `{"to":"p"}`, "qwen/control/session/rewind", `{"sessionId":"s","promptId":"p"}`},
	} {
		b := opened(t, c.spec, "")
		b.submit(adapters.Op{ID: "op", Name: c.name, Params: jsontext.Value(c.params)})
		m := b.last(c.method)
		if got := string(m.Params); got != c.sent {
			t.Errorf("%s: sent %s, want %s", c.name, got, c.sent)
		}
		b.result(m, `{"any":["json"]}`)
		if o := b.done[len(b.done)-1]; o.ID != "op" || o.Err != nil || string(o.Result) != `{"any":["json"]}` {
			t.Errorf("%s: outcome %+v", c.name, o)
		}
	}
}

func TestOpsRefused(t *testing.T) {
	b := openBench(t, fake, adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s",`+allOptions+`}`)
	for _, c := range []struct {
		name, params string
		unsupported  bool
	}{
		{"list", ``, true},
		{"fork", ``, true},
		{"rewind", `{"to":"x"}`, true},
		{"stash", ``, true},
		{"", ``, true},
		{"config", `[]`, false},
		{"config", `{"id":"none","value":"x"}`, false},
		{"config", `{"id":"mode","value":"auto"}`, false},
		{"config", `{"id":"allow_all","value":true}`, false},
		{"config", `{"id":"model","value":3}`, false},
	} {
		err := b.try(adapters.Op{ID: "op", Name: c.name, Params: jsontext.Value(c.params)})
		if err == nil || errors.Is(err, adapters.ErrUnsupported) != c.unsupported {
			t.Errorf("%s %s: %v, want refused, ErrUnsupported %v", c.name, c.params, err, c.unsupported)
		}
	}
	b = opened(t, fake, "")
	for _, params := range []string{``, `{"session":"s"}`, `{"session":7}`} {
		if err := b.try(adapters.Op{ID: "op", Name: "delete", Params: jsontext.Value(params)}); err == nil {
			t.Errorf("delete %s was taken", params)
		}
	}
	// A branch is one of the end.
	for _, params := range []string{`{"at":"m"}`, `{"to":"m"}`} {
		if err := b.try(adapters.Op{ID: "op", Name: "fork", Params: jsontext.Value(params)}); !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("fork %s: %v, want ErrUnsupported", params, err)
		}
	}
}

func TestConfigOp(t *testing.T) {
	b := openBench(t, fake, adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s",`+allOptions+`}`)
	b.submit(adapters.Op{ID: "op", Name: "config", Params: jsontext.Value(`{"id":"fast","value":true}`)})
	if got := string(b.last("session/set_config_option").Params); got != `{"sessionId":"s","configId":"fast","type":"boolean","value":true}` {
		t.Errorf("sent %s", got)
	}
	b.submit(adapters.Op{ID: "op2", Name: "config", Params: jsontext.Value(`{"id":"effort","value":"high"}`)})
	b.result(b.last("session/set_config_option"), `{"configOptions":[{"id":"effort","category":"thought_level","type":"select","currentValue":"high","options":[]}]}`)
	b.want("config high")
}

// TestForkOpReplay: what the agent says of the branch is not of this session.
func TestForkOpReplay(t *testing.T) {
	b := opened(t, fake, "")
	b.submit(adapters.Op{ID: "op", Name: "fork"})
	other := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"branch","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"old"}}}}`
	b.line(other)
	b.result(b.last("session/fork"), `{"sessionId":"branch"}`)
	b.line(other)
	b.want("")
	if len(b.errs) > 0 {
		t.Errorf("errors %v", b.errs)
	}
}

// TestSinceVersion: what an older agent lacks is not claimed.
func TestSinceVersion(t *testing.T) {
	for version, want := range map[string]bool{"0.24.4": true, "0.24": true, "1.0": true, "0.15.10": false, "0.9": false, "": false} {
		spec := qwen()
		b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1,"agentInfo":{"name":"qwen-code","version":"`+version+`"}}`, `{"sessionId":"s"}`)
		if got := slices.Contains(b.p.Capabilities(), session.CapRewind); got != want {
			t.Errorf("version %q: rewind %v, want %v", version, got, want)
		}
		b.prompt()
		err := b.try(adapters.Steer{ID: "x", Text: "left"})
		if (err == nil) != want || err != nil && !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("version %q: Steer = %v, want taken %v", version, err, want)
		}
	}
}
