package acp

import (
	"bufio"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
)

func serving(t *testing.T) *bench {
	t.Helper()
	spec := fake
	spec.Quirks.Client = ClientFeatures{ReadFile: true, WriteFile: true, Terminal: true, MissingReadsEmpty: true}
	b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	return b
}

// effectOf makes a request and returns the effect it led to.
func (b *bench) effectOf(method, params string) adapters.Effect {
	b.t.Helper()
	n := len(b.effects)
	b.request("50", method, `{"sessionId":"s",`+params+`}`)
	if len(b.effects) != n+1 {
		m, _ := b.reply("50")
		b.t.Fatalf("%s %s led to %d effects; answer %+v", method, params, len(b.effects)-n, m)
	}
	return b.effects[n]
}

func TestEffects(t *testing.T) {
	for _, c := range []struct {
		method, params string
		want           adapters.Effect
		done           adapters.EffectDone
		answer         string
	}{
		{"fs/read_text_file", `"path":"/w/a","line":3,"limit":5`, adapters.ReadFile{Path: "/w/a", Line: 3, Limit: 5}, adapters.EffectDone{Content: "x\n"}, `{"content":"x\n"}`},
		{"fs/read_text_file", `"path":"/w/a","line":null,"limit":-4`, adapters.ReadFile{Path: "/w/a"}, adapters.EffectDone{Err: &adapters.EffectError{NotFound: true, Message: "gone"}}, `{"content":""}`},
		{"terminal/output", `"terminalId":"t"`, adapters.TerminalOutput{Terminal: "t"}, adapters.EffectDone{Output: "o", Truncated: true}, `{"output":"o","truncated":true,"exitStatus":null}`},
		{"terminal/output", `"terminalId":"t"`, adapters.TerminalOutput{Terminal: "t"}, adapters.EffectDone{Exit: &adapters.TerminalExit{Code: 3}}, `{"output":"","truncated":false,"exitStatus":{"exitCode":3,"signal":null}}`},
		{"terminal/wait_for_exit", `"terminalId":"t"`, adapters.TerminalWait{Terminal: "t"}, adapters.EffectDone{Exit: &adapters.TerminalExit{Code: -1, Signal: "SIGKILL"}}, `{"exitCode":null,"signal":"SIGKILL"}`},
		{"terminal/kill", `"terminalId":"t"`, adapters.TerminalKill{Terminal: "t"}, adapters.EffectDone{}, `{}`},
		{"terminal/release", `"terminalId":"t"`, adapters.TerminalRelease{Terminal: "t"}, adapters.EffectDone{}, `{}`},
	} {
		b := serving(t)
		e := b.effectOf(c.method, c.params)
		got := reflect.New(reflect.TypeOf(e)).Elem()
		got.Set(reflect.ValueOf(e))
		got.FieldByName("ID").SetString("")
		if !reflect.DeepEqual(got.Interface(), c.want) {
			t.Errorf("%s: effect %+v, want %+v", c.method, e, c.want)
		}
		c.done.ID = e.EffectID()
		b.submit(c.done)
		if m, _ := b.reply("50"); string(m.Result) != c.answer {
			t.Errorf("%s: answer %s, want %s", c.method, m.Result, c.answer)
		}
		if err := b.try(c.done); err == nil {
			t.Errorf("%s: a second EffectDone was taken", c.method)
		}
	}
}

func TestEffectsFail(t *testing.T) {
	for _, c := range []struct {
		err  adapters.EffectError
		code int64
	}{
		{adapters.EffectError{NotFound: true, Message: "no such terminal"}, jsonrpc.NotFound},
		{adapters.EffectError{Refused: true, Message: "outside"}, jsonrpc.InvalidParams},
		{adapters.EffectError{Message: "disk full"}, jsonrpc.InternalError},
	} {
		b := serving(t)
		e := b.effectOf("terminal/output", `"terminalId":"t"`)
		b.submit(adapters.EffectDone{ID: e.EffectID(), Err: &c.err})
		if m, _ := b.reply("50"); m.Err == nil || m.Err.Code != c.code || m.Err.Message != c.err.Message {
			t.Errorf("%+v: answer %+v, want code %d", c.err, m.Err, c.code)
		}
	}
	b := serving(t)
	b.request("50", "fs/read_text_file", `{"sessionId":"other","path":"/w/a"}`)
	if m, _ := b.reply("50"); m.Err == nil || len(b.effects) > 0 {
		t.Error("a request of another session was served")
	}
	e := b.effectOf("terminal/wait_for_exit", `"terminalId":"t"`)
	b.line(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":50}}`)
	if m, _ := b.reply("50"); m.Err == nil || m.Err.Code != jsonrpc.Cancelled {
		t.Errorf("cancelled: answer %+v", m)
	}
	n := len(b.written)
	b.submit(adapters.EffectDone{ID: e.EffectID()})
	if len(b.written) != n {
		t.Error("answered twice")
	}
}

// TestPaths: case B199 of the bug log. What is inside the session's directories is
// the host's to decide; what is no absolute path does not get that far.
func TestPaths(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "bugs", "B199-prefix.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		verdict, path, ok := strings.Cut(s.Text(), " ")
		if !ok || verdict != "R" && verdict != "P" || strings.HasPrefix(path, "(") {
			continue
		}
		path, _, _ = strings.Cut(path, " (")
		absolute := strings.HasPrefix(path, "/") && !strings.Contains(path, `\u0000`)
		b := serving(t)
		b.request("50", "fs/read_text_file", `{"sessionId":"s","path":"`+strings.Trim(path, `"`)+`"}`)
		if got := len(b.effects) == 1; got != absolute {
			t.Errorf("path %s: passed on %v, want %v", path, got, absolute)
		}
		seen++
	}
	if seen < 10 {
		t.Errorf("%d paths in the list, want at least 10", seen)
	}
}

// TestClientActsNeedPermission: what we do for an agent is asked for like a tool.
func TestClientActsNeedPermission(t *testing.T) {
	b := serving(t)
	b.request("50", "terminal/create", `{"sessionId":"s","command":"git","args":["log","-n 1"],"env":[{"name":"A","value":"b"}],"cwd":"/w/x","outputByteLimit":1e12}`)
	if len(b.effects) > 0 {
		t.Fatal("the command ran before anybody was asked")
	}
	ask := b.drafts[len(b.drafts)-1].Event.(contract.PermissionRequest)
	if got := string(ask.Args); ask.ToolName != "bash" || got != `{"command":"git log '-n 1'","cwd":"/w/x","env":{"A":"b"}}` {
		t.Errorf("ask %s %s", ask.ToolName, got)
	}
	b.answer(contract.AllowOnce)
	want := adapters.TerminalCreate{ID: "effect-1", Command: "git", Args: []string{"log", "-n 1"}, Env: []adapters.Pair{{Name: "A", Value: "b"}}, Dir: "/w/x", Limit: 1e12}
	if len(b.effects) != 1 || !reflect.DeepEqual(b.effects[0], adapters.Effect(want)) {
		t.Fatalf("effects %+v, want %+v", b.effects, want)
	}
	b.submit(adapters.EffectDone{ID: "effect-1", Terminal: "term"})
	if m, _ := b.reply("50"); string(m.Result) != `{"terminalId":"term"}` {
		t.Errorf("answer %s", m.Result)
	}

	b.request("51", "fs/write_text_file", `{"sessionId":"s","path":"/w/a","content":"new"}`)
	b.answer(contract.RejectOnce)
	if m, _ := b.reply("51"); m.Err == nil || len(b.effects) != 1 {
		t.Errorf("refused: answer %+v, %d effects", m, len(b.effects))
	}
	b.request("52", "fs/write_text_file", `{"sessionId":"s","path":"/w/a","content":"new"}`)
	b.submit(adapters.Abort{})
	if m, _ := b.reply("52"); m.Err == nil || len(b.effects) != 1 {
		t.Errorf("stopped: answer %+v, %d effects", m, len(b.effects))
	}
	b.request("53", "terminal/create", `{"sessionId":"s","command":"ls"}`)
	if m, ok := b.reply("53"); !ok || m.Err == nil {
		t.Error("a command after the stop was not refused")
	}
	b.result(b.last("session/prompt"), `{"stopReason":"cancelled"}`)
}

// TestClientActsOfAllowedCall: the permission that the agent asked for is enough
// for the act it was asked for, and for no other.
func TestClientActsOfAllowedCall(t *testing.T) {
	b := serving(t)
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"e","kind":"edit","title":"Edit","status":"pending","rawInput":{"path":"/w/a"},"locations":[{"path":"/w/a"}]}`)
	b.request("1", "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"e"},"options":[{"optionId":"y","kind":"allow_once","name":"Yes"},{"optionId":"n","kind":"reject_once","name":"No"}]}`)
	b.request("2", "session/request_permission", permission("c", "allow_once", "reject_once"))
	b.request("60", "fs/write_text_file", `{"sessionId":"s","path":"/w/a","content":"early"}`)
	if len(b.effects) > 0 {
		t.Fatal("written before the permission")
	}
	b.answer(contract.AllowOnce)
	b.answer(contract.AllowOnce)
	b.answer(contract.RejectOnce)
	b.effectOf("fs/write_text_file", `"path":"/w/a","content":"new"`)
	b.effectOf("terminal/create", `"command":"ls"`)
	for _, c := range []string{`{"sessionId":"s","path":"/w/b","content":"new"}`, `{"sessionId":"s","command":"rm","args":["-r","."]}`, `{"sessionId":"s","command":"ls","env":[{"name":"LD_PRELOAD","value":"x"}]}`} {
		method := "fs/write_text_file"
		if strings.Contains(c, "command") {
			method = "terminal/create"
		}
		n := len(b.effects)
		b.request("61", method, c)
		if len(b.effects) != n || len(b.asks) == 0 {
			t.Errorf("%s %s was done without a permission", method, c)
		}
		b.answer(contract.RejectOnce)
	}
}
