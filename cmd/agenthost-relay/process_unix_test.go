//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
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

// freeAddrs are up to seven addresses for processes that are not there yet. Until the test
// ends nobody else gets them: they are below the ports that systems give to who asks for
// any, and the port before the first one is held as a sign for others who look here.
func freeAddrs(t *testing.T, n int) []string {
	t.Helper()
	const low, group, groups = 12000, 8, 2500
	for range 100 {
		first := low + group*rand.IntN(groups)
		sign, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first))
		if err != nil {
			continue
		}
		var addrs []string
		for port := first + 1; port <= first+n; port++ {
			addr := fmt.Sprintf("127.0.0.1:%d", port)
			if ln, err := net.Listen("tcp", addr); err == nil {
				addrs = append(addrs, addr)
				_ = ln.Close()
			}
		}
		if len(addrs) == n {
			t.Cleanup(func() { _ = sign.Close() })
			return addrs
		}
		_ = sign.Close()
	}
	t.Fatal("no ports are free")
	return nil
}

// Who asks for addresses while others have theirs gets other ones.
func TestFreeAddrs(t *testing.T) {
	seen := map[string]bool{}
	for range 300 {
		for _, addr := range freeAddrs(t, 3) {
			if seen[addr] {
				t.Fatalf("%s is given twice", addr)
			}
			seen[addr] = true
		}
	}
}

// startNodes runs a cluster of this machine, whose nodes are started with the arguments
// that make them one.
func startNodes(t *testing.T, n int, start func(args ...string) *process) []*process {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("known to all three of them"), 0o600); err != nil {
		t.Fatal(err)
	}
	addrs := freeAddrs(t, n)
	nodes := make([]*process, n)
	var wg sync.WaitGroup
	for i := range n {
		args := []string{"--node", fmt.Sprintf("n%d", i), "--cluster-listen", addrs[i], "--cluster-secret", secret, "--replicas", strconv.Itoa(n)}
		for j, addr := range addrs {
			if j != i {
				args = append(args, "--peer", "nats://"+addr)
			}
		}
		wg.Go(func() { nodes[i] = start(args...) }) // none is ready before most are there
	}
	wg.Wait()
	for _, node := range nodes {
		if node == nil {
			t.FailNow()
		}
	}
	return nodes
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
