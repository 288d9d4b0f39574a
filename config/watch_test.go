package config_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/config"
)

// follower runs a Live and collects what it says.
type follower struct {
	t    *testing.T
	live *config.Live
	file string
	ok   chan config.Config
	bad  chan error
}

func follow(t *testing.T, content string) *follower {
	t.Helper()
	f := &follower{t: t, file: filepath.Join(t.TempDir(), "config.yaml"), ok: make(chan config.Config, 100), bad: make(chan error, 100)}
	f.write(f.file, content)
	live, err := config.NewLive(config.LoadOptions{File: f.file, Environ: []string{"HOME=/home/u"}})
	if err != nil {
		t.Fatal(err)
	}
	f.live = live
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := live.Run(ctx, func(c config.Config) { f.ok <- c }, func(err error) { f.bad <- err }); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return f
}

func (f *follower) write(path, content string) {
	f.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *follower) do(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// want waits for the next change and checks it. The bound is for a broken watch
// and below the time between two patrols: a working one needs a fraction of it.
func (f *follower) want(restarts int) {
	f.t.Helper()
	select {
	case c := <-f.ok:
		if c.Limits.Restarts != restarts || f.live.Config().Limits.Restarts != restarts {
			f.t.Errorf("the change says %d, the live configuration %d, want %d", c.Limits.Restarts, f.live.Config().Limits.Restarts, restarts)
		}
	case err := <-f.bad:
		f.t.Fatalf("got error %v, want a change", err)
	case <-time.After(30 * time.Second):
		f.t.Fatalf("no change to %d was seen", restarts)
	}
}

func (f *follower) wantError(part string) {
	f.t.Helper()
	select {
	case c := <-f.ok:
		f.t.Fatalf("got a change to %d, want an error", c.Limits.Restarts)
	case err := <-f.bad:
		if !strings.Contains(err.Error(), part) {
			f.t.Errorf("got error %v, want %q", err, part)
		}
	case <-time.After(30 * time.Second):
		f.t.Fatalf("no error with %q was seen", part)
	}
}

func restarts(n int) string { return fmt.Sprintf("limits: {restarts: %d}\n", n) }

// B160: every way to save is seen, again and again.
func TestEveryWayToSave(t *testing.T) {
	f := follow(t, restarts(1))
	for n := 2; n <= 3; n++ { // atomic: a temporary file renamed over
		f.write(f.file+".tmp", restarts(n))
		f.do(os.Rename(f.file+".tmp", f.file))
		f.want(n)
	}
	f.do(os.Rename(f.file, f.file+"~")) // vim: the old one becomes a backup
	f.write(f.file, restarts(4))
	f.want(4)
	f.do(os.Remove(f.file + "~"))
	f.write(f.file, restarts(5)) // in place
	f.want(5)
	dir := filepath.Dir(f.file) // a symlink swapped, as in a mounted config map
	f.write(filepath.Join(dir, ".real6"), restarts(6))
	f.do(os.Symlink(".real6", f.file+".lnk"))
	f.do(os.Rename(f.file+".lnk", f.file))
	f.want(6)
	f.write(filepath.Join(dir, ".real6"), restarts(7)) // behind the symlink
	f.want(7)
}

// B165: only a change of content is a change, whatever the event.
func TestOnlyContentCounts(t *testing.T) {
	f := follow(t, restarts(1))
	f.do(os.Chmod(f.file, 0o640))
	f.write(filepath.Join(filepath.Dir(f.file), "other.yaml"), "x")
	f.write(f.file, restarts(1))
	f.write(f.file+".tmp", restarts(1))
	f.do(os.Rename(f.file+".tmp", f.file))
	f.write(f.file, restarts(2))
	f.want(2) // the first that is told
	if len(f.ok)+len(f.bad) > 0 {
		t.Error("something else was told, too")
	}
}

// A broken file leaves the last good one in force and is told once.
func TestBrokenFile(t *testing.T) {
	f := follow(t, restarts(1))
	f.write(f.file, "limits: {restart: 2}\n")
	f.wantError(`unknown key "restart", did you mean "restarts"?`)
	f.write(f.file, "limits: [")
	f.wantError("config.yaml")
	f.do(os.Remove(f.file))
	f.wantError("no such file")
	if got := f.live.Config().Limits.Restarts; got != 1 {
		t.Errorf("the configuration in force says %d, want the last good 1", got)
	}
	f.write(f.file, restarts(3))
	f.want(3)
	for range 2 {
		if changed, err := f.live.Reload(); changed || err != nil {
			t.Errorf("Reload without a change = %t, %v", changed, err)
		}
	}
	f.write(f.file, "x: 1\n")
	f.wantError(`unknown key "x"`)
	if changed, err := f.live.Reload(); changed || err != nil {
		t.Errorf("Reload of the same mistake = %t, %v, want it told once", changed, err)
	}
}

// The default file may be missing at the start; once there was one its rules are
// not lifted by its removal.
func TestDefaultFileThatComesAndGoes(t *testing.T) {
	home := t.TempDir()
	live, err := config.NewLive(config.LoadOptions{Environ: []string{"HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".config", "agenthost", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(restarts(5)), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := live.Reload(); !changed || err != nil || live.Config().Limits.Restarts != 5 {
		t.Errorf("Reload = %t, %v, want the new file", changed, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if changed, err := live.Reload(); changed || err == nil || live.Config().Limits.Restarts != 5 {
		t.Errorf("Reload = %t, %v, want an error and the last good configuration", changed, err)
	}
}

func TestNewLiveRefusesABrokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	_, err := config.NewLive(config.LoadOptions{File: file})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("NewLive of a missing file = %v, want ErrNotExist", err)
	}
	if err := os.WriteFile(file, []byte("x: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	var faults config.Faults
	if _, err = config.NewLive(config.LoadOptions{File: file, Environ: []string{"HOME=/h"}}); !errors.As(err, &faults) {
		t.Errorf("NewLive of a broken file = %v, want Faults", err)
	}
}

// B163: readers see one whole configuration while it is swapped. Run with -race.
func TestReadersAndReloads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(n int) {
		content := fmt.Sprintf("limits: {restarts: %d}\nnativeLog: {files: %d}\nagents: {a: {model: m%d}}\n", n, n, n)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Error(err)
		}
	}
	write(10)
	live, err := config.NewLive(config.LoadOptions{File: file, Environ: []string{"HOME=/h"}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					runtime.Gosched() // 20 readers that never rest starve the writer
				}
				c := live.Config()
				if n := c.Limits.Restarts; c.NativeLog.Files != n || c.Agent("a").Model != fmt.Sprintf("m%d", n) {
					t.Errorf("torn configuration: %d, %d, %s", n, c.NativeLog.Files, c.Agent("a").Model)
					return
				}
			}
		})
	}
	for n := range 200 {
		write(11 + n)
		if changed, err := live.Reload(); !changed || err != nil {
			t.Errorf("reload %d = %t, %v", n, changed, err)
		}
	}
	close(done)
	wg.Wait()
}
