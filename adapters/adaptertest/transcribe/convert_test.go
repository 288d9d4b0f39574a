package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters/transcript"
)

func TestConvert(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string // one transcript each
	}{
		{
			name: "an ACP agent, started twice",
			in: `{"t": 0, "dir": "#", "msg": {"cmd": "env -i HOME=/h /bin/gem --acp", "cwd": "/w"}}
{"t": 1, "dir": ">", "msg": {"id": 1, "method": "initialize"}}
{"t": 5, "dir": "<", "msg": {"id": 1, "result": {"agentInfo": {"version": "0.61.0"}}}}
{"t": 6, "dir": "#", "msg": {"eof": true}}
{"t": 7, "dir": "#", "msg": {"stdin_closed_then_exit": 0, "after_ms": 1}}
{"t": 0, "dir": "#", "msg": {"cmd": "/bin/gem --acp", "cwd": "/w"}}
{"t": 3, "dir": "#", "msg": {"after": "kill", "rc": "-9"}}
`,
			want: []string{
				`{"transcript":1,"agent":"x","version":"0.61.0","dir":"/w","command":["/bin/gem","--acp"]}
{"t":1,"d":"in","m":{"id":1,"method":"initialize"}}
{"t":5,"d":"out","m":{"id":1,"result":{"agentInfo":{"version":"0.61.0"}}}}
{"t":6,"d":"note","raw":"stdin closed"}
{"t":7,"d":"exit","m":{"code":0,"requested":true}}
`,
				`{"transcript":1,"agent":"x","dir":"/w","command":["/bin/gem","--acp"]}
{"t":3,"d":"exit","m":{"code":-1,"signal":"SIGKILL","requested":true}}
`,
			},
		},
		{
			name: "a terminal with a session file and a hook",
			in: `{"d":"#","t":4,"m":{"argv":["claude"],"cwd":"/w"}}
{"d":"<","t":5,"raw":"\u001b[2J"}
{"d":">","t":6,"raw":"y"}
{"d":"J","t":7,"file":"a.jsonl","m":{"type":"user"}}
{"d":"H","t":8,"m":{"hook_event_name":"PreToolUse"}}
{"d":"2","t":9,"raw":"warning"}
{"d":"#","t":10,"m":{"exit": null}}
`,
			want: []string{`{"transcript":1,"agent":"x","dir":"/w","command":["claude"]}
{"t":1,"d":"term","raw":"\u001b[2J"}
{"t":2,"d":"in","raw":"y"}
{"t":3,"d":"log","m":{"type":"user"}}
{"t":4,"d":"hook","m":{"hook_event_name":"PreToolUse"}}
{"t":5,"d":"err","raw":"warning"}
{"t":6,"d":"note","m":{"exit":null}}
`},
		},
		{
			name: "lines as text, by connection, on the clock",
			in: `{"t": 1796027965497, "dir": "meta", "cmd": ["codex", "app-server"], "cwd": "/w"}
{"t": 1796027965553, "dir": "cli->srv(1)", "line": "{\"id\": 1}"}
{"t": 1796027965554, "dir": "srv->cli(1)", "line": "{\"id\":1,\"result\":{}}"}
{"t": 1796027965555, "dir": "srv->cli(2)", "line": "x"}
`,
			want: []string{
				`{"transcript":1,"agent":"x","start":1796027965497,"dir":"/w","command":["codex","app-server"]}
{"t":56,"d":"in","m":{"id": 1}}
{"t":57,"d":"out","m":{"id":1,"result":{}}}
`,
				`{"transcript":1,"agent":"x","start":1796027965497,"dir":"/w","command":["codex","app-server"]}
{"t":58,"d":"out","raw":"x"}
`,
			},
		},
		{
			name: "a file of an agent, with a long string",
			in:   `{"type":"summary","text":"` + strings.Repeat("é", 40) + `"}`,
			want: []string{`{"transcript":1,"agent":"x"}
{"t":0,"d":"log","m":{"type":"summary","text":"ééééé… (70 bytes cut)"}}
`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := converter{agent: "x", cut: 40}
			files := c.convert([]byte(tt.in))
			if len(files) != len(tt.want) {
				t.Fatalf("%d transcripts, want %d: %+v", len(files), len(tt.want), files)
			}
			for i, f := range files {
				var b bytes.Buffer
				if err := transcript.Write(&b, f); err != nil {
					t.Fatal(err)
				}
				if b.String() != tt.want[i] {
					t.Errorf("transcript %d =\n%swant\n%s", i, b.String(), tt.want[i])
				}
			}
		})
	}
}
