package acp

import (
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// endOf feeds the updates of one call and returns its result.
func endOf(t *testing.T, updates ...string) contract.ToolResult {
	t.Helper()
	b := plain(t)
	b.prompt()
	for _, u := range updates {
		if strings.HasPrefix(u, "ask ") {
			b.request("1", "session/request_permission", `{"sessionId":"s","toolCall":`+u[4:]+`,"options":[{"optionId":"y","kind":"allow_once","name":"Yes"}]}`)
			b.answer(contract.AllowOnce)
			continue
		}
		b.update(u)
	}
	e, ok := b.drafts[len(b.drafts)-1].Event.(contract.ToolCallEnd)
	if !ok || e.Result == nil {
		t.Fatalf("no end: %s", b.story())
	}
	return *e.Result
}

func diffUpdate(content string) string {
	return `{"sessionUpdate":"tool_call_update","toolCallId":"t","kind":"edit","status":"completed","content":[` + content + `]}`
}

func TestFiles(t *testing.T) {
	for name, c := range map[string]struct {
		updates []string
		want    []contract.FileDiff
	}{
		"new, null": {
			[]string{diffUpdate(`{"type":"diff","path":"/w/n.txt","oldText":null,"newText":"a\n"}`)},
			[]contract.FileDiff{{Path: "n.txt", Status: contract.ChangeAdded, Additions: 1, Patch: "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+a\n"}},
		},
		"new, empty": {
			[]string{diffUpdate(`{"type":"diff","path":"sub/../n.txt","oldText":"","newText":"a\n","_meta":{"kind":"add"}}`)},
			[]contract.FileDiff{{Path: "n.txt", Status: contract.ChangeAdded, Additions: 1, Patch: "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+a\n"}},
		},
		"changed, outside": {
			[]string{diffUpdate(`{"type":"diff","path":"/tmp/x","oldText":"a\nb","newText":"a\nc"}`)},
			[]contract.FileDiff{{
				Path: "/tmp/x", Status: contract.ChangeModified, Additions: 1, Deletions: 1,
				Patch: "--- /tmp/x\n+++ /tmp/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
			}},
		},
		"a directory beside": {
			[]string{diffUpdate(`{"type":"diff","path":"/web/x","oldText":"a\n","newText":"b\n"}`)},
			[]contract.FileDiff{{Path: "/web/x", Status: contract.ChangeModified, Additions: 1, Deletions: 1, Patch: "--- /web/x\n+++ /web/x\n@@ -1 +1 @@\n-a\n+b\n"}},
		},
		"deleted": {
			[]string{diffUpdate(`{"type":"diff","path":"/w/d","oldText":"a\n","newText":"","_meta":{"kind":"delete"}}`)},
			[]contract.FileDiff{{Path: "d", Status: contract.ChangeDeleted, Deletions: 1, Patch: "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"}},
		},
		"moved": {
			[]string{diffUpdate(`{"type":"diff","path":"/w/o","oldText":"a\n","newText":"a\n","_meta":{"kind":"move","movePath":"/w/n"}}`)},
			[]contract.FileDiff{{Path: "n", OldPath: "o", Status: contract.ChangeRenamed, Patch: "--- a/o\n+++ b/n\n"}},
		},
		"two snippets of one file": {
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"t","kind":"edit","status":"in_progress","title":"E","locations":[{"path":"/w/f","line":10}]}`,
				diffUpdate(`{"type":"diff","path":"/w/f","oldText":"a","newText":"b"},{"type":"diff","path":"/w/f","oldText":"c","newText":"d"}`),
			},
			[]contract.FileDiff{{Path: "f", Status: contract.ChangeModified, Additions: 2, Deletions: 2, Patch: "--- a/f\n+++ b/f\n" +
				"@@ -10 +10 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n@@ -10 +10 @@\n-c\n\\ No newline at end of file\n+d\n\\ No newline at end of file\n"}},
		},
		"a diff that came before": {
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"t","kind":"edit","status":"in_progress","title":"E","content":[{"type":"diff","path":"/w/f","oldText":"a\n","newText":"b\n"}]}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`,
			},
			[]contract.FileDiff{{Path: "f", Status: contract.ChangeModified, Additions: 1, Deletions: 1, Patch: "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"}},
		},
		"opencode's own patch wins over its snippet": {
			[]string{
				`{"sessionUpdate":"tool_call_update","toolCallId":"t","kind":"edit","status":"completed","content":[{"type":"diff","path":"/w/f","oldText":"b","newText":"B"}],` +
					`"rawOutput":{"output":"ok","metadata":{"diff":"Index: /w/f\n===\n--- /w/f\n+++ /w/f\n@@ -4,2 +4,2 @@\n a\n-b\n+B\n"}}}`,
			},
			[]contract.FileDiff{{Path: "f", Status: contract.ChangeModified, Additions: 1, Deletions: 1, Patch: "--- a/f\n+++ b/f\n@@ -4,2 +4,2 @@\n a\n-b\n+B\n"}},
		},
		"opencode's write of a new file": {
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"t","kind":"edit","title":"write","status":"in_progress","rawInput":{"filePath":"/w/n","content":"x\n"}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","rawOutput":{"output":"ok","metadata":{"filepath":"/w/n","exists":false}}}`,
			},
			[]contract.FileDiff{{Path: "n", Status: contract.ChangeAdded, Additions: 1, Patch: "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"}},
		},
		"opencode's write over a file, as it was asked for": {
			[]string{
				`ask {"toolCallId":"t","kind":"edit","title":"/w/n","rawInput":{"filepath":"/w/n","diff":"--- /w/n\n+++ /w/n\n@@ -1 +1 @@\n-x\n+y\n"}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","rawOutput":{"output":"ok","metadata":{"filepath":"/w/n","exists":true}}}`,
			},
			[]contract.FileDiff{{Path: "n", Status: contract.ChangeModified, Additions: 1, Deletions: 1, Patch: "--- a/n\n+++ b/n\n@@ -1 +1 @@\n-x\n+y\n"}},
		},
		"Claude's hunks": {
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"t","name":"Edit","kind":"edit","title":"Edit","status":"pending","rawInput":{"file_path":"/w/f"},"content":[{"type":"diff","path":"/w/f","oldText":"b","newText":"B"}]}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"claudeCode":{"toolResponse":{"filePath":"/w/f","structuredPatch":[{"oldStart":7,"oldLines":2,"newStart":7,"newLines":2,"lines":[" a","-b","+B"]}]}}}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","rawOutput":"done"}`,
			},
			[]contract.FileDiff{{Path: "f", Status: contract.ChangeModified, Additions: 1, Deletions: 1, Patch: "--- a/f\n+++ b/f\n@@ -7,2 +7,2 @@\n a\n-b\n+B\n"}},
		},
		"no change": {[]string{diffUpdate(`{"type":"diff","path":"/w/f","oldText":"a\n","newText":"a\n"}`)}, nil},
	} {
		got := endOf(t, c.updates...).Files
		if jsonOf(got) != jsonOf(c.want) {
			t.Errorf("%s: %s\nwant %s", name, jsonOf(got), jsonOf(c.want))
		}
	}
}

func TestFilesOfFailedCalls(t *testing.T) {
	r := endOf(t, `{"sessionUpdate":"tool_call_update","toolCallId":"t","kind":"edit","status":"failed","content":[{"type":"diff","path":"/w/f","oldText":"a\n","newText":"b\n"}]}`)
	if r.Files != nil || r.Status != contract.ToolError || r.Error == "" {
		t.Errorf("result %+v, want no files: nothing was changed", r)
	}
}

func TestResults(t *testing.T) {
	shell := func(rest string) string {
		return `{"sessionUpdate":"tool_call_update","toolCallId":"t","kind":"execute","title":"x",` + rest + `}`
	}
	for name, c := range map[string]struct {
		updates []string
		want    string
	}{
		"text content": {
			[]string{shell(`"status":"completed","content":[{"type":"content","content":{"type":"text","text":"a"}},{"type":"content","content":{"type":"text","text":"b"}}]`)},
			`{"status":"completed","output":"a\nb"}`,
		},
		"raw text":              {[]string{shell(`"status":"completed","rawOutput":"out"`)}, `{"status":"completed","output":"out"}`},
		"raw JSON":              {[]string{shell(`"status":"completed","rawOutput":{"n":1}`)}, `{"status":"completed","output":{"n":1}}`},
		"opencode":              {[]string{shell(`"status":"completed","rawOutput":{"output":"out","metadata":{"exit":3}}`)}, `{"status":"completed","output":"out","exitCode":3}`},
		"qwen":                  {[]string{shell(`"status":"failed","content":[{"type":"content","content":{"type":"text","text":"Command: x"}}],"rawOutput":{"type":"shell_result","output":"out","exitCode":3}`)}, `{"status":"error","output":"out","error":"exit code 3","exitCode":3}`},
		"qwen, nothing printed": {[]string{shell(`"status":"completed","content":[{"type":"content","content":{"type":"text","text":"Command: x\nOutput: (empty)"}}],"rawOutput":{"type":"shell_result","output":"","exitCode":0}`)}, `{"status":"completed","exitCode":0}`},
		"copilot":               {[]string{shell(`"status":"completed","rawOutput":{"content":"out","contents":[{"type":"shell_exit","exitCode":0}]}`)}, `{"status":"completed","output":"out","exitCode":0}`},
		"copilot fails":         {[]string{shell(`"status":"failed","rawOutput":{"message":"denied","code":"x"}`)}, `{"status":"error","error":"denied"}`},
		"claude's blocks":       {[]string{shell(`"status":"completed","rawOutput":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`)}, `{"status":"completed","output":"a\nb"}`},
		"codex": {
			[]string{
				`{"sessionUpdate":"tool_call","toolCallId":"t","kind":"execute","title":"x","status":"in_progress","content":[{"type":"terminal","terminalId":"t"}],"rawInput":{"command":"x"}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output_delta":{"data":"on"}}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed","_meta":{"terminal_output_delta":{"data":"e\n"},"terminal_exit":{"exit_code":2}}}`,
			},
			`{"status":"error","output":"one\n","error":"exit code 2","exitCode":2}`,
		},
		"failed without a word": {[]string{shell(`"status":"failed"`)}, `{"status":"error","error":"the tool failed"}`},
		"failed with a text":    {[]string{shell(`"status":"failed","content":[{"type":"content","content":{"type":"text","text":"why"}}]`)}, `{"status":"error","error":"why"}`},
		"cancelled":             {[]string{shell(`"status":"cancelled"`)}, `{"status":"cancelled"}`},
		"the description before is no output": {[]string{
			`ask {"toolCallId":"t","kind":"execute","title":"x","content":[{"type":"content","content":{"type":"text","text":"(why)"}}]}`,
			shell(`"status":"completed"`),
		}, `{"status":"completed"}`},
		"a read shows the file": {
			[]string{`{"sessionUpdate":"tool_call_update","toolCallId":"t","kind":"read","title":"r","status":"completed","content":[{"type":"content","content":{"type":"text","text":"l1"}}],"rawOutput":{"output":"<path>x</path>"}}`},
			`{"status":"completed","output":"l1"}`,
		},
	} {
		if got := jsonOf(endOf(t, c.updates...)); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestLiveOutput: what a running command prints is shown at once, each piece once.
func TestLiveOutput(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","kind":"execute","title":"x","status":"in_progress","rawInput":{"command":"x"}}`)
	for _, out := range []string{"one", "one", "one two", "one two three"} {
		b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"` + out + `"}}]}`)
	}
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"u","kind":"execute","title":"x","status":"in_progress","rawInput":{"command":"x"}}`)
	for _, out := range []string{"a", "b"} {
		b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"u","_meta":{"terminal_output_delta":{"data":"` + out + `"}}}`)
	}
	var got []string
	for _, d := range b.live {
		got = append(got, d.Call+":"+d.Text)
	}
	if s := strings.Join(got, "|"); s != "t:one|t: two|t: three|u:a|u:b" {
		t.Errorf("live %s", s)
	}
}

// TestOutputIsBounded: an agent that streams for ever does not fill our memory.
func TestOutputIsBounded(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","kind":"execute","title":"x","status":"in_progress","rawInput":{"command":"yes"}}`)
	piece := strings.Repeat("y\\n", 32<<10)
	for range 40 {
		b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output_delta":{"data":"` + piece + `"}}}`)
	}
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
	r := b.drafts[len(b.drafts)-1].Event.(contract.ToolCallEnd).Result
	if !r.Truncated || len(r.Output) > 2*MaxOutput {
		t.Errorf("output of %d bytes, truncated %v", len(r.Output), r.Truncated)
	}
}
