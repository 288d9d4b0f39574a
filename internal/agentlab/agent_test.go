//go:build unix

package agentlab

import (
	"bufio"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMain(m *testing.M) { Main(m) }

// An agent is a running CLI that speaks JSON, a message a line.
type agent struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string // closed at the end of stdout
	id    int

	mu     sync.Mutex
	stderr strings.Builder // guarded by mu
}

// answerTime bounds every wait for an agent: starting opencode took 18 s when
// other work kept both cores busy.
const answerTime = 90 * time.Second

// startAgent starts an installed CLI in the lab's working directory. At the end
// of the test it gets end of input and must exit.
func startAgent(t *testing.T, l *Lab, name string, args ...string) *agent {
	t.Helper()
	argv := l.Command(name, args...)
	a := &agent{t: t, cmd: exec.Command(argv[0], argv[1:]...), lines: make(chan string, 64)}
	a.cmd.Env, a.cmd.Dir, a.cmd.Stderr = l.Env(name), l.Dir, a
	a.cmd.WaitDelay = 5 * time.Second
	var err error
	if a.stdin, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", name, err)
	}
	go a.read(stdout)
	t.Cleanup(a.stop)
	return a
}

func (a *agent) read(stdout io.Reader) {
	defer close(a.lines)
	r := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			a.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// Write keeps stderr for the messages of failing tests.
func (a *agent) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stderr.Write(p)
}

func (a *agent) stop() {
	a.stdin.Close()
	timer := time.AfterFunc(answerTime, func() { a.cmd.Process.Kill() })
	defer timer.Stop()
	for range a.lines {
	}
	if err := a.cmd.Wait(); err != nil {
		a.t.Errorf("%s: %v", a.cmd.Args[0], err)
	}
	if a.t.Failed() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.t.Logf("stderr: %s", a.stderr.String())
	}
}

// A message is one line of any of the protocols.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`

	line string
}

func (a *agent) send(v any) {
	a.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.stdin.Write(append(data, '\n')); err != nil {
		a.t.Fatalf("writing to the agent: %v", err)
	}
}

// next returns the next message and false at the end of output.
func (a *agent) next() (message, bool) {
	a.t.Helper()
	select {
	case line, ok := <-a.lines:
		if !ok {
			return message{}, false
		}
		m := message{line: line}
		if err := json.Unmarshal([]byte(line), &m, jsontext.AllowDuplicateNames(true)); err != nil {
			a.t.Fatalf("the agent wrote %q: %v", line, err)
		}
		return m, true
	case <-time.After(answerTime):
		a.t.Fatalf("the agent said nothing for %v", answerTime)
	}
	return message{}, false
}

// call sends a JSON-RPC request and returns the result; what comes before the
// response goes to others.
func (a *agent) call(method string, params any, others func(message)) jsontext.Value {
	a.t.Helper()
	a.id++
	a.send(map[string]any{"jsonrpc": "2.0", "id": a.id, "method": method, "params": params})
	for {
		m, ok := a.next()
		if !ok {
			a.t.Fatalf("%s: the agent ended its output", method)
		}
		if m.Method == "" && string(m.ID) == fmt.Sprint(a.id) {
			if len(m.Error) > 0 {
				a.t.Fatalf("%s: %s", method, m.Error)
			}
			return m.Result
		}
		if others != nil {
			others(m)
		}
	}
}

// decode reads v from data or fails the test.
func decode(t *testing.T, data jsontext.Value, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v, jsontext.AllowDuplicateNames(true)); err != nil {
		t.Fatalf("decoding %s: %v", data, err)
	}
}
