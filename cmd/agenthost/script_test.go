package main

import (
	"bufio"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		os.Exit(1) // package early had to answer: see TestVersionIsOne
	}
	testscript.Main(m, map[string]func(){"agenthost": main, "fake-acp": fakeACP})
}

// TestScript runs the stories in testdata/script.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			return nil
		},
	})
}

// fakeACP is an agent that speaks ACP: it says what it was told, a word a chunk;
// for "run COMMAND" it asks to run it and says what was decided; for "fail" it
// fails, with that variable in its message for "fail NAME"; for "env NAME" it says
// that variable; for "hold" it works until it is cancelled, for "die" it
// exits, for "login" it wants one.
func fakeACP() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	asks := 100
	for in.Scan() {
		var m struct {
			ID     jsontext.Value
			Method string
			Params struct {
				Prompt []struct{ Text string }
			}
		}
		if json.Unmarshal(in.Bytes(), &m, json.MatchCaseInsensitiveNames(true)) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			reply(m.ID, `{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1.0"},"agentCapabilities":{"loadSession":true}}`)
		case "session/new":
			reply(m.ID, `{"sessionId":"native-1"}`)
		case "session/load", "session/resume":
			reply(m.ID, `{}`)
		case "session/prompt":
			text := m.Params.Prompt[0].Text
			verb, arg, _ := strings.Cut(text, " ")
			switch verb {
			case "run":
				asks++
				arg, _ := json.Marshal(arg)
				fmt.Printf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"native-1","toolCall":{"toolCallId":"t%d","kind":"execute","title":"Run","rawInput":{"command":%s}},"options":[{"optionId":"yes","kind":"allow_once","name":"Yes"},{"optionId":"no","kind":"reject_once","name":"No"}]}}`+"\n", asks, asks, arg)
				if !in.Scan() {
					return
				}
				if strings.Contains(in.Text(), `"yes"`) {
					update(fmt.Sprintf(`{"sessionUpdate":"tool_call_update","toolCallId":"t%d","status":"completed","content":[{"type":"content","content":{"type":"text","text":"ran"}}]}`, asks))
					chunk("it ran")
				} else {
					chunk("it was refused")
				}
			case "fail":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no luck %s"}}`+"\n", m.ID, os.Getenv(arg))
				continue
			case "hold":
				for in.Scan() && !strings.Contains(in.Text(), `"session/cancel"`) {
				}
				reply(m.ID, `{"stopReason":"cancelled"}`)
				continue
			case "login":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Authentication required"}}`+"\n", m.ID)
				continue
			case "die":
				os.Exit(3)
			case "env":
				chunk(arg + "=" + os.Getenv(arg))
			default:
				for w := range strings.FieldsSeq(text) {
					chunk(w + " ")
				}
			}
			reply(m.ID, `{"stopReason":"end_turn"}`)
		default:
			if m.ID != nil && m.Method != "" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
			}
		}
	}
}

func reply(id jsontext.Value, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

func update(u string) {
	fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"native-1","update":%s}}`+"\n", u)
}

func chunk(text string) {
	b, _ := json.Marshal(text)
	update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}`, b))
}
