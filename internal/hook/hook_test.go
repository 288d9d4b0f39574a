//go:build unix

package hook

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agenthost/agenthost/internal/leaktest"
)

// asHook makes the test binary a hook.
const asHook = "AGENTHOST_TEST_AS_HOOK"

func TestMain(m *testing.M) {
	if os.Getenv(asHook) != "" {
		os.Exit(Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	leaktest.Main(m)
}

// shortDir is a directory whose path leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// listen serves hooks; requests come out of the channel.
func listen(t *testing.T, o Options) (*Server, chan Request) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = shortDir(t)
	}
	requests := make(chan Request, 64)
	s, err := Listen(o, func(r Request) { requests <- r })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, requests
}

// result is how a Run ended.
type result struct {
	code           int
	stdout, stderr string
}

func run(input string, args ...string) result {
	var out, err bytes.Buffer
	code := Run(args, strings.NewReader(input), &out, &err)
	return result{code, out.String(), err.String()}
}

func start(input string, args ...string) <-chan result {
	done := make(chan result, 1)
	go func() { done <- run(input, args...) }()
	return done
}

func TestReply(t *testing.T) {
	s, requests := listen(t, Options{})
	for _, test := range []struct {
		input, output string
		code          int
		want          result
	}{
		{`{"hook_event_name":"Stop"}`, `{"ok":true}`, 0, result{0, `{"ok":true}`, ""}},
		{"", "", 0, result{}},
		{strings.Repeat("x", 1<<20), strings.Repeat("y", 1<<20), 0, result{0, strings.Repeat("y", 1<<20), ""}},
		{"x", "no, because", 2, result{2, "no, because", "no, because"}},
		{"x", "", 300, result{1, "", ""}},
	} {
		done := start(test.input, Socket(s.o.Dir))
		r := <-requests
		if string(r.Data) != test.input || r.Dropped != 0 {
			t.Errorf("request = %.40q, dropped %d; want %.40q", r.Data, r.Dropped, test.input)
		}
		s.Reply(r.ID, []byte(test.output), test.code)
		s.Reply(r.ID, []byte("again"), 0)
		if got := <-done; got != test.want {
			t.Errorf("result = %.200v, want %.200v", got, test.want)
		}
	}
	s.Reply("unknown", nil, 0)
}

func TestConcurrent(t *testing.T) {
	s, requests := listen(t, Options{MaxOpen: 8})
	var wg sync.WaitGroup
	wg.Go(func() {
		var held []Request // answered from the newest to the oldest
		for i := range 100 {
			held = append(held, <-requests)
			if i == 99 || len(held) == 8 {
				for j := len(held) - 1; j >= 0; j-- {
					s.Reply(held[j].ID, held[j].Data, 0)
				}
				held = nil
			}
		}
	})
	for i := range 100 {
		wg.Go(func() {
			want := fmt.Sprint("request ", i)
			if got := run(want, Socket(s.o.Dir)); got.stdout != want {
				t.Errorf("result = %+v, want %q", got, want)
			}
		})
	}
	wg.Wait()
}

func TestTooLong(t *testing.T) {
	s, requests := listen(t, Options{MaxRequest: 10})
	done := start("eleven long", Socket(s.o.Dir))
	r := <-requests
	if r.Dropped != 11 || len(r.Data) > 0 {
		t.Errorf("request = %+v, want 11 bytes dropped", r)
	}
	s.Reply(r.ID, []byte("ok"), 0)
	if got := <-done; got.stdout != "ok" {
		t.Errorf("result = %+v, want ok", got)
	}
	if r, err := readInput(strings.NewReader("0123456789abc"), 10); err != nil || r.dropped != 13 || r.data != nil {
		t.Errorf("readInput = %+v, %v; want 13 bytes dropped", r, err)
	}
}

// A host that is not there, goes, or refuses.
func TestGone(t *testing.T) {
	closed := func(r result) bool {
		return r.code == 2 && r.stdout == "" && strings.HasPrefix(r.stderr, "agenthost cannot be asked: ")
	}
	check := func(t *testing.T, socket string, meanwhile func()) {
		t.Helper()
		open, shut := start("x", socket), start("x", "--closed", socket)
		if meanwhile != nil {
			meanwhile()
		}
		if got := <-open; got != (result{}) {
			t.Errorf("result = %+v, want nothing and 0", got)
		}
		if got := <-shut; !closed(got) {
			t.Errorf("result with --closed = %+v, want 2 and a reason", got)
		}
	}
	t.Run("never there", func(t *testing.T) { check(t, filepath.Join(shortDir(t), "hook"), nil) })
	t.Run("killed", func(t *testing.T) {
		dir := shortDir(t)
		l, err := net.Listen("unix", Socket(dir))
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
		if err := os.WriteFile(filepath.Join(dir, tokenName), []byte("t"), 0o600); err != nil {
			t.Fatal(err)
		}
		check(t, Socket(dir), nil)
		// The next one takes its place.
		s, requests := listen(t, Options{Dir: dir})
		done := start("x", Socket(dir))
		s.Reply((<-requests).ID, []byte("back"), 0)
		if got := <-done; got.stdout != "back" {
			t.Errorf("result = %+v, want back", got)
		}
	})
	t.Run("stops", func(t *testing.T) {
		s, requests := listen(t, Options{})
		check(t, Socket(s.o.Dir), func() {
			<-requests
			<-requests
			s.Close()
			s.Close()
		})
	})
	t.Run("wrong token", func(t *testing.T) {
		s, requests := listen(t, Options{})
		if err := os.WriteFile(filepath.Join(s.o.Dir, tokenName), []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
		check(t, Socket(s.o.Dir), nil)
		if len(requests) > 0 {
			t.Errorf("request = %+v, want none", <-requests)
		}
	})
	if got := run("x"); got.code != 2 || got.stderr == "" {
		t.Errorf("without a socket: %+v, want 2 and a reason", got)
	}
}

// An answer that was given before the host stops is given.
func TestReplyThenClose(t *testing.T) {
	for range 50 {
		s, requests := listen(t, Options{})
		done := start("x", "--closed", Socket(s.o.Dir))
		s.Reply((<-requests).ID, []byte("yes"), 0)
		s.Close()
		if got := <-done; got.stdout != "yes" || got.code != 0 {
			t.Fatalf("result = %+v, want yes", got)
		}
	}
}

// A caller that hangs up leaves its place to others, and what it did not send whole is
// no request.
func TestHangUp(t *testing.T) {
	s, requests := listen(t, Options{MaxOpen: 1})
	dial := func() net.Conn {
		c, err := net.Dial("unix", Socket(s.o.Dir))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	torn := dial()
	fmt.Fprintf(torn, "%s %s %s 100 0\nhalf", greeting, version, s.token)
	torn.Close()
	asked := dial()
	if err := writeRequest(asked, s.token, request{data: []byte("asked")}); err != nil {
		t.Fatal(err)
	}
	if r := <-requests; string(r.Data) != "asked" {
		t.Errorf("request = %q, want the whole one", r.Data)
	}
	asked.Close()
	done := start("next", Socket(s.o.Dir))
	s.Reply((<-requests).ID, []byte("ok"), 0)
	if got := <-done; got.stdout != "ok" {
		t.Errorf("result = %+v, want ok", got)
	}
}

func TestModes(t *testing.T) {
	s, _ := listen(t, Options{})
	for _, name := range []string{socketName, tokenName} {
		info, err := os.Stat(filepath.Join(s.o.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("mode of %s = %o, want 600", name, mode)
		}
	}
	if _, err := Listen(Options{Dir: filepath.Join(s.o.Dir, "no")}, nil); err == nil {
		t.Error("Listen in a directory that is not there = nil, want an error")
	}
}

// The command line, run by a real sh as agents do.
func TestCommandLine(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sh := func(line string) result {
		cmd := exec.Command("sh", "-c", line)
		cmd.Env = append(os.Environ(), asHook+"=1")
		cmd.Stdin = strings.NewReader("asked")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}
	dir := filepath.Join(shortDir(t), "it's a $dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, requests := listen(t, Options{Dir: dir})
	go func() {
		for r := range requests {
			s.Reply(r.ID, r.Data, 3)
		}
	}()
	for _, closed := range []bool{false, true} {
		if got := sh(CommandLine([]string{exe}, Socket(dir), closed)); got != (result{3, "asked", "asked"}) {
			t.Errorf("closed %v: %+v, want the answer", closed, got)
		}
		want := 0
		if closed {
			want = 2
		}
		for what, line := range map[string]string{
			"no host": CommandLine([]string{exe}, filepath.Join(dir, "no"), closed),
			"no exe":  CommandLine([]string{"/no/such/agenthost", "hook"}, Socket(dir), closed),
		} {
			if got := sh(line); got.code != want || got.stdout != "" {
				t.Errorf("%s, closed %v: %+v, want status %d and no output", what, closed, got, want)
			}
		}
	}
	s.Close()
	close(requests)
}

// FuzzRequest: whatever comes, it is refused or a request of the limit at most; and
// what is written is read again.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("agenthost-hook 1 token 3 0\nabc"), []byte("data"), int64(0))
	f.Add([]byte("agenthost-hook 1 token 99999999999 0\nabc"), []byte{}, int64(7))
	f.Add([]byte("agenthost-hook 1 token 0 -1\n"), []byte("\n"), int64(1<<40))
	f.Add([]byte("agenthost-hook 1 t 0 0\n"), []byte("0123456789abcdefg"), int64(0))
	f.Fuzz(func(t *testing.T, wire, data []byte, dropped int64) {
		const limit = 16
		r, err := readRequest(bufio.NewReader(bytes.NewReader(wire)), "token", limit)
		if err == nil && (len(r.data) > limit || len(r.data) > 0 && r.dropped > 0 || !bytes.HasPrefix(wire, []byte("agenthost-hook 1 token "))) {
			t.Fatalf("request = %+v of %q", r, wire)
		}
		if dropped < 0 {
			return
		}
		want := request{data: data, dropped: dropped}
		if len(data) > limit {
			want = request{dropped: max(dropped, int64(len(data)))}
		} else if dropped > 0 {
			want.data = nil
		}
		var b bytes.Buffer
		if err := writeRequest(&b, "token", request{data: data, dropped: dropped}); err != nil {
			t.Fatal(err)
		}
		got, err := readRequest(bufio.NewReader(&b), "token", limit)
		if err != nil || !bytes.Equal(got.data, want.data) || got.dropped != want.dropped {
			t.Fatalf("request = %+v, %v after a round trip, want %+v", got, err, want)
		}
	})
}

func FuzzReply(f *testing.F) {
	f.Add([]byte("0 3\nabc"), []byte("out"), 2)
	f.Add([]byte("0 3\nab"), []byte{}, 0)
	f.Add([]byte("256 0\n"), []byte("\n"), 255)
	f.Add([]byte("-1 99999999999999999999\n"), []byte("\n"), 1)
	f.Fuzz(func(t *testing.T, wire, output []byte, code int) {
		r, err := readReply(bufio.NewReader(bytes.NewReader(wire)))
		if err == nil && (r.code < 0 || r.code > 255 || len(r.output) >= len(wire)) {
			t.Fatalf("reply = %+v of %q", r, wire)
		}
		if code < 0 || code > 255 {
			return
		}
		var b bytes.Buffer
		if err := writeReply(&b, reply{code, output}); err != nil {
			t.Fatal(err)
		}
		got, err := readReply(bufio.NewReader(&b))
		if err != nil || got.code != code || !bytes.Equal(got.output, output) {
			t.Fatalf("reply = %+v, %v after a round trip, want %d %q", got, err, code, output)
		}
		if len(output) > 0 {
			_ = writeReply(&b, reply{code, output})
			short := io.LimitReader(&b, int64(b.Len()-1))
			if r, err := readReply(bufio.NewReader(short)); err == nil {
				t.Fatalf("reply = %+v of one that breaks off, want an error", r)
			}
		}
	})
}
