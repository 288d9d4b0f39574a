package daemon

import (
	"context"
	"encoding/json/v2"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/permission"
)

// other is a further daemon on w's directory, on a machine.
func (w *world) other(machine string) error {
	w.t.Helper()
	med := permission.New(permission.Options{})
	defer med.Close()
	d, err := Open(Config{StateDir: w.state, Mediator: med, Prepare: w.prepare, Machine: &Machine{ID: machine, Name: machine}})
	if err == nil {
		err = d.Close(context.Background())
	}
	return err
}

// TestOne: a second daemon is refused while the first lives, and told who that is.
func TestOne(t *testing.T) {
	w := newWorld(t, nil)
	l, err := w.Listen(t.Context(), filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var running *RunningError
	if err := w.other("m1"); !errors.As(err, &running) || running.Info.PID != os.Getpid() || running.Foreign {
		t.Errorf("the second daemon got %v", err)
	}
	info, err := readInfo(filepath.Join(w.state, lockFile))
	if err != nil || info.Socket != l.Addr().String() {
		t.Errorf("the lock file tells %+v, %v; want the socket %s", info, err, l.Addr())
	}
	w.close()
	if err := w.other("m1"); err != nil {
		t.Errorf("after the first is gone: %v", err)
	}
	if _, err := Find(w.state); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Find = %v, want that none runs", err)
	}
}

// TestStalePID (B220): a file that names a process which lives, but is no daemon,
// stops nobody, and that process is left alone.
func TestStalePID(t *testing.T) {
	w := newWorld(t, nil)
	w.close()
	stranger := os.Getppid()
	for _, content := range []string{
		`{"pid":` + itoa(stranger) + `,"machine":"m1","name":"box","startedAt":"2020-01-01T00:00:00Z","socket":"/nowhere"}`,
		`{"pid":`, "", "\x00\xff",
	} {
		if err := os.WriteFile(filepath.Join(w.state, lockFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.other("m1"); err != nil {
			t.Errorf("with the file %q: %v", content, err)
		}
	}
	if p, err := os.FindProcess(stranger); err != nil || p.Pid != stranger {
		t.Errorf("the stranger is gone: %v", err)
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// TestSharedHome: a daemon of another machine counts as alive as long as it gives
// signs of life, although its lock is not seen here.
func TestSharedHome(t *testing.T) {
	w := newWorld(t, nil)
	w.close()
	path := filepath.Join(w.state, lockFile)
	write := func(age time.Duration) {
		t.Helper()
		if err := os.WriteFile(path, []byte(`{"pid":7,"machine":"m2","name":"server"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(beat)
	var running *RunningError
	if err := w.other("m1"); !errors.As(err, &running) || !running.Foreign || !strings.Contains(err.Error(), "server") {
		t.Errorf("beside a daemon of another machine: %v", err)
	}
	if info, err := Find(w.state); !errors.As(err, &running) || info.Name != "server" {
		t.Errorf("Find = %+v, %v; want the other machine", info, err)
	}
	write(2 * silence)
	if err := w.other("m1"); err != nil {
		t.Errorf("after a long silence: %v", err)
	}
}

// TestSocket (B223): nobody takes the socket of a daemon that answers; one that was
// left is taken over; anything else is left alone.
func TestSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v; want it for this user alone", info.Mode(), err)
	}
	if _, err := listen(t.Context(), path); err == nil || !strings.Contains(err.Error(), "somebody listens") {
		t.Errorf("listening twice = %v", err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the first one was taken away: %v", err)
	}
	c.Close()
	l.(ownListener).Listener.(*net.UnixListener).SetUnlinkOnClose(false) // as kill -9 leaves it
	l.Close()
	l, err = listen(t.Context(), path)
	if err != nil {
		t.Fatalf("taking over a socket that was left: %v", err)
	}
	l.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(t.Context(), file); err == nil {
		t.Error("a file was taken for a socket")
	}
	if data, _ := os.ReadFile(file); string(data) != "mine" {
		t.Error("the file was changed")
	}
}

// TestSocketPath: two state directories have two sockets, and a long path finds a
// shorter one.
func TestSocketPath(t *testing.T) {
	runtime := filepath.Join(t.TempDir(), "run")
	a, err := socketPath("/home/a/state", runtime)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := socketPath("/home/b/state", runtime); a == b || filepath.Dir(a) != filepath.Dir(b) {
		t.Errorf("the sockets are %s and %s", a, b)
	}
	state := filepath.Join(t.TempDir(), "state")
	if p, err := socketPath(state, ""); err != nil || len(p) > maxSocketPath {
		t.Errorf("without a runtime directory: %s, %v", p, err)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 200))
	p, err := socketPath(long, filepath.Join(long, "run"))
	if err != nil || len(p) > maxSocketPath || !strings.HasPrefix(p, os.TempDir()) {
		t.Errorf("with long paths: %s, %v", p, err)
	}
	_ = os.Remove(filepath.Dir(p))
}
