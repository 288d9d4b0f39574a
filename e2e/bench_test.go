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
	"testing"
	"time"

	"github.com/agenthost/agenthost/internal/agentlab"
)

// BenchmarkVersion is what starting the binary costs.
func BenchmarkVersion(b *testing.B) {
	bin := binary(b)
	for b.Loop() {
		if err := exec.Command(bin, "version").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRun is what `agenthost run AGENT -p hello` costs over the bare agent
// with the same three requests, in pairs: the median difference of the times, and
// the memory of agenthost's own processes.
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
	var diffs []time.Duration
	var memory int64
	for b.Loop() {
		without := bareRun(b, lab, bare, env)
		with, kib := hostRun(b, lab, run)
		diffs = append(diffs, with-without)
		memory = max(memory, kib)
	}
	slices.Sort(diffs)
	b.ReportMetric(float64(diffs[len(diffs)/2].Microseconds())/1000, "ms-over")
	b.ReportMetric(float64(memory)/1024, "MiB-over")
	b.ReportMetric(0, "ns/op")
}

// bareRun drives the agent itself and returns how long that took.
func bareRun(b *testing.B, lab *agentlab.Lab, argv, env []string) time.Duration {
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
	return time.Since(begin)
}

// hostRun runs agenthost and returns how long it took and the largest memory of
// agenthost and its supervisor together, in KiB.
func hostRun(b *testing.B, lab *agentlab.Lab, args []string) (time.Duration, int64) {
	b.Helper()
	begin := time.Now()
	cmd := exec.Command(binary(b), append([]string{"run", args[0], "-p", "hello", "--cwd", lab.Dir, "--output", "envelopes"}, args[1:]...)...)
	var errs bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stderr = environ(lab), lab.Dir, &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var kib int64
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if strings.Contains(sc.Text(), `"t":"turn-end"`) {
			kib = peak(cmd.Process.Pid)
		}
	}
	if err := cmd.Wait(); err != nil {
		b.Fatalf("%v\n%s", err, &errs)
	}
	return time.Since(begin), kib
}

// peak is the peak memory of a process of ours and of its children that are the
// same program (the supervisor), in KiB.
func peak(pid int) int64 {
	kib := status(pid, "VmHWM:")
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return kib
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return kib
	}
	for word := range strings.FieldsSeq(string(children)) {
		var child int
		if _, err := fmt.Sscan(word, &child); err != nil {
			continue
		}
		if other, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child)); err == nil && other == exe {
			kib += status(child, "VmHWM:")
		}
	}
	return kib
}

func status(pid int, name string) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
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
