package e2e

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/internal/agentlab"
)

// BenchmarkVersion is what starting the binary costs, beside a Go program that prints
// one line: on this machine nothing written in Go starts faster (see
// docs/decisions/004-start-up-cost.md). In pairs, since times of one program alone say
// more about what else the machine does.
func BenchmarkVersion(b *testing.B) {
	hello := []string{helloWorld(b)}
	version := []string{binary(b), "version"}
	start := func(argv []string) cost {
		begin, cmd := time.Now(), exec.Command(argv[0], argv[1:]...)
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		return spent(begin, cmd)
	}
	var ours, over []cost
	var inShell []float64
	for b.Loop() {
		least, is := start(hello), start(version)
		ours, over = append(ours, is), append(over, is.minus(least))
		inShell = append(inShell, shellStart(b, version))
	}
	report(b, "", ours)
	report(b, "-over-hello", over)
	b.ReportMetric(median(inShell), "ms-in-shell")
}

// shellStart is what a start from a shell takes, in milliseconds, as the mean of ten:
// this process is large, and starting another takes it longer.
func shellStart(b *testing.B, argv []string) float64 {
	const times = 10
	cmd := exec.Command("/bin/sh", append([]string{"-c", `for i in 0 1 2 3 4 5 6 7 8 9; do "$0" "$@" >/dev/null || exit; done`}, argv...)...)
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin).Seconds() * 1000 / times
}

// helloWorld builds the smallest program.
func helloWorld(b *testing.B) string {
	dir := b.TempDir()
	source, program := filepath.Join(dir, "hello.go"), filepath.Join(dir, "hello")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return program
}

// cost is what a process and all it waited for took.
type cost struct {
	wall, cpu time.Duration
	faults    int64 // pages that had to be mapped; what else the machine does has no part in them
}

// spent is the cost of a process that was waited for.
func spent(begin time.Time, cmd *exec.Cmd) cost {
	state := cmd.ProcessState
	c := cost{wall: time.Since(begin), cpu: state.UserTime() + state.SystemTime()}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		c.faults = usage.Minflt
	}
	return c
}

func (c cost) minus(other cost) cost {
	return cost{c.wall - other.wall, c.cpu - other.cpu, c.faults - other.faults}
}

// report reports the medians.
func report(b *testing.B, suffix string, costs []cost) {
	middle := func(unit string, value func(cost) float64) {
		values := make([]float64, len(costs))
		for i, c := range costs {
			values[i] = value(c)
		}
		b.ReportMetric(median(values), unit+suffix)
	}
	middle("ms", func(c cost) float64 { return c.wall.Seconds() * 1000 })
	middle("cpu-ms", func(c cost) float64 { return c.cpu.Seconds() * 1000 })
	middle("faults", func(c cost) float64 { return float64(c.faults) })
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRun is what `agenthost run AGENT -p hello` costs over the bare agent
// with the same three requests, in pairs, and the memory of agenthost's own
// processes: what they have when the turn is over, with the pages that both have
// counted once ("MiB-over"), and the most that each ever had, with those counted
// twice ("peak-MiB-over").
func BenchmarkRun(b *testing.B) {
	script, err := filepath.Abs("testdata/bugs/B067-samewrite.txt")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("fake", func(b *testing.B) {
		lab, err := agentlab.Open()
		if err != nil {
			b.Fatal(err)
		}
		defer lab.Close()
		overhead(b, lab, []string{os.Args[0]}, []string{playEnv + "=" + script}, "acp", "--command", fmt.Sprintf("%q", os.Args[0]), "--env", playEnv+"="+script)
	})
	b.Run("gemini", func(b *testing.B) {
		lab := agentlab.New(b)
		overhead(b, lab, lab.Command("gemini", "--acp"), []string{"GEMINI_CLI_NO_RELAUNCH=1"}, "gemini")
	})
}

func overhead(b *testing.B, lab *agentlab.Lab, bare, env []string, run ...string) {
	now, peak := hostMemory(b, lab, run)
	var over []cost
	for b.Loop() {
		without := bareRun(b, lab, bare, env)
		over = append(over, hostRun(b, lab, run).minus(without))
	}
	report(b, "-over", over)
	b.ReportMetric(float64(now)/1024, "MiB-over")
	b.ReportMetric(float64(peak)/1024, "peak-MiB-over")
}

// bareRun drives the agent itself and returns what that took.
func bareRun(b *testing.B, lab *agentlab.Lab, argv, env []string) cost {
	b.Helper()
	begin := time.Now()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = append(lab.Env(), env...), lab.Dir
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(out)
	ask := func(id int, method, params string) map[string]any {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				b.Fatal(err)
			}
			var m struct {
				ID     int
				Result map[string]any
			}
			if json.Unmarshal(line, &m, json.MatchCaseInsensitiveNames(true)) == nil && m.ID == id {
				return m.Result
			}
		}
	}
	ask(1, "initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	session := ask(2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, lab.Dir))["sessionId"]
	ask(3, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"hello"}]}`, session))
	in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return spent(begin, cmd)
}

// hostRun runs agenthost and returns what it took.
func hostRun(b *testing.B, lab *agentlab.Lab, args []string) cost {
	b.Helper()
	begin, cmd := time.Now(), hostCommand(b, lab, args, "-p", "hello")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v\n%s", err, &errs)
	}
	return spent(begin, cmd)
}

func hostCommand(b *testing.B, lab *agentlab.Lab, args []string, more ...string) *exec.Cmd {
	args = append([]string{"run", args[0], "--cwd", lab.Dir, "--output", "envelopes"}, args[1:]...)
	cmd := exec.Command(binary(b), append(args, more...)...)
	cmd.Env, cmd.Dir = environ(lab), lab.Dir
	return cmd
}

// hostMemory runs agenthost, and looks at its memory when the turn is over and the
// session is not.
func hostMemory(b *testing.B, lab *agentlab.Lab, args []string) (now, peak int64) {
	b.Helper()
	cmd := hostCommand(b, lab, args, "--input", "envelopes")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	fmt.Fprintln(in, `{"role":"user","ev":{"t":"text","text":"hello"}}`)
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if strings.Contains(sc.Text(), `"t":"turn-end"`) {
			pid := cmd.Process.Pid
			now, peak = memory(pid, "smaps_rollup", "Pss:"), memory(pid, "status", "VmHWM:")
			in.Close()
		}
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return now, peak
}

// memory adds up a number in KiB, from a file of /proc, of a process of ours and of
// its shim.
func memory(pid int, file, name string) (kib int64) {
	for _, pid := range family(pid) {
		kib += number(pid, file, name)
	}
	return kib
}

// median sorts the values.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// family are a process of ours and its children that are the same program: the shim.
func family(pid int) []int {
	all := []int{pid}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return all
	}
	// Each thread has a list of its own.
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return all
	}
	var children string
	for _, list := range lists {
		content, _ := os.ReadFile(list) // a thread may end
		children += string(content)
	}
	for word := range strings.FieldsSeq(children) {
		var child int
		if _, err := fmt.Sscan(word, &child); err != nil {
			continue
		}
		if other, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child)); err == nil && other == exe {
			all = append(all, child)
		}
	}
	return all
}

func number(pid int, file, name string) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, name); ok {
			var kib int64
			_, _ = fmt.Sscan(rest, &kib)
			return kib
		}
	}
	return 0
}
