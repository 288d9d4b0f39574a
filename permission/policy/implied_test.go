package policy

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// What a tool amounts to: text typed into a program, a host to reach, more
// permissions. Deny and ask rules for the deed itself count, allow rules do not.
func TestImplied(t *testing.T) {
	p, err := FromFlags(Flags{
		Allow: []string{"bash(*)", "read(**/*)", "write(**/*)", "web-fetch(*)", "network-access(example.com, *.golang.org)", "write-stdin"},
		Ask:   []string{"bash(git push *)"},
		Deny:  []string{"bash(rm -rf /**)", "edit(**/.env)", "web-fetch(evil.com)"},
	}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := FromFlags(Flags{Allow: []string{"request-permissions", "write-stdin(y, yes)"}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := FromFlags(Flags{Deny: []string{"network-access"}, Allow: []string{"web-fetch(*)"}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	const (
		def    = contract.ModeDefault
		edits  = contract.ModeAcceptEdits
		plan   = contract.ModePlan
		bypass = contract.ModeBypassPermissions
	)
	for _, tt := range []struct {
		p          *Policy
		mode       contract.PermissionMode
		tool, args string
		want       Verdict
	}{
		{p, def, "write-stdin", `{"command":"yes"}`, Allow},
		{p, def, "write-stdin", `{"command":"yes\n"}`, Allow},
		{p, def, "write-stdin", `{"command":"rm -rf /etc\n"}`, Deny},
		{p, def, "write-stdin", `{"command":"sudo rm -rf /etc"}`, Deny},
		{p, def, "write-stdin", `{"command":"cat .env; rm .env"}`, Deny},
		{p, def, "write-stdin", `{"command":"echo x > .env"}`, Deny},
		{p, def, "write-stdin", `{"command":"git push origin main"}`, Ask},
		{p, def, "write-stdin", `{"command":"$X"}`, Ask},
		{p, def, "write-stdin", `{"command":"for x in"}`, Ask},
		{p, bypass, "write-stdin", `{"command":"yes"}`, Allow},
		{p, bypass, "write-stdin", `{"command":"rm -rf /etc"}`, Deny},
		{p, bypass, "write-stdin", `{"command":"(("}`, Ask},
		{p, plan, "write-stdin", `{"command":"yes"}`, Deny},
		{bare, def, "write-stdin", `{"command":"yes\n"}`, Allow},
		{bare, def, "write-stdin", `{"command":"yes\nrm x"}`, Ask},
		{bare, def, "write-stdin", `{"command":"y; rm x"}`, Ask},
		{bare, def, "write-stdin", `{"command":"y","cmd":"rm x"}`, Ask},
		{bare, def, "write-stdin", `{}`, Ask},
		{p, def, "network-access", `{"host":"example.com"}`, Allow},
		{p, def, "network-access", `{"host":"proxy.golang.org","call":{"command":"go build"}}`, Allow},
		{p, def, "network-access", `{"host":"other.com"}`, Ask},
		{p, def, "network-access", `{"host":"example.com:22"}`, Ask},
		{p, def, "network-access", `{"host":"evil.com"}`, Deny},
		{p, def, "network-access", `{"host":"EVIL.com."}`, Deny},
		{p, bypass, "network-access", `{"host":"evil.com"}`, Deny},
		{p, bypass, "network-access", `{"host":"other.com"}`, Allow},
		{p, def, "network-access", `{}`, Ask},
		{p, def, "network-access", `{"call":{"host":"example.com"}}`, Ask},
		{p, edits, "network-access", `{"host":"other.com"}`, Ask},
		{p, plan, "network-access", `{"host":"example.com"}`, Deny},
		{closed, def, "network-access", `{"host":"example.com"}`, Deny},
		{closed, def, "web-fetch", `{"url":"https://example.com"}`, Allow},
		{p, def, "request-permissions", `{"path":"/w/x","paths":["/w/x"],"permissions":{}}`, Ask},
		{p, def, "request-permissions", `{"paths":["src/.env"]}`, Deny},
		{p, bypass, "request-permissions", `{"paths":["src"]}`, Ask},
		{p, bypass, "request-permissions", `{"permissions":{"network":{"enabled":true}}}`, Ask},
		{bare, bypass, "request-permissions", `{"paths":["src"]}`, Allow},
		{bare, def, "request-permissions", `{"paths":["src"]}`, Allow},
		{bare, def, "request-permissions", `{"paths":["src"],"paths":["/"]}`, Ask},
		{bare, plan, "request-permissions", `{"paths":["src"]}`, Deny},
		{bare, edits, "request-permissions", `{"paths":["src"]}`, Allow},
		{p, edits, "request-permissions", `{"paths":["src"]}`, Ask},
	} {
		q := Request{Tool: tt.tool, Args: jsontext.Value(tt.args), Cwd: "/w/app"}
		if got := tt.p.Judge(tt.p.Analyse(q), tt.mode); got.Verdict != tt.want {
			t.Errorf("%s: %s %s = %s, want %s\n%s", tt.mode, tt.tool, tt.args, got.Verdict, tt.want, text(got))
		}
	}
	for tool, want := range map[string]bool{"write-stdin": false, "network-access": true, "request-permissions": true} {
		q := Request{Tool: tool, Args: jsontext.Value(`{"command":"y","host":"example.com","paths":["x"]}`), Cwd: "/w/app"}
		if _, ok := testEnv.Analyse(q).Key(); ok != want {
			t.Errorf("%s can be remembered: %v, want %v", tool, ok, want)
		}
	}
}
