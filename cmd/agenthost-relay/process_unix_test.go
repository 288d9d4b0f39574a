//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a relay process of its own.
type process struct {
	cmd  *exec.Cmd
	url  string
	data string
	errs lockedBuffer
	done chan struct{}
}

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

// build makes the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "agenthost-relay")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return program
}

// start runs a relay until the test ends. Its arguments have --data.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, data: cmd.Args[slices.Index(cmd.Args, "--data")+1], done: make(chan struct{})}
	cmd.Stderr = &p.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	go func() {
		defer close(p.done)
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(time.Minute):
			t.Errorf("it does not end:\n%s", p.errs.String())
			_ = cmd.Process.Kill()
			<-p.done
		}
	})
	if err != nil {
		<-p.done
		t.Fatalf("the relay said nothing: %v\n%s", err, p.errs.String())
	}
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "relay at "))
	return p
}

// file is a file of its directory, as this process sees it.
func (p *process) file(name string) string {
	if runtime.GOOS != "linux" {
		return filepath.Join(p.data, name)
	}
	return filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "root", p.data, name)
}

func (p *process) do(t *testing.T, method, path, token string, body []byte, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(answer)
}

// token makes a token of the tenant "me", once the relay can.
func (p *process) token(t *testing.T, scope string) (secret string) {
	t.Helper()
	admin, err := os.ReadFile(p.file("operator.token"))
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a token", p.errs.String, func() bool {
		status, body := p.do(t, "POST", "/v1/tokens", strings.TrimSpace(string(admin)), fmt.Appendf(nil, `{"tenant":"me","scope":%q}`, scope))
		var made struct {
			Secret string `json:"secret"`
		}
		if status != http.StatusCreated || json.Unmarshal([]byte(body), &made) != nil {
			return false
		}
		secret = made.Secret
		return true
	})
	return secret
}

func waitFor(t *testing.T, what string, log func() string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !ok(); <-time.After(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s\n%s", what, log())
		}
	}
}
