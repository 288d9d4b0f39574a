package main

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// ballast is what makes the disk full, and then makes room.
const ballast = "ballast"

// startOnSmallDisk runs a relay whose directory is a file system of its own, of a few
// megabytes.
func startOnSmallDisk(t *testing.T, program string, mib int, args ...string) *process {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf(`mount -t tmpfs -o size=%dm none %q && dd if=/dev/zero of=%q/%s bs=1M count=%d 2>/dev/null && exec "$@"`, mib, dir, dir, ballast, mib/2)
	args = append([]string{"--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", program, "--data", dir, "--listen", "127.0.0.1:0"}, args...)
	return start(t, exec.Command("unshare", args...))
}

// megabyte is what is uploaded again and again.
func megabyte() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 1<<16) }

// upload stores a file of a megabyte.
func (p *process) upload(t *testing.T, token string) (ref string, _ error) {
	t.Helper()
	data := megabyte()
	status, body := p.do(t, "POST", "/v1/files", token, fmt.Appendf(nil, `{"name":"a.bin","size":%d}`, len(data)))
	var u struct {
		Ref string `json:"ref"`
	}
	if status != http.StatusCreated || json.Unmarshal([]byte(body), &u) != nil {
		return "", fmt.Errorf("%d %s", status, body)
	}
	if status, body = p.do(t, "PATCH", "/v1/files/"+u.Ref, token, data, "Content-Type", "application/octet-stream", "Upload-Offset", "0"); status/100 != 2 {
		return "", fmt.Errorf("%d %s", status, body)
	}
	return u.Ref, nil
}

func (p *process) ready(t *testing.T) bool {
	t.Helper()
	status, _ := p.do(t, "GET", "/readyz", "", nil)
	return status == http.StatusOK
}

// The disk is full: it is told, nothing ends, and once there is room it goes on by
// itself: one node, and a cluster of three whose disks are all full.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills disks")
	}
	t.Parallel() // it is waiting most of the time
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount -t tmpfs none "$0"`, t.TempDir()).CombinedOutput(); err != nil {
		t.Skipf("this machine lets nobody mount a small disk: %v: %s", err, out)
	}
	program := build(t)
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel()
			fullDisk(t, program, nodes)
		})
	}
}

func fullDisk(t *testing.T, program string, nodes int) {
	var disks []*process
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
		disks = startNodes(t, nodes, func(args ...string) *process { return startOnSmallDisk(t, program, 32, args...) })
	}
	token := disks[0].token(t, "control")
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
		if err := os.Remove(d.file(ballast)); err != nil {
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
