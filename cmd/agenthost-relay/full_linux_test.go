package main

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// smallDisk is a relay process whose directory is a file system of its own, of a few
// megabytes.
type smallDisk struct {
	cmd  *exec.Cmd
	dir  string // as the process sees it
	url  string
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

// ballast is what makes the disk full, and then makes room.
const ballast = "ballast"

func startOnSmallDisk(t *testing.T, program string, mib int, args ...string) *smallDisk {
	t.Helper()
	d := &smallDisk{dir: t.TempDir(), done: make(chan struct{})}
	script := fmt.Sprintf(`mount -t tmpfs -o size=%dm none %q && dd if=/dev/zero of=%q/%s bs=1M count=%d 2>/dev/null && exec "$@"`, mib, d.dir, d.dir, ballast, mib/2)
	args = append([]string{"--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", program, "--data", d.dir, "--listen", "127.0.0.1:0"}, args...)
	d.cmd = exec.Command("unshare", args...)
	d.cmd.Stderr = &d.errs
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	go func() {
		defer close(d.done)
		_, _ = io.Copy(io.Discard, r)
		_ = d.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-d.done:
		case <-time.After(time.Minute):
			t.Errorf("it does not end:\n%s", d.errs.String())
			_ = d.cmd.Process.Kill()
			<-d.done
		}
	})
	if err != nil {
		<-d.done
		t.Fatalf("the relay said nothing: %v\n%s", err, d.errs.String())
	}
	d.url = strings.TrimSpace(strings.TrimPrefix(line, "relay at "))
	return d
}

// path is a file of its disk, as this process sees it.
func (d *smallDisk) path(name string) string {
	return filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid), "root", d.dir, name)
}

func (d *smallDisk) do(t *testing.T, method, path, token string, body []byte, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, d.url+path, bytes.NewReader(body))
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

// megabyte is what is uploaded again and again.
func megabyte() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 1<<16) }

// upload stores a file of a megabyte.
func (d *smallDisk) upload(t *testing.T, token string) (ref string, _ error) {
	t.Helper()
	data := megabyte()
	status, body := d.do(t, "POST", "/v1/files", token, fmt.Appendf(nil, `{"name":"a.bin","size":%d}`, len(data)))
	var u struct {
		Ref string `json:"ref"`
	}
	if status != http.StatusCreated || json.Unmarshal([]byte(body), &u) != nil {
		return "", fmt.Errorf("%d %s", status, body)
	}
	if status, body = d.do(t, "PATCH", "/v1/files/"+u.Ref, token, data, "Content-Type", "application/octet-stream", "Upload-Offset", "0"); status/100 != 2 {
		return "", fmt.Errorf("%d %s", status, body)
	}
	return u.Ref, nil
}

func (d *smallDisk) ready(t *testing.T) bool {
	t.Helper()
	status, _ := d.do(t, "GET", "/readyz", "", nil)
	return status == http.StatusOK
}

func waitFor(t *testing.T, what string, log func() string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !ok(); <-time.After(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s\n%s", what, log())
		}
	}
}

// The disk is full: it is told, nothing ends, and once there is room it goes on by
// itself: one node, and a cluster of three whose disks are all full.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills disks")
	}
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount -t tmpfs none "$0"`, t.TempDir()).CombinedOutput(); err != nil {
		t.Skipf("this machine lets nobody mount a small disk: %v: %s", err, out)
	}
	program := filepath.Join(t.TempDir(), "agenthost-relay")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel()
			fullDisk(t, program, nodes)
		})
	}
}

func fullDisk(t *testing.T, program string, nodes int) {
	var disks []*smallDisk
	log := func() string {
		var all strings.Builder
		for i, d := range disks {
			fmt.Fprintf(&all, "--- node %d\n%s\n", i, d.errs.String())
		}
		return all.String()
	}
	if nodes == 1 {
		disks = append(disks, startOnSmallDisk(t, program, 32))
	} else {
		disks = startCluster(t, program, nodes)
	}
	admin, err := os.ReadFile(disks[0].path("operator.token"))
	if err != nil {
		t.Fatal(err)
	}
	var token string
	waitFor(t, "a token", log, func() bool {
		status, body := disks[0].do(t, "POST", "/v1/tokens", strings.TrimSpace(string(admin)), []byte(`{"tenant":"me","scope":"control"}`))
		var made struct {
			Secret string `json:"secret"`
		}
		if status != http.StatusCreated || json.Unmarshal([]byte(body), &made) != nil {
			return false
		}
		token = made.Secret
		return true
	})
	for _, d := range disks {
		waitFor(t, "being ready", log, func() bool { return d.ready(t) })
	}
	var stored []string
	for len(stored) < 100 {
		ref, err := disks[0].upload(t, token)
		if err != nil {
			t.Logf("after %d MiB: %v", len(stored), err)
			break
		}
		stored = append(stored, ref)
	}
	if len(stored) == 0 || len(stored) == 100 {
		t.Fatalf("%d MiB were stored on a disk with 16 free\n%s", len(stored), log())
	}
	waitFor(t, "somebody saying that nothing can be stored", log, func() bool {
		for _, d := range disks {
			if !d.ready(t) {
				return true
			}
		}
		_, _ = disks[0].upload(t, token) // until the others are full as well
		return false
	})
	if status, _ := disks[0].do(t, "GET", "/healthz", "", nil); status != http.StatusOK {
		t.Errorf("the process does not live: %d", status)
	}
	for _, d := range disks {
		if err := os.Remove(d.path(ballast)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range disks {
		waitFor(t, "going on", log, func() bool { return d.ready(t) })
	}
	last := disks[len(disks)-1]
	waitFor(t, "storing again", log, func() bool {
		ref, err := last.upload(t, token)
		stored = append(stored, ref)
		return err == nil
	})
	for _, ref := range slices.DeleteFunc(stored, func(ref string) bool { return ref == "" }) {
		if status, body := last.do(t, "GET", "/v1/files/"+ref, token, nil); status != http.StatusOK || body != string(megabyte()) {
			t.Errorf("what was acknowledged is not there: file %s: %d, %d bytes", ref, status, len(body))
		}
	}
	if !strings.Contains(log(), "nothing can be stored") {
		t.Errorf("nobody was told:\n%s", log())
	}
}

func startCluster(t *testing.T, program string, nodes int) []*smallDisk {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("known to all three of them"), 0o600); err != nil {
		t.Fatal(err)
	}
	var addrs []string
	for range nodes {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, ln.Addr().String())
		_ = ln.Close()
	}
	disks := make([]*smallDisk, nodes)
	var wg sync.WaitGroup
	for i := range nodes {
		args := []string{"--node", fmt.Sprintf("n%d", i), "--cluster-listen", addrs[i], "--cluster-secret", secret, "--replicas", strconv.Itoa(nodes)}
		for j, addr := range addrs {
			if j != i {
				args = append(args, "--peer", "nats://"+addr)
			}
		}
		wg.Go(func() { disks[i] = startOnSmallDisk(t, program, 32, args...) })
	}
	wg.Wait()
	for _, d := range disks {
		if d == nil {
			t.FailNow()
		}
	}
	return disks
}
