//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/internal/proc"
)

// The benchmarks of an agent's own screen have a person's terminal outside, and in it
// `agenthost run pty` or what people would use without it. All of a kind take turns in
// one run, since times of one program alone say more about what else the machine does.

// personsTerminal starts a command on a terminal of its own.
func personsTerminal(b testing.TB, lab *agentlab.Lab, size proc.TerminalSize, argv ...string) *proc.Child {
	b.Helper()
	if path, err := exec.LookPath(argv[0]); err == nil {
		argv[0] = path
	}
	c, err := proc.Start(b.Context(), proc.Spec{Argv: argv, Env: environ(lab), Dir: lab.Dir, Terminal: &size})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return c
}

// underHost is the command for another one's screen, without a daemon.
func underHost(b testing.TB, argv ...string) []string {
	return append([]string{binary(b), "run", "pty", "--local", "--"}, argv...)
}

// underScript is script(1), of which nothing is kept.
func underScript(argv ...string) []string {
	return []string{"script", "-qec", strings.Join(argv, " "), "/dev/null"}
}

func benchLab(b *testing.B) *agentlab.Lab {
	lab, err := agentlab.Open()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = lab.Close() })
	return lab
}

// BenchmarkScreenFlood has 100 MB of text pass, as `yes | head` writes it. The aim is a
// rate of 80 % of script's: "of-script-%" is the median of the pairs.
func BenchmarkScreenFlood(b *testing.B) {
	if _, err := exec.LookPath("script"); err != nil {
		b.Skip("script(1) is not there to compare with: install bsdutils or util-linux")
	}
	const size = 100_000_000
	lab := benchLab(b)
	flood := lab.Dir + "/flood"
	text := "stty -echo; yes 'the quick brown fox jumps over the lazy dog and runs away from it all, ok' | head -c " + strconv.Itoa(size) + "\n"
	if err := os.WriteFile(flood, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	pass := func(argv []string) float64 {
		begin, c := time.Now(), personsTerminal(b, lab, proc.TerminalSize{}, argv...)
		n, buf := 0, make([]byte, 64<<10)
		for {
			m, err := c.Terminal().Read(buf)
			if err != nil {
				break
			}
			n += m
		}
		took := time.Since(begin)
		if exit := c.Exit(); !exit.Success() || n < size {
			b.Fatalf("%s: %v after %d bytes, want %d", argv[0], exit, n, size)
		}
		return float64(n) / 1e6 / took.Seconds()
	}
	var script, ours, ratio []float64
	for b.Loop() {
		s, o := pass(underScript("sh", flood)), pass(underHost(b, "sh", flood))
		script, ours, ratio = append(script, s), append(ours, o), append(ratio, 100*o/s)
	}
	b.ReportMetric(median(script), "script-MB/s")
	b.ReportMetric(median(ours), "MB/s")
	b.ReportMetric(median(ratio), "of-script-%")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkScreenKey is the time from a key to its echo, by a program that only echoes:
// on the person's terminal itself, under script, and under agenthost. The aim is that a
// key takes less than 1 ms more (p99).
func BenchmarkScreenKey(b *testing.B) {
	lab := benchLab(b)
	echo := lab.Dir + "/echo"
	if err := os.WriteFile(echo, []byte("stty raw -echo; echo ready; exec cat\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	type typed struct {
		name string
		t    *proc.Terminal
		took []time.Duration
	}
	buf := make([]byte, 64<<10)
	until := func(t *proc.Terminal, text string) {
		for seen := []byte(nil); !bytes.Contains(seen, []byte(text)); {
			n, err := t.Read(buf)
			if err != nil {
				b.Fatalf("the screen ended before %q: %v", text, err)
			}
			seen = append(seen, buf[:n]...)
		}
	}
	all := []*typed{
		{name: "bare", t: personsTerminal(b, lab, proc.TerminalSize{}, "sh", echo).Terminal()},
		{name: "script", t: personsTerminal(b, lab, proc.TerminalSize{}, underScript("sh", echo)...).Terminal()},
		{name: "host", t: personsTerminal(b, lab, proc.TerminalSize{}, underHost(b, "sh", echo)...).Terminal()},
	}
	for _, x := range all {
		until(x.t, "ready")
	}
	for b.Loop() {
		for _, x := range all {
			began := time.Now()
			if _, err := x.t.Write([]byte("x")); err != nil {
				b.Fatal(err)
			}
			until(x.t, "x")
			x.took = append(x.took, time.Since(began))
		}
	}
	for _, x := range all {
		slices.Sort(x.took)
		for _, p := range []int{50, 99} {
			b.ReportMetric(float64(x.took[(len(x.took)-1)*p/100].Microseconds()), fmt.Sprintf("%s-p%d-µs", x.name, p))
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkScreenIdle is the processor time of agenthost in a second in which nothing
// happens on a screen that a person looks at. The aim is none.
func BenchmarkScreenIdle(b *testing.B) {
	lab := benchLab(b)
	c := personsTerminal(b, lab, proc.TerminalSize{}, underHost(b, "sh", "-c", "echo ready; exec cat")...)
	ready := make(chan struct{})
	go func() {
		var seen []byte
		for buf := make([]byte, 4096); ; {
			n, err := c.Terminal().Read(buf)
			if err != nil {
				return
			}
			if had := bytes.Contains(seen, []byte("ready")); !had {
				if seen = append(seen, buf[:n]...); bytes.Contains(seen, []byte("ready")) {
					close(ready)
				}
			}
		}
	}()
	<-ready
	time.Sleep(2 * time.Second) // what starting goes on with
	const span = 10 * time.Second
	var each []float64
	for b.Loop() {
		before := ran(b, c.Pid())
		time.Sleep(span)
		each = append(each, float64(ran(b, c.Pid())-before)/span.Seconds())
	}
	b.ReportMetric(median(each)/1e3, "cpu-µs/s")
	b.ReportMetric(0, "ns/op")
}

// ran is how long a process and its children that are the same program were on a
// processor, in nanoseconds.
func ran(b *testing.B, pid int) (total int64) {
	for _, pid := range family(pid) {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			b.Fatal(err)
		}
		for _, task := range tasks {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, task.Name()))
			if err != nil {
				continue // it ended
			}
			var ns int64
			if _, err := fmt.Sscan(string(stat), &ns); err != nil {
				b.Fatal(err)
			}
			total += ns
		}
	}
	return total
}
