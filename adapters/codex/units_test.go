package codex

import (
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// A policy must see what the shell gets, and nothing else for it.
func TestRawCommand(t *testing.T) {
	for _, c := range [][2]string{
		{`/bin/bash -lc 'touch x; echo y'`, `touch x; echo y`},
		{`bash -c ls`, `ls`},
		{`/usr/bin/zsh -lc "echo \"hi\" \\ \n"`, `echo "hi" \ \n`},
		{`/bin/bash -lc 'it'"'"'s'`, `it's`},
		{`/bin/bash -lc 'it'\''s'`, `it's`},
		{`/bin/bash -lc 'a' 'b'`, `/bin/bash -lc 'a' 'b'`},
		{`/bin/bash -lc`, `/bin/bash -lc`},
		{`/bin/bash -x 'ls'`, `/bin/bash -x 'ls'`},
		{`/bin/bash -lc 'open`, `/bin/bash -lc 'open`},
		{`/bin/bash -lc "$(rm -rf x)"`, `/bin/bash -lc "$(rm -rf x)"`},
		{"/bin/bash -lc `rm`", "/bin/bash -lc `rm`"},
		{`/bin/bash -lc ls; rm x`, `/bin/bash -lc ls; rm x`},
		{`/bin/bash -lc ls > x`, `/bin/bash -lc ls > x`},
		{`python -c 'print(1)'`, `python -c 'print(1)'`},
		{`/bin/bash -lc ls\`, `/bin/bash -lc ls\`},
		{``, ``},
		{`ls -la`, `ls -la`},
	} {
		if got := rawCommand(c[0]); got != c[1] {
			t.Errorf("rawCommand(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}

// FuzzRawCommand: what is taken out of a list of words is one of the words that a
// shell makes of the list when it is quoted again.
func FuzzRawCommand(f *testing.F) {
	for _, s := range []string{"ls", "it's", `a "b" $c`, "two\nlines", `\`, "'", `"`, ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if strings.Contains(command, "\x00") {
			return
		}
		quoted := "'" + strings.ReplaceAll(command, "'", `'\''`) + "'"
		if got := rawCommand("/bin/bash -lc " + quoted); got != command {
			t.Errorf("rawCommand of %q = %q", quoted, got)
		}
		words, ok := shellWords(command)
		if ok && strings.ContainsAny(command, "$`;|&<>") && !strings.ContainsAny(command, `'"\`) {
			t.Errorf("shellWords(%q) = %q, want a refusal", command, words)
		}
	})
}

func parse(t *testing.T, s string) rawjson.Value {
	t.Helper()
	v, err := rawjson.Parse([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func TestFileDiffs(t *testing.T) {
	for _, c := range []struct {
		change string
		want   contract.FileDiff
	}{
		{`{"path":"/w/a","kind":{"type":"add"},"diff":"one\ntwo"}`, contract.FileDiff{
			Path: "/w/a", Status: contract.ChangeAdded, Additions: 2,
			Patch: "--- /dev/null\n+++ /w/a\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n",
		}},
		{`{"path":"/w/a","kind":{"type":"delete"},"diff":"one\n"}`, contract.FileDiff{
			Path: "/w/a", Status: contract.ChangeDeleted, Deletions: 1, Patch: "--- /w/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n",
		}},
		{`{"path":"/w/a","kind":{"type":"update","move_path":null},"diff":"@@ -1 +1 @@\n-hello\n+hallo\n"}`, contract.FileDiff{
			Path: "/w/a", Status: contract.ChangeModified, Additions: 1, Deletions: 1, Patch: "--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n-hello\n+hallo\n",
		}},
		{`{"path":"/w/a","kind":{"type":"update","move_path":"/w/b"},"diff":"@@ -1,2 +1,2 @@\n 1\n-2\n+TWO\n\n\nMoved to: /w/b"}`, contract.FileDiff{
			Path: "/w/b", OldPath: "/w/a", Status: contract.ChangeRenamed, Additions: 1, Deletions: 1,
			Patch: "--- /w/a\n+++ /w/b\n@@ -1,2 +1,2 @@\n 1\n-2\n+TWO\n",
		}},
		{`{"path":"/w/a","kind":{"type":"update","move_path":"/w/b"},"diff":"\n\nMoved to: /w/b"}`, contract.FileDiff{
			Path: "/w/b", OldPath: "/w/a", Status: contract.ChangeRenamed,
		}},
	} {
		got := fileDiffs(parse(t, "["+c.change+"]"))
		if len(got) != 1 || got[0].Path != c.want.Path || got[0].OldPath != c.want.OldPath || got[0].Status != c.want.Status ||
			got[0].Patch != c.want.Patch || got[0].Additions != c.want.Additions || got[0].Deletions != c.want.Deletions {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.change, got, c.want)
		}
	}
}

func TestErrorCodes(t *testing.T) {
	for _, c := range []struct {
		err  string
		code contract.ErrorCode
	}{
		{`{"message":"x","codexErrorInfo":"contextWindowExceeded"}`, contract.CodeContextFull},
		{`{"message":"x","codexErrorInfo":"usageLimitExceeded"}`, contract.CodeQuotaExceeded},
		{`{"message":"x","codexErrorInfo":"rateLimitExceeded"}`, contract.CodeRateLimited},
		{`{"message":"x","codexErrorInfo":"internalServerError"}`, contract.CodeOverloaded},
		{`{"message":"x","codexErrorInfo":"unauthorized"}`, contract.CodeAuthRequired},
		{`{"message":"x","codexErrorInfo":"cyberPolicy"}`, contract.CodeRefusal},
		{`{"message":"x","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":401}}}`, contract.CodeAuthRequired},
		{`{"message":"x","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":404}}}`, contract.CodeInvalidRequest},
		{`{"message":"x","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}`, contract.CodeRateLimited},
		{`{"message":"x","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}`, contract.CodeNetwork},
		{`{"message":"stream disconnected before completion: idle timeout waiting for SSE","codexErrorInfo":"other"}`, contract.CodeTimeout},
		{`{"message":"stream disconnected before completion: oops","codexErrorInfo":"other"}`, contract.CodeNetwork},
		{`{"message":"Incomplete response returned, reason: max_output_tokens","codexErrorInfo":"other"}`, contract.CodeMaxTokens},
		{`{"message":"{\"error\":{\"message\":\"bad\"}}","codexErrorInfo":"other"}`, contract.CodeInvalidRequest},
		{`{"message":"x","codexErrorInfo":{"somethingNew":[1]}}`, contract.CodeAgentError},
		{`{"message":"x","codexErrorInfo":7}`, contract.CodeAgentError},
		{`{}`, contract.CodeAgentError},
	} {
		if e := turnError(parse(t, c.err)); e.code != c.code || e.message == "" {
			t.Errorf("%s = %+v, want %s", c.err, e, c.code)
		}
	}
}

// Names are those of the policy, and a mixture is the widest of them.
func TestFileNames(t *testing.T) {
	for changes, want := range map[string]string{
		`[{"kind":{"type":"add"}}]`:                               "write",
		`[{"kind":{"type":"delete"}},{"kind":{"type":"delete"}}]`: "delete",
		`[{"kind":{"type":"update","move_path":"/b"}}]`:           "move",
		`[{"kind":{"type":"update"}}]`:                            "edit",
		`[{"kind":{"type":"add"}},{"kind":{"type":"delete"}}]`:    "edit",
		`[{"kind":{"type":"something-new"}}]`:                     "edit",
		`[]`:                                                      "edit",
		`[{"path":"/w/a","kind":{"type":"update","move_path":"/w/b"},"diff":""}]`: "move",
	} {
		v := view{it: parse(t, `{"changes":`+changes+`}`), dir: "/w"}
		if got := filesName(v); got != want {
			t.Errorf("%s = %q, want %q", changes, got, want)
		}
	}
	v := view{it: parse(t, `{"changes":[{"path":"/w/a","kind":{"type":"update","move_path":"/x/b"},"diff":""}]}`), dir: "/w"}
	var paths []string
	for e := range rawjson.Value(filesArgs(v)).Get("paths").Elements() {
		paths = append(paths, e.Text())
	}
	if !slices.Equal(paths, []string{"/w/a", "/x/b"}) {
		t.Errorf("paths = %q, want both ends of the move", paths)
	}
}

// What the server refuses has a code by its words, and the list of all methods that
// comes with an unknown one is cut.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		code    int64
		message string
		want    contract.ErrorCode
	}{
		{-32600, "Invalid request: unknown variant `thread/rollback`, expected one of " + strings.Repeat("`thread/start`, ", 500), contract.CodeUnsupported},
		{-32600, "thread/queue/add requires experimentalApi capability", contract.CodeUnsupported},
		{-32600, "thread/revert only supports paginated threads", contract.CodeUnsupported},
		{-32601, "items/list is not there yet", contract.CodeUnsupported},
		{-32602, "input is too large", contract.CodeInvalidRequest},
		{-32600, "no rollout found for thread id x", contract.CodeSessionNotFound},
		{-32600, "something else", contract.CodeAgentError},
		{-32600, "", contract.CodeAgentError},
	} {
		e := refusal(&jsonrpc.Error{Code: c.code, Message: c.message})
		if e.code != c.want || e.message == "" || len(e.message) > 600 {
			t.Errorf("%.60q = %s with %d bytes, want %s", c.message, e.code, len(e.message), c.want)
		}
	}
}
