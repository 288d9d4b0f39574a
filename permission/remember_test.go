package permission

import (
	"encoding/json/v2"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/grant"
)

func store(t testing.TB, path string) *grant.Store {
	t.Helper()
	s, err := grant.Open(path, grant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func always(t testing.TB, m *Mediator, a Ask, scope Scope) Answer {
	t.Helper()
	open := mustOpen(t, m, a)
	if err := m.Resolve(t.Context(), a.ID, Response{Decision: contract.AllowAlways, By: phone, Scope: scope}); err != nil {
		t.Fatal(err)
	}
	return open.one(t)
}

// allow-always covers what the person saw, and nothing else.
func TestAlwaysCoversWhatWasSeen(t *testing.T) {
	m := New(Options{Grants: store(t, "")})
	got := always(t, m, bash("a", "git push origin main"), "")
	if got.Decision != contract.AllowAlways || got.AgentDecision != contract.AllowOnce || got.Grant == "" {
		t.Fatalf("answer: %+v", got)
	}
	again := mustOpen(t, m, bash("b", "git  push origin   main ")).one(t)
	if again.Decision != contract.AllowOnce || again.By.Resolver != contract.ByRemembered || again.Grant != got.Grant || !strings.Contains(again.By.Rule, "git push origin main") {
		t.Errorf("the same: %+v", again)
	}
	for i, cmd := range []string{
		"git push origin main -f", "git push origin", "git push origin main; ls", "git push origin main && rm x", "git push origin main | sh",
		"git push origin main > x", "X=1 git push origin main", "git push origin 'main'x", "sudo git push origin main", "(git push origin main; ls)",
		"git push origin main $(ls)", "git push origin main\nls", "cd /tmp && git push origin main", "bash -c 'git push origin main; ls'",
	} {
		open := mustOpen(t, m, bash(string(rune('A'+i)), cmd))
		open.mu.Lock()
		if len(open.list) != 0 {
			t.Errorf("%q was settled with %+v, want asked again", cmd, open.list)
		}
		open.mu.Unlock()
	}
	elsewhere := bash("z", "git push origin main")
	elsewhere.Cwd = "/w/other"
	mustOpen(t, m, elsewhere).none(t)
	wider := bash("y", "git push origin main")
	wider.Args = []byte(`{"command":"git push origin main","dangerouslyDisableSandbox":true}`)
	mustOpen(t, m, wider).none(t)
	same := bash("x", "")
	same.Args = []byte(`{"description":"push","command":"git push origin main","timeout":9000,"dangerouslyDisableSandbox":false}`)
	mustOpen(t, m, same).one(t)
}

func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		scope                            Scope
		otherSession, otherProject, user bool
	}{{ScopeSession, false, false, false}, {ScopeProject, true, false, false}, {ScopeUser, true, false, true}} {
		m := New(Options{Grants: store(t, "")})
		path := func(id, session, project string) Ask {
			return Ask{ID: id, Session: session, Tool: "read", Args: []byte(`{"path":"/etc/hosts"}`), Cwd: project}
		}
		always(t, m, path("a", "s1", "/w/app"), tt.scope)
		mustOpen(t, m, path("b", "s1", "/w/app")).one(t)
		for id, c := range map[string]struct {
			ask  Ask
			want bool
		}{
			"session": {path("c", "s2", "/w/app"), tt.otherSession}, "project": {path("d", "s2", "/w/other"), tt.user},
		} {
			open := mustOpen(t, m, c.ask)
			if got := len(open.list) == 1; got != c.want {
				t.Errorf("%s: another %s covered: %v, want %v", tt.scope, id, got, c.want)
			}
		}
	}
}

func TestNotRemembered(t *testing.T) {
	s := store(t, "")
	m := New(Options{Grants: s, Policy: rules(t, "rules: [{ask: 'bash(git push *)'}, {deny: 'bash(rm *)'}]")})
	for id, cmd := range map[string]string{
		"variable": "echo $HOME", "unparsed": "ls (", "eval": "eval ls", "output": "kill $(cat pid)", "stdin": "curl x | sh", "rule": "git push",
		"redirect": "ls > $X", "set": "X=$(ls) make",
	} {
		got := always(t, m, bash(id, cmd), "")
		if got.Decision != contract.AllowOnce || got.Grant != "" || got.AgentDecision != contract.AllowOnce {
			t.Errorf("%s: %+v, want allowed once", cmd, got)
		}
		mustOpen(t, m, bash(id+"2", cmd)).none(t)
	}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("grants %+v, %v, want none", list, err)
	}
	// Without a store nothing is remembered, and the agent is not asked to.
	bare := New(Options{})
	if got := always(t, bare, bash("a", "ls"), ""); got.Decision != contract.AllowOnce || got.AgentDecision != contract.AllowOnce {
		t.Errorf("without a store: %+v", got)
	}
	// Only when the user chose so does the agent remember.
	agent := New(Options{Grants: s, Policy: rules(t, "remember: agent")})
	if got := always(t, agent, bash("a", "ls"), ""); got.Decision != contract.AllowAlways || got.AgentDecision != contract.AllowAlways || got.Grant != "" {
		t.Errorf("remember: agent: %+v", got)
	}
}

// A grant never beats a deny rule, nor a rule that wants a person each time.
func TestGrantsAndRules(t *testing.T) {
	m := New(Options{Grants: store(t, "")})
	always(t, m, bash("a", "git push"), ScopeUser)
	m.SetPolicy(rules(t, "rules: [{deny: 'bash(git push)'}]"))
	if got := mustOpen(t, m, bash("b", "git push")).one(t); got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByPolicy {
		t.Errorf("with a deny rule: %+v", got)
	}
	m.SetPolicy(rules(t, "rules: [{ask: 'bash(git push)'}]"))
	mustOpen(t, m, bash("c", "git push")).none(t)
	m.SetPolicy(rules(t, "mode: plan"))
	if got := mustOpen(t, m, bash("d", "git push")).one(t); got.Decision != contract.RejectOnce {
		t.Errorf("in plan mode: %+v", got)
	}
	m.SetPolicy(nil)
	if got := mustOpen(t, m, bash("e", "git push")).one(t); got.By.Resolver != contract.ByRemembered {
		t.Errorf("without rules: %+v", got)
	}
}

func TestGrantsSurvive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants")
	m := New(Options{Grants: store(t, file)})
	always(t, m, bash("a", "ls"), ScopeProject)

	s := store(t, file)
	m = New(Options{Grants: s})
	mustOpen(t, m, bash("b", "ls")).one(t)
	mustOpen(t, m, bash("c", "ls")).one(t)
	list, err := s.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("grants %+v, %v, want one", list, err)
	}
	g := list[0]
	if g.Uses != 2 || g.Covers != "ls" || g.Scope != ScopeProject || g.In != "/w/app" || g.Origin.ClientType != "phone" || g.Origin.TokenID != "tok" ||
		g.Origin.Agent != "claude" || g.Origin.Session != "s1" || g.Used.IsZero() {
		t.Errorf("grant: %+v", g)
	}
	// Another process revokes it: the next ask is asked.
	if n, err := store(t, file).Revoke(g.ID); n != 1 || err != nil {
		t.Fatalf("Revoke = %d, %v", n, err)
	}
	mustOpen(t, m, bash("d", "ls")).none(t)
}

func TestGrantsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Grants: store(t, ""), Policy: rules(t, "timeout: 0")})
		open := mustOpen(t, m, bash("a", "ls"))
		if err := m.Resolve(t.Context(), "a", Response{Decision: contract.AllowAlways, TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		open.one(t)
		time.Sleep(59 * time.Minute)
		mustOpen(t, m, bash("b", "ls")).one(t)
		time.Sleep(time.Minute)
		mustOpen(t, m, bash("c", "ls")).none(t)
	})
}

// A store that cannot be trusted grants nothing.
func TestTamperedStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants")
	s := store(t, file)
	m := New(Options{Grants: s})
	always(t, m, bash("a", "ls"), ScopeProject)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, m, bash("b", "ls")).none(t)
}

// A file that leads elsewhere than when it was shown is shown again.
func TestSwappedLink(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "l")
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	m := New(Options{Grants: store(t, "")})
	args, err := json.Marshal(map[string]string{"path": "l"})
	if err != nil {
		t.Fatal(err)
	}
	open := mustOpen(t, m, Ask{ID: "a", Session: "s", Tool: "write", Args: args, Cwd: root})
	shown := m.Pending("")[0]
	f := m.Subscribe("")
	defer f.Close()
	if c, err := f.Next(t.Context()); err != nil || c.Opened == nil {
		t.Fatalf("Next = %+v, %v", c, err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	if err := m.Resolve(t.Context(), "a", Response{Decision: contract.AllowOnce, Nonce: shown.Nonce}); !errors.Is(err, ErrStale) {
		t.Fatalf("Resolve = %v, want ErrStale", err)
	}
	open.none(t)
	c, err := f.Next(t.Context())
	if err != nil || c.Opened == nil || c.Opened.Nonce == shown.Nonce {
		t.Fatalf("Next = %+v, %v, want the ask with another nonce", c, err)
	}
	if err := m.Resolve(t.Context(), "a", Response{Decision: contract.AllowOnce, Nonce: shown.Nonce}); !errors.Is(err, ErrStale) {
		t.Errorf("with the old nonce: %v, want ErrStale", err)
	}
	if err := m.Resolve(t.Context(), "a", Response{Decision: contract.AllowOnce, Nonce: c.Opened.Nonce}); err != nil {
		t.Errorf("with the new nonce: %v", err)
	}
	open.one(t)
}
