package policy

import (
	"encoding/json/jsontext"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// What a call is about is found whatever the agent calls the argument; several
// subjects must all be allowed, and none is not allowed.
func TestSubjects(t *testing.T) {
	p, err := FromFlags(Flags{
		Allow: []string{
			"read(ok/**)", "edit(ok/**)", "write(ok/**)", "move(ok/**)", "list(ok/**)", "notebook-edit(ok/**)", "view-image(ok/**)",
			"grep(ok/**)", "glob(ok/**)", "bash(ls *)", "web-fetch(example.com)", "mcp(github/get_*)", "web-search", "todo(*)", "delete",
		},
		Deny: []string{"edit(secret)"},
	}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool, args string
		want       Verdict
	}{
		// Names of the path.
		{"read", `{"path":"ok/a"}`, Allow},
		{"read", `{"file_path":"ok/a"}`, Allow},
		{"read", `{"filePath":"ok/a","offset":1}`, Allow},
		{"read", `{"absolute_path":"/w/app/ok/a"}`, Allow},
		{"read", `{"abs_path":"ok/a"}`, Allow},
		{"read", `{"absPath":"ok/a"}`, Allow},
		{"read", `{"target_file":"ok/a"}`, Allow},
		{"read", `{"filepath":"ok/a"}`, Allow},
		{"read", `{"FilePath":"ok/a"}`, Allow},
		{"read", `{"paths":["ok/a","ok/b"]}`, Allow},
		{"read", `{"files":[{"path":"ok/a"},{"path":"ok/b"}]}`, Allow},
		{"read", `{"locations":[{"path":"ok/a","line":3}]}`, Allow},
		{"notebook-edit", `{"notebook_path":"ok/a","new_source":"x"}`, Allow},
		{"view-image", `{"path":"ok/a.png"}`, Allow},
		{"list", `{"dir_path":"ok/x"}`, Allow},
		{"read", `{"path":"a"}`, Ask},
		{"read", `{"file_path":"a"}`, Ask},
		{"read", `{"absolute_path":"/etc/passwd"}`, Ask},
		{"read", `{"path":"ok/a","file_path":"/etc/passwd"}`, Ask},
		{"read", `{"path":"ok/a","Path":"/etc/passwd"}`, Ask},
		{"read", `{"paths":["ok/a","/etc/passwd"]}`, Ask},
		{"read", `{"files":[{"path":"ok/a"},{"path":"b"}]}`, Ask},
		{"read", `{"files":["ok/a",{"path":"b"}]}`, Ask},
		{"edit", `{"path":"secret"}`, Deny},
		{"edit", `{"path":"ok/a","filePath":"secret"}`, Deny},
		// Missing, empty, unreadable.
		{"read", `{}`, Ask},
		{"read", ``, Ask},
		{"read", `null`, Ask},
		{"read", `[]`, Ask},
		{"read", `"ok/a"`, Ask},
		{"read", `{"path":""}`, Ask},
		{"read", `{"path":null}`, Ask},
		{"read", `{"path":" "}`, Ask},
		{"read", `{"path":1}`, Ask},
		{"read", `{"path":{"x":"ok/a"}}`, Ask},
		{"read", `{"path":[]}`, Ask},
		{"read", `{"path":"ok/a","path":"/etc/passwd"}`, Ask},
		{"read", `{"path":"/etc/passwd","path":"ok/a"}`, Ask},
		{"read", `{"path":"ok/a"`, Ask},
		{"read", `{"path":"ok/a"} {"path":"b"}`, Ask},
		{"read", `{"path":"ok/a\ud800"}`, Ask},
		{"read", `{"offset":1}`, Ask},
		{"read", `{"path":["ok/a",1]}`, Ask},
		{"list", `{}`, Ask},
		{"delete", `{}`, Ask},
		{"delete", `{"path":"x"}`, Allow},
		// Patches.
		{"edit", `{"patch":"*** Begin Patch\n*** Update File: ok/a\n@@\n-x\n+y\n*** End Patch"}`, Allow},
		{"edit", `{"input":"*** Begin Patch\n*** Add File: ok/a\n+x\n*** Delete File: ok/b\n*** End Patch"}`, Allow},
		{"edit", `{"patch":"*** Begin Patch\n*** Update File: ok/a\n*** Update File: b\n*** End Patch"}`, Ask},
		{"edit", `{"patch":"*** Begin Patch\n*** Update File: ok/a\n*** Move to: b\n*** End Patch"}`, Ask},
		{"edit", `{"patch":"*** Begin Patch\n  *** Update File: secret\n*** End Patch"}`, Deny},
		{"edit", `{"diff":"--- a/ok/a\n+++ b/ok/a\n@@ -1 +1 @@\n-x\n+y\n"}`, Allow},
		{"edit", `{"diff":"--- ok/a\n+++ ok/a\n"}`, Allow},
		{"edit", `{"diff":"--- a/ok/a\n+++ b/b\n"}`, Ask},
		{"edit", `{"diff":"--- /dev/null\n+++ b/ok/new\n"}`, Allow},
		{"edit", `{"diff":"diff --git a/ok/a b/ok/b\nrename from ok/a\nrename to ok/b\n"}`, Allow},
		{"edit", `{"diff":"diff --git a/ok/a b/b\nrename from ok/a\nrename to b\n"}`, Ask},
		{"edit", `{"diff":"--- \"a/ok/a\"\n+++ \"b/ok/a\"\n"}`, Ask},
		{"edit", `{"patch":"nothing"}`, Ask},
		{"edit", `{"path":"ok/a","diff":"--- a/secret\n+++ b/secret\n"}`, Deny},
		{"edit", `{"changes":[{"path":"ok/a","kind":{"type":"update","move_path":null},"diff":"@@\n"}]}`, Allow},
		{"edit", `{"changes":[{"path":"ok/a","kind":{"type":"update","move_path":"/etc/x"},"diff":""}]}`, Ask},
		{"edit", `{"changes":[{"path":"ok/a"},{"path":"secret"}]}`, Deny},
		{"edit", `{"changes":{"ok/a":{"type":"add"}}}`, Allow},
		{"edit", `{"changes":{"ok/a":{"type":"add"},"b":{"type":"add"}}}`, Ask},
		{"edit", `{"changes":{"ok/a":{"move_path":"b"}}}`, Ask},
		{"edit", `{"file_path":"ok/a","edits":[{"old_text":"x","new_text":"y"}]}`, Allow},
		{"edit", `{"edits":[{"file_path":"ok/a"},{"file_path":"b"}]}`, Ask},
		{"edit", `{"changes":[]}`, Ask},
		{"move", `{"source":"ok/a","destination":"ok/b"}`, Allow},
		{"move", `{"source":"ok/a","destination":"/etc/b"}`, Ask},
		{"move", `{"from":"a","to":"ok/b"}`, Ask},
		// Searches.
		{"grep", `{"pattern":"x","path":"ok/sub"}`, Allow},
		{"grep", `{"pattern":"x"}`, Ask},
		{"glob", `{"pattern":"**/*.go","path":"ok"}`, Allow},
		{"glob", `{"pattern":"/etc/**","path":"ok"}`, Ask},
		{"glob", `{"pattern":"../**","path":"ok"}`, Ask},
		{"glob", `{"pattern":"*/../../x","path":"ok"}`, Ask},
		// Commands.
		{"bash", `{"command":"ls"}`, Allow},
		{"bash", `{"cmd":"ls -l"}`, Allow},
		{"bash", `{"command":["ls","-l"]}`, Allow},
		{"bash", `{"command":["bash","-lc","ls && ls"]}`, Allow},
		{"bash", `{"command":["bash","-lc","ls; rm x"]}`, Ask},
		{"bash", `{"command":["ls","a;rm x"]}`, Allow},
		{"bash", `{"command":["ls; rm x"]}`, Ask},
		{"bash", `{"command":"ls","cmd":"rm x"}`, Ask},
		{"bash", `{"command":"ls","Command":"ls"}`, Ask},
		{"bash", `{"command":""}`, Ask},
		{"bash", `{"command":"  \n "}`, Ask},
		{"bash", `{}`, Ask},
		{"bash", `{"command":"#"}`, Ask},
		{"bash", `{"command":";"}`, Ask},
		{"bash", `{"command":null}`, Ask},
		{"bash", `{"command":[]}`, Ask},
		{"bash", `{"command":"ls","env":{"PATH":"/tmp"}}`, Ask},
		{"bash", `{"command":"ls","env":{}}`, Allow},
		{"bash", `{"command":"ls","description":"x","timeout":5}`, Allow},
		{"bash", `{"command":"ls","workdir":"/tmp"}`, Allow},
		{"bash", `{"command":"ls","command":"rm x"}`, Ask},
		{"bash", `{"command":"ls","args":["-l"]}`, Allow},
		{"bash", `{"command":"git","args":["push"]}`, Ask},
		{"bash", `{"command":"sh","args":["-c","rm x"]}`, Ask},
		{"bash", `{"command":"sh","args":["-c","ls"]}`, Allow},
		{"bash", `{"command":"ls -l","args":["x"]}`, Ask},
		{"bash", `{"command":"ls","args":[]}`, Allow},
		{"bash", `{"args":["ls"]}`, Ask},
		// Addresses.
		{"web-fetch", `{"url":"https://example.com/x","prompt":"y"}`, Allow},
		{"web-fetch", `{"URL":"https://example.com"}`, Allow},
		{"web-fetch", `{"url":"https://example.com","href":"https://evil.com"}`, Ask},
		{"web-fetch", `{"urls":["https://example.com","https://evil.com"]}`, Ask},
		{"web-fetch", `{"prompt":"https://example.com"}`, Ask},
		{"web-fetch", `{"url":""}`, Ask},
		// Tools by name.
		{"mcp/github/get_issue", `{"id":1}`, Allow},
		{"mcp/github/GET_issue", `{}`, Ask},
		{"mcp/github/delete_repo", `{}`, Ask},
		{"mcp/evil/get_x", `{}`, Ask},
		{"mcp/github/get_/x", `{}`, Ask},
		{"mcp/github", `{}`, Ask},
		{"mcp/", `{}`, Ask},
		{"mcp//get_x", `{}`, Ask},
		{"mcp", `{}`, Ask},
		{"web-search", `{"id":"1","id":"2"}`, Allow},
		{"todo", `{}`, Allow},
		{"other", `{}`, Ask},
		{"", `{}`, Ask},
	} {
		q := Request{Tool: tt.tool, Args: jsontext.Value(tt.args), Cwd: "/w/app"}
		if got := p.Judge(p.Analyse(q), contract.ModeDefault); got.Verdict != tt.want {
			t.Errorf("%s %s = %s, want %s\n%s", tt.tool, tt.args, got.Verdict, tt.want, text(got))
		}
	}
}

func TestURLs(t *testing.T) {
	p, err := FromFlags(Flags{
		Allow: []string{"web-fetch(example.com, *.example.org/docs/**, https://only.tls/*, port.test:8080, domain:dom.test, [::1]:8080/x)"},
		Deny:  []string{"web-fetch(*.evil.com, evil.com, example.com/private/**, 127.0.0.1)"},
	}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		url  string
		want Verdict
	}{
		{"https://example.com", Allow},
		{"https://example.com/", Allow},
		{"https://example.com/a/b?c=d#e", Allow},
		{"http://example.com/a", Allow},
		{"HTTPS://EXAMPLE.COM/a", Allow},
		{"https://example.com.", Allow},
		{"https://example.com:443/a", Allow},
		{"example.com/a", Allow},
		{"https://example.com:8443/a", Ask},
		{"https://www.example.com/", Ask},
		{"https://example.com.evil.net/", Ask},
		{"https://notexample.com", Ask},
		{"https://example.com@evil.com/", Deny},
		{"https://user:pw@example.com/", Ask},
		{"https://evil.com#@example.com", Deny},
		{"https://evil.net\\@example.com", Ask},
		{"https://example.com\\.evil.net", Ask},
		{"https://evil.net/https://example.com", Ask},
		{"https://exаmple.com", Ask},
		{"https://example。com", Ask},
		{"https://example.com%2eevil.net", Ask},
		{"ftp://example.com", Ask},
		{"file:///etc/passwd", Ask},
		{"javascript:alert(1)", Ask},
		{"//example.com", Ask},
		{"https:///x", Ask},
		{"https://", Ask},
		{" https://example.com", Ask},
		{"https://exam\tple.com", Ask},
		{"https://example.com/\n", Ask},
		{"", Ask},
		{"https://x.example.org/docs/a", Allow},
		{"https://a.b.example.org/docs/a/b", Allow},
		{"https://example.org/docs/a", Ask},
		{"https://x.example.org/other", Ask},
		{"https://x.example.org/docs/../other", Ask},
		{"https://x.example.org/docs/%2e%2e/other", Ask},
		{"https://x.example.org/docs/%2fx", Ask},
		{"https://only.tls/a", Allow},
		{"http://only.tls/a", Ask},
		{"https://only.tls/a/b", Ask},
		{"http://port.test:8080/x", Allow},
		{"http://port.test/x", Ask},
		{"https://dom.test/x", Allow},
		{"http://[::1]:8080/x", Allow},
		{"https://evil.com", Deny},
		{"https://EVIL.com:8443/x", Deny},
		{"http://a.evil.com", Deny},
		{"https://evil.com./", Deny},
		{"https://example.com/private/x", Deny},
		{"https://example.com/PRIVATE/x", Deny},
		{"https://example.com/a/../private/x", Deny},
		{"https://example.com/%70rivate/x", Deny},
		{"http://127.0.0.1:8080/", Deny},
		{"http://2130706433/", Ask},
		{"http://0x7f.1/", Ask},
		{"http://127.1/", Ask},
	} {
		q := Request{Tool: "web-fetch", Cwd: "/w/app"}
		quoted, err := jsontext.AppendQuote(nil, tt.url)
		if err != nil {
			t.Fatal(err)
		}
		q.Args = jsontext.Value(`{"url":` + string(quoted) + `}`)
		if got := p.Judge(p.Analyse(q), contract.ModeDefault); got.Verdict != tt.want {
			t.Errorf("%q = %s, want %s\n%s", tt.url, got.Verdict, tt.want, text(got))
		}
	}
}

func TestPatchPaths(t *testing.T) {
	for _, tt := range []struct {
		patch string
		want  []string
	}{
		{"", nil},
		{"*** Begin Patch\n*** Update File: a b.go\n*** Move to: c.go\n*** Add File: d\n*** Delete File: e\n", []string{"a b.go", "c.go", "d", "e"}},
		{"*** Update File: a\r\n", []string{"a"}},
		{"--- a/x\t2020\n+++ b/x\t2020\n", []string{"x"}},
		{"--- a/x\n+++ b/y\n", []string{"x", "y"}},
		{"--- a/x\n+++ /dev/null\n", []string{"x"}},
		{"--- a/x\n+++ y\n", []string{"a/x", "y"}},
		{"diff --git a/x y b/z\nsimilarity index 100%\nrename from x y\nrename to z\n", []string{"x y", "z"}},
		{"@@\n+x\n\nMoved to: y\n", []string{"y"}},
		{"+++ \"b/x\"\n", []string{"", "b/x"}},
	} {
		got := patchPaths(tt.patch)
		if !slices.Equal(got, tt.want) {
			t.Errorf("patchPaths(%q) = %q, want %q", tt.patch, got, tt.want)
		}
	}
	if got := patchPaths(strings.Repeat("*** Add File: a\n*** Add File: b\n", 10000)); len(got) != 2 {
		t.Errorf("%d paths, want 2", len(got))
	}
}

// Rules for addresses are about the programs that fetch them, too.
func TestCommandsThatFetch(t *testing.T) {
	p, err := FromFlags(Flags{Allow: []string{"bash(curl *, echo *, git clone *)"}, Ask: []string{"web-fetch(ask.com)"}, Deny: []string{"web-fetch(evil.com)"}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command string
		want    Verdict
	}{
		{"curl https://example.com", Allow},
		{"curl https://evil.com/x", Deny},
		{"curl evil.com", Deny},
		{"curl -sS 'https://EVIL.com:8443'", Deny},
		{"curl --url=https://evil.com", Deny},
		{"wget evil.com/x", Deny},
		{"echo https://evil.com", Allow},
		{"curl https://ask.com", Ask},
		{"bash -c 'curl evil.com'", Deny},
		{"curl https://example.com/evil.com", Allow},
	} {
		if got := Explain(p, command(t, tt.command), contract.ModeDefault); got.Verdict != tt.want {
			t.Errorf("%q = %s, want %s\n%s", tt.command, got.Verdict, tt.want, text(got))
		}
	}
}

// A rule for every use of a tool says nothing about programs that nobody knows; one
// for certain files does.
func TestUnknownPrograms(t *testing.T) {
	p, err := FromFlags(Flags{Allow: []string{"bash(frob *, cat *)"}, Deny: []string{"read", "edit(**/.env)", "list(/etc/**)"}, Ask: []string{"read(**/*.key)"}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[string]Verdict{
		"frob x": Allow, "frob .env": Ask, "frob --out=.env": Ask, "frob -o.env": Ask, "frob a.key": Ask, "frob": Allow, "frob /etc/x": Ask, "cat x": Deny,
	} {
		if got := Explain(p, command(t, cmd), contract.ModeDefault); got.Verdict != want {
			t.Errorf("%q = %s, want %s\n%s", cmd, got.Verdict, want, text(got))
		}
	}
}
