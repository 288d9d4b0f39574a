package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(playEnv); path != "" {
		play(path)
	}
	agentlab.Main(m)
}

// patience bounds every wait. The machines are small and run other work: a real
// agent was seen to take 28 s to start under load.
const patience = 2 * time.Minute

// binary is the agenthost that `make build` made.
func binary(t testing.TB) string {
	t.Helper()
	root, err := agentlab.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "bin", "agenthost")
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("the binary is missing, run make build: %v", err)
	}
	return bin
}

// session is one running `agenthost run`, or a session that runs in this process.
type session struct {
	t     testing.TB
	lab   *agentlab.Lab
	host  *host.Session // nil for `agenthost run`
	cmd   *exec.Cmd
	stdin *os.File
	errs  *lockedBuffer
	plain bool          // started with --profile strict
	done  chan struct{} // closed when the process has been waited for

	mu    sync.Mutex
	grown *sync.Cond
	envs  []contract.Envelope // guarded by mu
	lines [][]byte            // guarded by mu
	live  strings.Builder     // guarded by mu: the deltas of a session in this process
	ended bool                // guarded by mu: all output was read
	// seen is how much of envs the test has looked at.
	seen int
}

// lockedBuffer collects standard error.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// environ is the environment of agenthost in a lab: the agents', a state
// directory of the lab's, and what makes the lab know its processes.
func environ(lab *agentlab.Lab) []string {
	return append(lab.Env(), "XDG_STATE_HOME="+filepath.Join(lab.Home, ".state"), "GORACE=atexit_sleep_ms=0")
}

// start runs `agenthost run AGENT` with envelopes on both sides.
func start(t testing.TB, lab *agentlab.Lab, agent string, flags ...string) *session {
	t.Helper()
	args := []string{"run", agent, "--input", "envelopes", "--output", "envelopes", "--pass-env", "AGENTLAB_*", "--cwd", lab.Dir}
	s := &session{t: t, lab: lab, errs: &lockedBuffer{}, done: make(chan struct{}), plain: slices.Contains(flags, "strict")}
	s.grown = sync.NewCond(&s.mu)
	s.cmd = exec.Command(binary(t), append(args, flags...)...)
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = environ(lab), lab.Dir, s.errs
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdin, s.stdin = in, stdin
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	go s.read(bufio.NewReader(out))
	t.Cleanup(func() {
		stdin.Close()
		_ = s.cmd.Process.Kill()
		<-s.done
	})
	return s
}

// read collects the stream and waits for the process.
func (s *session) read(out *bufio.Reader) {
	for {
		line, err := out.ReadBytes('\n')
		if len(line) > 0 {
			s.take(bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil {
			break
		}
	}
	_ = s.cmd.Wait()
	s.mu.Lock()
	s.ended = true
	s.grown.Broadcast()
	s.mu.Unlock()
	close(s.done)
}

func (s *session) take(line []byte) {
	env, err := contract.Decode(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.t.Errorf("stdout: %v: %.200s", err, line)
		return
	}
	s.envs = append(s.envs, env)
	s.lines = append(s.lines, line)
	s.grown.Broadcast()
}

// next waits for the next envelope that f wants, and passes over those before.
func (s *session) next(what string, f func(contract.Envelope) bool) contract.Envelope {
	s.t.Helper()
	timer := time.AfterFunc(patience, func() { s.grown.Broadcast() })
	defer timer.Stop()
	limit := time.Now().Add(patience)
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.seen
	for {
		for s.seen < len(s.envs) {
			e := s.envs[s.seen]
			s.seen++
			if f(e) {
				return e
			}
		}
		if s.ended || time.Now().After(limit) {
			s.t.Fatalf("no %s came; since then:\n%s\nstderr:\n%s", what, render(s.envs[from:]), s.errs)
		}
		s.grown.Wait()
	}
}

// send writes one user envelope.
func (s *session) send(ev contract.Event) {
	s.t.Helper()
	if s.host != nil {
		s.submit(ev)
		return
	}
	body, err := contract.AppendEvent(nil, ev)
	if err != nil {
		s.t.Fatal(err)
	}
	line := fmt.Sprintf(`{"role":"user","time":0,"id":"","ev":%s}`+"\n", body)
	if _, err := s.stdin.WriteString(line); err != nil && !errors.Is(err, syscall.EPIPE) {
		s.t.Fatal(err)
	}
}

func (s *session) prompt(text string) { s.t.Helper(); s.send(contract.Text{Text: text}) }

// decide answers an ask.
func (s *session) decide(call string, d contract.Decision) {
	s.t.Helper()
	s.send(contract.PermissionResponse{Call: call, Decision: d})
}

// wait is next for one type of event. A text is one of the agent: the prompts
// hold what the model is to say.
func wait[E contract.Event](s *session, f func(E) bool) (E, contract.Envelope) {
	s.t.Helper()
	var got E
	env := s.next(string(got.EventType()), func(e contract.Envelope) bool {
		ev, ok := e.Event.(E)
		if _, text := e.Event.(contract.Text); text && e.Role == contract.RoleUser {
			return false
		}
		if ok && (f == nil || f(ev)) {
			got = ev
			return true
		}
		return false
	})
	return got, env
}

// turnEnd waits for the next end of a turn.
func (s *session) turnEnd() contract.TurnEnd {
	s.t.Helper()
	end, _ := wait[contract.TurnEnd](s, nil)
	return end
}

// finish ends the input, waits for the process, checks the exit code and the
// whole stream, and returns the stream.
func (s *session) finish(code int) []contract.Envelope {
	s.t.Helper()
	s.stdin.Close()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatalf("agenthost did not end; stream:\n%s\nstderr:\n%s", render(s.envs), s.errs)
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d; stderr:\n%s", got, code, s.errs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.validate("extended", s.lines)
	s.validate("strict", s.strict())
	return slices.Clone(s.envs)
}

// strict is the stream in the strict profile: as agenthost printed it, if it did.
func (s *session) strict() [][]byte {
	if s.plain {
		return s.lines
	}
	var lines [][]byte
	for _, e := range s.envs {
		if strict, ok := contract.Strict(e); ok {
			line, err := contract.Encode(strict)
			if err != nil {
				s.t.Errorf("strict: %v", err)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// validate runs the stream through `agenthost validate`. A stream that goes on
// with an earlier session's is no whole stream, so only its lines are checked.
func (s *session) validate(profile string, lines [][]byte) {
	s.t.Helper()
	cmd := exec.Command(binary(s.t), "validate", "--profile", profile)
	cmd.Stdin = bytes.NewReader(append(bytes.Join(lines, []byte("\n")), '\n'))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Errorf("validate --profile %s: %v\n%s", profile, err, out)
	}
}

// kill ends agenthost as a crash does.
func (s *session) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	<-s.done
}

// noneLeft waits until no process of the lab is left.
func noneLeft(t testing.TB, lab *agentlab.Lab) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	left, err := lab.AwaitNone(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range left {
		t.Errorf("left behind: %v", p)
	}
}

// render shows envelopes to the reader of a failed test.
func render(envs []contract.Envelope) string {
	var b strings.Builder
	for _, e := range envs {
		line, err := contract.Encode(e)
		if err != nil {
			line = []byte(err.Error())
		}
		fmt.Fprintf(&b, "  %.400s\n", line)
	}
	return b.String()
}

// events picks the events of one type.
func events[E contract.Event](envs []contract.Envelope) []E {
	var list []E
	for _, e := range envs {
		if ev, ok := e.Event.(E); ok {
			list = append(list, ev)
		}
	}
	return list
}

// said is all that the agent said, thoughts left out.
func said(envs []contract.Envelope) string {
	var b strings.Builder
	for _, e := range envs {
		if ev, ok := e.Event.(contract.Text); ok && e.Role == contract.RoleAgent && !ev.Thinking {
			b.WriteString(ev.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
