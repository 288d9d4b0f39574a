package permission

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/permission/grant"
	"github.com/agenthost/agenthost/permission/policy"
)

// crowded is a mediator with n rules and n grants, and the asks that they answer.
func crowded(t testing.TB, n int) (*Mediator, []Ask) {
	t.Helper()
	var c policy.Config
	for i := range n {
		r := policy.RuleConfig{Allow: fmt.Sprintf("bash(tool%d run *)", i)}
		switch i % 5 {
		case 0:
			r = policy.RuleConfig{Deny: fmt.Sprintf("bash(tool%d --force *)", i)}
		case 1:
			r = policy.RuleConfig{Deny: fmt.Sprintf("edit(**/secret%d/**)", i)}
		case 2:
			r = policy.RuleConfig{Allow: fmt.Sprintf("read(${cwd}/dir%d/**)", i)}
		case 3:
			r = policy.RuleConfig{Ask: fmt.Sprintf("mcp(server%d/*)", i)}
		}
		c.Rules = append(c.Rules, r)
	}
	p, err := policy.Compile(c, policy.Env{Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	s := store(t, filepath.Join(t.TempDir(), "grants"))
	m := New(Options{Policy: p, Grants: s, OnAsk: policy.OnAskDeny, Audit: &failingWriter{}})
	var asks []Ask
	for i := range n {
		a := bash(fmt.Sprint("seed", i), fmt.Sprintf("make target%d", i))
		an := p.Analyse(request(&a))
		key, ok := an.Key()
		if !ok {
			t.Fatal("no key")
		}
		if _, err := s.Add(grant.Grant{Scope: ScopeProject, In: "/w/app", Tool: "bash", Key: grantKey(&a, key), Covers: "x"}); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			asks = append(asks, a)
		}
	}
	asks = append(asks, bash("", "tool998 run x"), bash("", "git status && ls | head"), bash("", `/bin/bash -lc 'go test ./... 2>&1 | tail -5'`),
		Ask{Session: "s1", Tool: "read", Args: []byte(`{"file_path":"src/deep/dir/file.go"}`), Cwd: "/w/app"},
		Ask{Session: "s1", Tool: "edit", Args: []byte(`{"filePath":"src/main.go"}`), Cwd: "/w/app"},
		Ask{Session: "s1", Tool: "mcp/github/get_issue", Args: []byte(`{"id":1}`), Cwd: "/w/app"})
	return m, asks
}

// BenchmarkMediate has 1,000 rules and 1,000 grants. The aim is a p99 below 100 µs
// on a quiet machine.
func BenchmarkMediate(b *testing.B) {
	m, asks := crowded(b, 1000)
	var times []time.Duration
	for b.Loop() {
		a := asks[len(times)%len(asks)]
		a.ID = fmt.Sprint("b", len(times))
		start := time.Now()
		if err := m.Open(a, func(Answer) {}); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100]), "p99-ns")
}

// The limit leaves room for a busy machine and for the race detector; work that
// grows with the rules or the grants is caught nevertheless.
func TestMediationIsFast(t *testing.T) {
	m, asks := crowded(t, 1000)
	times := make([]time.Duration, 3000)
	for i := range times {
		a := asks[i%len(asks)]
		a.ID = fmt.Sprint("t", i)
		start := time.Now()
		if err := m.Open(a, func(Answer) {}); err != nil {
			t.Fatal(err)
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	p50, p90, p99 := times[len(times)/2], times[len(times)*9/10], times[len(times)*99/100]
	t.Logf("p50 %s, p90 %s, p99 %s", p50, p90, p99)
	if p50 > 5*time.Millisecond {
		t.Errorf("p50 is %s, want less than 5ms", p50)
	}
}

// 10,000 open asks take bounded memory, and one more is refused.
func TestManyOpenAsks(t *testing.T) {
	m := New(Options{Policy: rules(t, "timeout: 1h")})
	defer m.Close()
	before := heap()
	for i := range defaultMaxOpen {
		if err := m.Open(bash(fmt.Sprint(i), "echo "+strings.Repeat("x", 100)), func(Answer) {}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(m.Pending("")); n != defaultMaxOpen {
		t.Fatalf("%d asks are open, want %d", n, defaultMaxOpen)
	}
	if each := (heap() - before) / defaultMaxOpen; each > 8<<10 {
		t.Errorf("an open ask takes %d bytes, want 8 KiB at most", each)
	}
	if got := mustOpen(t, m, bash("more", "ls")).one(t); got.Decision.Allows() {
		t.Errorf("one too many: %+v", got)
	}
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
