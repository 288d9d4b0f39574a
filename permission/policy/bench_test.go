package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
)

// bigPolicy has n rules of every sort, none of which matches before the last.
func bigPolicy(t testing.TB, n int) *Policy {
	t.Helper()
	var c Config
	for i := len(c.Rules); i < n; i++ {
		switch i % 10 {
		case 0:
			c.Rules = append(c.Rules, RuleConfig{Deny: fmt.Sprintf("bash(tool%d --force *)", i)})
		case 1:
			c.Rules = append(c.Rules, RuleConfig{Deny: fmt.Sprintf("edit(**/secret%d/**)", i)})
		case 2:
			c.Rules = append(c.Rules, RuleConfig{Deny: fmt.Sprintf("read(/etc/secret%d/**)", i)})
		case 3:
			c.Rules = append(c.Rules, RuleConfig{Ask: fmt.Sprintf("bash(git push origin%d *)", i)})
		case 4:
			c.Rules = append(c.Rules, RuleConfig{Allow: fmt.Sprintf("bash(git log --grep=%d *)", i)})
		case 5:
			c.Rules = append(c.Rules, RuleConfig{Allow: fmt.Sprintf("read(${cwd}/dir%d/**)", i)})
		case 6:
			c.Rules = append(c.Rules, RuleConfig{Allow: fmt.Sprintf("mcp(server%d/*)", i)})
		case 7:
			c.Rules = append(c.Rules, RuleConfig{Allow: fmt.Sprintf("web-fetch(host%d.example.com)", i)})
		case 8:
			c.Rules = append(c.Rules, RuleConfig{Deny: fmt.Sprintf("bash(* --danger%d)", i)})
		default:
			c.Rules = append(c.Rules, RuleConfig{Allow: fmt.Sprintf("edit(src/%d/*.go)", i)})
		}
	}
	c.Rules = append(c.Rules, RuleConfig{Allow: "bash(git status *, go test *, head *)"}, RuleConfig{Allow: "read(${cwd}/**)"})
	p, err := Compile(c, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func benchUses(t testing.TB) []Request {
	return []Request{
		command(t, "git status"),
		command(t, `/bin/bash -lc 'cd /w/app && git status --short | head -20'`),
		command(t, "go test ./... 2>&1 | head -50"),
		pathUse(t, "read", "file_path", "/w/app/internal/deep/dir/file.go", "/w/app"),
		pathUse(t, "edit", "filePath", "src/main.go", "/w/app"),
		{Tool: "mcp/github/get_issue", Args: []byte(`{"id":1}`), Cwd: "/w/app"},
		pathUse(t, "web-fetch", "url", "https://example.com/docs/a", "/w/app"),
	}
}

func BenchmarkJudge(b *testing.B) {
	p := bigPolicy(b, 1000)
	for _, q := range benchUses(b) {
		b.Run(strings.ReplaceAll(q.Tool, "/", "-"), func(b *testing.B) {
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				Explain(p, q, contract.ModeDefault)
			}
			b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
		})
	}
}

// A decision with 1,000 rules costs less than 100 µs at p99 on a quiet machine
// (BenchmarkJudge). The limit here leaves room for a busy one and for the race
// detector; work that grows with the rules is caught nevertheless.
func TestJudgeIsFast(t *testing.T) {
	p := bigPolicy(t, 1000)
	uses := benchUses(t)
	times := make([]time.Duration, 0, 2000)
	for i := range cap(times) {
		start := time.Now()
		Explain(p, uses[i%len(uses)], contract.ModeDefault)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	if p50 := times[len(times)/2]; p50 > 5*time.Millisecond {
		t.Errorf("p50 is %s, want less than 5ms", p50)
	}
	t.Logf("p50 %s, p90 %s, p99 %s", times[len(times)/2], times[len(times)*9/10], times[len(times)*99/100])
}
