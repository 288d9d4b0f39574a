//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// prompt fails the test if f takes long: it would be waiting for something.
func prompt(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s blocks", what)
		return nil
	}
}

// TestOddFiles is B201: what isn't a text file of bearable size is refused at once,
// for reading and for writing.
func TestOddFiles(t *testing.T) {
	base := layout(t)
	app := filepath.Join(base, "w/app")
	if out, err := exec.Command("/bin/bash", "testdata/B201-fifo.sh", app).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	socket, err := net.Listen("unix", filepath.Join(app, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	write(t, filepath.Join(app, "latin1"), "caf\xe9")
	write(t, filepath.Join(app, "full"), strings.Repeat("x", MaxFile))
	write(t, filepath.Join(app, "over"), strings.Repeat("x", MaxFile+1))
	if err := syscall.Mkfifo(filepath.Join(app, "sub", "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, "sub/fifo", filepath.Join(app, "to-fifo"))
	// Devices can't be reached from inside of a root but by a link, which leads out;
	// with /dev as a root they can.
	w, dev := open(t, app), open(t, "/dev")
	anyError := errors.New("any")
	for _, test := range []struct {
		w           *Workspace
		path        string
		read, write error
	}{
		{w, app + "/fifo", ErrNotRegular, ErrNotRegular},
		{w, app + "/to-fifo", ErrNotRegular, ErrNotRegular},
		{w, app + "/socket", ErrNotRegular, ErrNotRegular},
		{w, app + "/dir", ErrNotRegular, ErrNotRegular},
		{w, app, ErrNotRegular, ErrNotRegular},
		{w, app + "/sparse", ErrTooLarge, nil},
		{w, app + "/over", ErrTooLarge, nil},
		{w, app + "/full", nil, nil},
		{w, app + "/nul", ErrNotText, nil},
		{w, app + "/latin1", ErrNotText, nil},
		{w, app + "/loop", anyError, anyError},
		{w, app + "/zero", ErrOutside, ErrOutside},
		{dev, "/dev/zero", ErrNotRegular, ErrNotRegular},
		{dev, "/dev/null", ErrNotRegular, ErrNotRegular},
	} {
		got := map[string]error{
			"reading": prompt(t, "reading "+test.path, func() error { _, err := test.w.ReadText(test.path, 0, 0); return err }),
			"writing": prompt(t, "writing "+test.path, func() error { return test.w.WriteText(test.path, "new") }),
		}
		for how, want := range map[string]error{"reading": test.read, "writing": test.write} {
			if want == anyError && got[how] != nil {
				continue
			}
			if !errors.Is(got[how], want) {
				t.Errorf("%s %s: %v, want %v", how, test.path, got[how], want)
			}
		}
	}
}

// TestUnreadable: permissions of the system hold.
func TestUnreadable(t *testing.T) {
	unprivileged(t)
	base := layout(t)
	app := filepath.Join(base, "w/app")
	secret, readOnly := filepath.Join(app, "a.txt"), filepath.Join(app, "sub/b.txt")
	for path, mode := range map[string]os.FileMode{secret: 0, readOnly: 0o444} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	w := open(t, app)
	if _, err := w.ReadText(secret, 0, 0); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("reading a file of mode 000: %v, want ErrPermission", err)
	}
	if err := w.WriteText(readOnly, "new"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("writing a read-only file: %v, want ErrPermission", err)
	}
}

// TestDirectoryThatCantBeWritten: a file in it is written in place, but not if
// someone else has it under another name.
func TestDirectoryThatCantBeWritten(t *testing.T) {
	unprivileged(t)
	base := layout(t)
	app := filepath.Join(base, "w/app")
	single, double := filepath.Join(app, "sub/b.txt"), filepath.Join(app, "sub/double")
	write(t, double, "old")
	if err := os.Link(double, filepath.Join(base, "w/other/double")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(single), 0o555); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(filepath.Dir(single), 0o755) }()
	w := open(t, app)
	if err := w.WriteText(single, "new"); err != nil || read(t, single) != "new" {
		t.Errorf("writing in place: %v, %q", err, read(t, single))
	}
	if err := w.WriteText(double, "new"); !errors.Is(err, fs.ErrPermission) || read(t, double) != "old" {
		t.Errorf("writing in place over a hard link: %v, %q", err, read(t, double))
	}
	if err := w.WriteText(filepath.Join(app, "sub/fresh"), "new"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a new file: %v, want ErrPermission", err)
	}
}

func TestWrite(t *testing.T) {
	base := layout(t)
	app := filepath.Join(base, "w/app")
	w := open(t, app)

	fresh := filepath.Join(app, "x/y/z.txt")
	if err := w.WriteText(fresh, "text\n"); err != nil || read(t, fresh) != "text\n" {
		t.Errorf("a new file in new directories: %v", err)
	}
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o666&^os.FileMode(umask) {
		t.Errorf("a new file has mode %v, want 0666 less the umask %04o", info.Mode(), umask)
	}

	script := filepath.Join(app, "run.sh")
	write(t, script, "old")
	if err := os.Chmod(script, 0o750|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(base, "w/other/hard")
	if err := os.Link(script, other); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteText(script, "new"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(script); err != nil || info.Mode() != 0o750 {
		t.Errorf("an old file has mode %v, want 0750", info.Mode())
	}
	if got := read(t, other); got != "old" {
		t.Errorf("a hard link outside holds %q now, want what it held", got)
	}

	for name, bad := range map[string]struct {
		content string
		want    error
	}{"too large": {strings.Repeat("x", MaxFile+1), ErrTooLarge}, "NUL": {"a\x00", ErrNotText}, "not UTF-8": {"\xff", ErrNotText}} {
		if err := w.WriteText(script, bad.content); !errors.Is(err, bad.want) || read(t, script) != "new" {
			t.Errorf("%s: %v, want %v and the old text", name, err, bad.want)
		}
	}
	if err := w.WriteText(filepath.Join(app, "a.txt/x"), "x"); err == nil {
		t.Error("a file below a file was written")
	}
	checkNoLitter(t, app)
}

// TestWriteIsAtomic: readers see whole texts only, whoever writes meanwhile.
func TestWriteIsAtomic(t *testing.T) {
	base := layout(t)
	app := filepath.Join(base, "w/app")
	path := filepath.Join(app, "a.txt")
	w := open(t, app)
	text := func(i int) string { return strings.Repeat(fmt.Sprint(i%10), 10000+i) }
	if err := w.WriteText(path, text(0)); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for n := range 3 {
		writers.Go(func() {
			for i := range 20 {
				if err := w.WriteText(path, text(20*n+i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		writers.Wait()
	}()
	for reading := true; reading; {
		select {
		case <-finished:
			reading = false
		default:
		}
		got, err := w.ReadText(path, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < 10000 || got != text(len(got)-10000) {
			t.Fatalf("a reader saw %d bytes that nobody wrote", len(got))
		}
	}
	checkNoLitter(t, app)
}

// TestSwappedForALink: a directory that becomes a link out, again and again, while
// files below it are written.
func TestSwappedForALink(t *testing.T) {
	base := layout(t)
	app, other := filepath.Join(base, "w/app"), filepath.Join(base, "w/other")
	dir, spare := filepath.Join(app, "swap"), filepath.Join(base, "w/spare")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := open(t, app)
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(dir, spare)
			_ = os.Symlink(other, dir)
			_ = os.Remove(dir)
			_ = os.Rename(spare, dir)
		}
	})
	written := 0
	for range 300 {
		if err := w.WriteText(filepath.Join(dir, "c.txt"), "evil"); err == nil {
			written++
		}
		if text, err := w.ReadText(filepath.Join(dir, "c.txt"), 0, 0); err == nil && text != "evil" {
			t.Fatalf("read %q from outside", text)
		}
	}
	close(stop)
	swapper.Wait()
	if got := read(t, filepath.Join(other, "c.txt")); got != "w/other/c.txt" {
		t.Errorf("the file outside holds %q", got)
	}
	if entries, _ := os.ReadDir(other); len(entries) != 1 {
		t.Errorf("%d entries outside, want 1", len(entries))
	}
	t.Logf("%d of 300 writes went through", written)
}

// checkNoLitter looks for temporary files.
func checkNoLitter(t *testing.T, dir string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s was left behind", path)
		}
		return nil
	})
}
