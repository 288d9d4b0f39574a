package permission

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/grant"
	"github.com/agenthost/agenthost/permission/policy"
)

// crowd is a mediator with n rules and n grants, and asks of each kind of answer: in a
// directory that exists, so that looking for symlinks costs what it costs.
type crowd struct {
	m     *Mediator
	kinds map[string][]func(i int) Ask
	n     int
	got   Answer
	is    bool // got is of the ask in hand
}

// The kinds of answers.
const (
	allowedByRule, allowedByGrant, denied, asked = "allow-by-rule", "allow-by-grant", "deny", "ask"
)

func crowded(t testing.TB, n int, audit io.Writer) *crowd {
	t.Helper()
	dir := t.TempDir()
	cwd := filepath.Join(dir, "app")
	for _, sub := range []string{"src/deep/dir", "dir997/sub", "secret996"} {
		if err := os.MkdirAll(filepath.Join(cwd, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"src/main.go", "src/deep/dir/file.go", "dir997/sub/a.txt"} {
		if err := os.WriteFile(filepath.Join(cwd, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := policy.Compile(manyRules(n), policy.Env{Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := store(t, filepath.Join(dir, "grants"))
	x := &crowd{m: New(Options{Policy: p, Grants: s, OnAsk: policy.OnAskWait, Audit: audit}), kinds: map[string][]func(int) Ask{}}
	for kind, list := range manyUses(n) {
		for _, use := range list {
			x.kinds[kind] = append(x.kinds[kind], func(i int) Ask {
				a := use(i)
				a.Session, a.Cwd, a.Project = "s1", cwd, cwd
				return a
			})
		}
	}
	for i := range n {
		a := x.kinds[allowedByGrant][i%len(x.kinds[allowedByGrant])](i)
		key, ok := p.Analyse(request(&a)).Key()
		if !ok {
			t.Fatal("no key")
		}
		if _, err := s.Add(grant.Grant{Scope: ScopeProject, In: cwd, Tool: a.Tool, Key: grantKey(&a, key), Covers: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// manyRules are n rules, those that people write among them.
func manyRules(n int) policy.Config {
	c := policy.Config{Rules: []policy.RuleConfig{
		{Deny: "bash(rm -rf /**)"},
		{Deny: "edit(**/.env*)"},
		{Allow: "bash(git status *, git diff *, go test ./..., ls *, head *, tail *, grep *)"},
		{Allow: "read(${cwd}/src/**)"},
		{Ask: "bash(git push *)"},
	}}
	for i := len(c.Rules); i < n; i++ {
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
	return c
}

// manyUses are commands and paths with each kind of answer. Where i is used, it is a
// text that was never seen before, but for the grants, of which there are n.
func manyUses(n int) map[string][]func(i int) Ask {
	command := func(format string) func(int) Ask {
		return func(i int) Ask {
			if strings.Contains(format, "%d") {
				return bash("", fmt.Sprintf(format, i))
			}
			return bash("", format)
		}
	}
	tool := func(name, args string) func(int) Ask {
		return func(int) Ask { return Ask{Tool: name, Args: []byte(args)} }
	}
	granted := func(f func(k int) Ask) func(int) Ask { return func(i int) Ask { return f(i % (n / 3 * 3)) } }
	return map[string][]func(int) Ask{
		allowedByRule: {
			command("tool999 run x"), command("git status && ls | head"), command("git diff | grep -n x%d"),
			command(`/bin/bash -lc 'go test ./... 2>&1 | tail -%d'`), command("ls -la src && git diff HEAD~%d"),
			tool("read", `{"file_path":"src/deep/dir/file.go"}`), tool("read", `{"path":"dir997/sub/a.txt"}`),
		},
		allowedByGrant: {
			granted(func(k int) Ask { return bash("", fmt.Sprintf("make target%d", k)) }),
			granted(func(k int) Ask { return bash("", fmt.Sprintf("cd src && make target%d 2>&1 | tee log", k)) }),
			granted(func(k int) Ask {
				return Ask{Tool: "edit", Args: fmt.Appendf(nil, `{"filePath":"src/file%d.go","oldString":"a","newString":"b"}`, k)}
			}),
		},
		denied: {
			command("tool995 --force"), command("git status; sudo tool995 --force x%d"), command("cat a%d > secret996/x"),
			tool("edit", `{"path":"secret996/key","oldString":"a","newString":"b"}`), tool("write", `{"file_path":"src/deep/.env","content":""}`),
		},
		asked: {
			command("make fresh%d && ls -la src | head"), command("npm install left-pad@%d"), command("git push origin b%d"),
			command("cat src/main.go | grep -n func > out%d.txt"), tool("edit", `{"filePath":"src/main.go","oldString":"a","newString":"b"}`),
			tool("mcp/github/get_issue", `{"id":1}`), tool("web-fetch", `{"url":"https://example.com/a"}`), tool("todo", `{}`),
		},
	}
}

func (x *crowd) settle(a Answer) { x.got, x.is = a, true }

// next decides one ask of a kind and says how long it took.
func (x *crowd) next(t testing.TB, kind string) time.Duration {
	list := x.kinds[kind]
	a := list[x.n%len(list)](x.n)
	a.ID = fmt.Sprint("b", x.n)
	x.n++
	x.is = false
	start := time.Now()
	err := x.m.Open(a, x.settle)
	took := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	is := asked
	switch {
	case !x.is:
		x.m.Withdraw(a.ID, contract.ByTurnEnd)
	case x.got.Decision == contract.AllowOnce && x.got.Grant != "":
		is = allowedByGrant
	case x.got.Decision == contract.AllowOnce:
		is = allowedByRule
	default:
		is = denied
	}
	if is != kind {
		t.Fatalf("%s %s: %s, want %s", a.Tool, a.Args, is, kind)
	}
	return took
}

// BenchmarkMediate has 1,000 rules, 1,000 grants and an audit log in a file, and decides
// commands and paths of each kind of answer. The aim is a p99 below 100 µs. quiet-p99 is
// that of the quietest 1,000 decisions in a row, a collection of garbage with them.
// noise-p99 is how much longer than mostly a calculation took that is done after each
// decision and allocates nothing: what the machine adds to any p99.
func BenchmarkMediate(b *testing.B) {
	for _, kind := range []string{allowedByRule, allowedByGrant, denied, asked} {
		b.Run(kind, func(b *testing.B) {
			f, err := os.OpenFile(filepath.Join(b.TempDir(), "audit.ndjson"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			x := crowded(b, 1000, f)
			b.ReportAllocs()
			var times, still []time.Duration
			for range warm {
				x.next(b, kind)
			}
			for b.Loop() {
				times = append(times, x.next(b, kind))
				still = append(still, calculation())
			}
			b.ReportMetric(float64(percentile(slices.Clone(times), 50)), "p50-ns")
			b.ReportMetric(float64(percentile(slices.Clone(times), 99)), "p99-ns")
			b.ReportMetric(float64(quietest(times, 1000)), "quiet-p99-ns")
			b.ReportMetric(float64(percentile(still, 99)-percentile(still, 50)), "noise-p99-ns")
		})
	}
}

// warm is how many decisions there are before they are timed: in the first, memory is
// had from the system for the first time.
const warm = 5000

// calculation says how long something took that always takes the same, about as long as
// a decision.
func calculation() time.Duration {
	start := time.Now()
	sum := sha256.Sum256(nil)
	for range 300 {
		sum = sha256.Sum256(sum[:])
	}
	return time.Since(start)
}

// quietest is the least p99 of n times in a row.
func quietest(times []time.Duration, n int) time.Duration {
	best := percentile(slices.Clone(times[:min(n, len(times))]), 99)
	for len(times) >= n {
		best = min(best, percentile(times[:n], 99))
		times = times[n:]
	}
	return best
}

func percentile(times []time.Duration, p int) time.Duration {
	slices.Sort(times)
	return times[(len(times)-1)*p/100]
}

// The work does not grow with the rules and the grants: a hundred times as many may
// not even triple what a decision allocates. A clock would say more of the machine.
func TestMediationDoesNotGrow(t *testing.T) {
	allocs := func(n int) float64 {
		x := crowded(t, n, &failingWriter{})
		kinds := []string{asked, allowedByGrant}
		return testing.AllocsPerRun(2000, func() { x.next(t, kinds[x.n%2]) })
	}
	few, many := allocs(10), allocs(1000)
	if many > 3*few {
		t.Errorf("a decision allocates %.0f times with 1,000 rules and grants, %.0f times with 10", many, few)
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
