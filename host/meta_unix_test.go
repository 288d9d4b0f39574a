//go:build unix

package host

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Who names a session by its whole id does not wait for what others there are. The
// other one here is a pipe that nobody writes to.
func TestFindReadsOneSession(t *testing.T) {
	dir := t.TempDir()
	const id, other = "tz4a98xxat96iws9zmbrgj3a", "pfh0haxfpzowht3oi213cqos"
	for _, d := range []string{id, other} {
		if err := os.MkdirAll(SessionDir(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(SessionDir(dir, id), metaFile), []byte(`{"id":"`+id+`","agent":"fake","dir":"/","created":1,"updated":1,"facts":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(SessionDir(dir, other), metaFile)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	found := make(chan error, 1)
	go func() {
		m, err := Find(dir, id, "")
		if err == nil && m.ID != id {
			t.Errorf("found %q", m.ID)
		}
		found <- err
	}()
	select {
	case err := <-found:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it reads the other session")
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			f.Close() // lets it go on
		}
		<-found
	}
}
