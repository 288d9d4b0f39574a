//go:build unix

package host

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/internal/hook"
	"github.com/agenthost/agenthost/internal/leaktest"
)

const (
	// beHook and beServer make the test binary a hook, and an agent's server on a socket.
	beHook, beServer = "AGENTHOST_TEST_HOOK", "AGENTHOST_TEST_SERVER"
	// longest is how long a real process may take for anything.
	longest = 30 * time.Second
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(beServer) != "" && len(os.Args) == 2:
		serveSocket(os.Args[1])
	case os.Getenv(beHook) != "" && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test."):
		os.Exit(hook.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(leaktest.Files(m.Run))
}

// serveSocket answers each message with itself, but for those that say what to do.
func serveSocket(path string) {
	l, err := net.Listen("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "listening")
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for {
			_, p, err := c.Read(r.Context())
			switch {
			case err != nil || string(p) == "cut":
				_ = c.CloseNow()
				return
			case string(p) == "die":
				fmt.Fprintln(os.Stderr, "dying")
				os.Exit(7)
			}
			_ = c.Write(r.Context(), websocket.MessageText, p)
		}
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// onTerminal starts a script on a terminal.
func onTerminal(t *testing.T, script string, change func(*StartSpec)) *terminalChild {
	t.Helper()
	dir, err := os.MkdirTemp("", "agenthost-")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hub := screen.New(screen.Options{Cols: 90, Rows: 20})
	t.Cleanup(hub.Close)
	spec := StartSpec{
		Argv: []string{"/bin/bash", "-c", script, "script"}, Dir: t.TempDir(), MaxLine: 1 << 20, StderrTail: 4096, StopGrace: time.Second,
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", beHook + "=1",
			"HOOK=" + hook.CommandLine([]string{exe}, hook.Socket(dir), false),
		},
		Terminal: &TerminalSpec{Hub: hub, Dir: dir},
	}
	if change != nil {
		change(&spec)
	}
	c, err := startTerminal(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	child := c.(*terminalChild)
	t.Cleanup(func() {
		go func() {
			for range child.frames {
			}
		}()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		child.Stop(ctx)
		<-child.finished
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("the directory for sockets is left")
		}
	})
	return child
}

// frame is the next frame; its zero value is the end.
func frame(t *testing.T, c *terminalChild) adapters.Frame {
	t.Helper()
	select {
	case f := <-c.frames:
		return f
	case <-time.After(longest):
		t.Fatal("no frame")
		panic("unreachable")
	}
}

func wantFrame(t *testing.T, c *terminalChild, source adapters.Source, data string) adapters.Frame {
	t.Helper()
	f := frame(t, c)
	if f.Source != source || string(f.Data) != data {
		t.Fatalf("frame = %+v %q, want %v %q", f, f.Data, source, data)
	}
	return f
}

// wantEnd wants no more frames, and how it ended.
func wantEnd(t *testing.T, c *terminalChild, code int, in string) {
	t.Helper()
	select {
	case f, ok := <-c.frames:
		if ok {
			t.Fatalf("frame = %+v %q, want the end", f, f.Data)
		}
	case <-time.After(longest):
		t.Fatal("no end")
	}
	if e := c.Exit(); e.Code != code || !strings.Contains(e.Stderr+e.Err, in) {
		t.Errorf("exit = %+v, want %d with %q", e, code, in)
	}
}

// A screen, the file it writes and the hook it calls are one stream: what stands in the
// file when the hook calls is first, and at the end it is read to its end.
func TestTerminalChild(t *testing.T) {
	c := onTerminal(t, `
		read -r go
		echo first >> log; echo second >> log
		answer=$(echo '{"hook":1}' | sh -c "$HOOK")
		stty size >> log
		echo "answered $answer" >> log
		read -r typed; echo "typed $typed" >> log
		echo a >> log; echo b >> late-1; printf 'no end' >> log`, nil)
	for _, e := range []adapters.Effect{
		adapters.Follow{ID: "f", Path: filepath.Join(c.spec.Dir, "log")}, adapters.Follow{ID: "p", Path: filepath.Join(c.spec.Dir, "late-*")},
	} {
		if err := c.Do(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Write([]byte("go\r")); err != nil {
		t.Fatal(err)
	}
	if f := wantFrame(t, c, adapters.LogFile, "first"); f.ID != "f" || f.File != "log" {
		t.Errorf("frame = %+v, want that of f, of log", f)
	}
	wantFrame(t, c, adapters.LogFile, "second")
	f := wantFrame(t, c, adapters.Hook, "{\"hook\":1}\n")
	if err := c.Do(adapters.HookReply{ID: f.ID, Output: []byte("yes")}); err != nil {
		t.Fatal(err)
	}
	wantFrame(t, c, adapters.LogFile, "20 90")
	wantFrame(t, c, adapters.LogFile, "answered yes")
	if err := c.Write([]byte("hello\r")); err != nil {
		t.Fatal(err)
	}
	wantFrame(t, c, adapters.LogFile, "typed hello")
	rest := map[string]bool{string(frame(t, c).Data): true, string(frame(t, c).Data): true}
	if !rest["a"] || !rest["b"] {
		t.Errorf("last frames = %v, want a and b", rest)
	}
	wantEnd(t, c, 0, "")
	for _, e := range []adapters.Effect{adapters.StartScreen{ID: "s"}, adapters.ReadFile{ID: "r"}} {
		if err := c.Do(e); err == nil {
			t.Errorf("Do(%T) = nil, want an error", e)
		}
	}
	if err := c.Write([]byte("late")); err != nil {
		t.Errorf("Write at the end = %v, want nil", err)
	}
}

// The screen at rest is a frame; the end of a screen that failed is told to people.
func TestTerminalScreens(t *testing.T) {
	c := onTerminal(t, `printf 'Do you trust this folder?'; read -r x; printf '\r\nnot logged in\r\n'; exit 4`,
		func(s *StartSpec) { s.Terminal.Screens = true })
	// It may have been at rest before the program wrote anything.
	for look := (adapters.Screen{}); !strings.Contains(strings.Join(look.Lines, "\n"), "trust this folder?"); {
		f := frame(t, c)
		var err error
		if look, err = adapters.ParseScreen(f.Data); err != nil || f.Source != adapters.Terminal {
			t.Fatalf("frame = %+v %q, %v; want the screen", f, f.Data, err)
		}
	}
	if err := c.Write([]byte("\r")); err != nil {
		t.Fatal(err)
	}
	for f := range c.frames {
		if f.Source != adapters.Terminal {
			t.Errorf("frame = %+v, want screens only", f)
		}
	}
	if e := c.Exit(); e.Code != 4 || !strings.Contains(e.Stderr, "not logged in") {
		t.Errorf("exit = %+v, want 4 and what the screen shows", e)
	}
}

// A look is a frame also of a screen that never rests, and that looks as before.
func TestTerminalLook(t *testing.T) {
	c := onTerminal(t, `printf 'working '; while :; do printf '.\b'; sleep 0.02; done`, func(s *StartSpec) { s.Terminal.Screens = true })
	for shown := 0; shown < 2; {
		if err := c.Do(adapters.Look{}); err != nil {
			t.Fatal(err)
		}
		f := frame(t, c)
		look, err := adapters.ParseScreen(f.Data)
		if err != nil || f.Source != adapters.Terminal {
			t.Fatalf("frame = %+v, %v, want a screen", f, err)
		}
		if strings.HasPrefix(look.Lines[0], "working") {
			shown++
		}
	}
}

// A screen that does not go is killed, and nothing is left of it.
func TestTerminalStop(t *testing.T) {
	for name, hurried := range map[string]bool{"ladder": false, "hurried": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := onTerminal(t, `trap '' HUP TERM; echo up >> log; while :; do sleep 1; done`, func(s *StartSpec) { s.StopGrace = 100 * time.Millisecond })
			if err := c.Do(adapters.Follow{ID: "f", Path: filepath.Join(c.spec.Dir, "log")}); err != nil {
				t.Fatal(err)
			}
			wantFrame(t, c, adapters.LogFile, "up")
			ctx, cancel := context.WithCancel(t.Context())
			if hurried {
				cancel()
			}
			defer cancel()
			go c.Stop(ctx)
			for range c.frames {
			}
			if e := c.Exit(); e.Signal != "SIGKILL" {
				t.Errorf("exit = %+v, want SIGKILL", e)
			}
		})
	}
}

// slowContext ends, but does not get to tell those who wait by context.AfterFunc before
// they have gone: as one may whose waiters run first.
type slowContext struct{ context.Context }

func (slowContext) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }

// A stop that is under way becomes a kill when its context ends, whoever learns of
// it first.
func TestTerminalStopHurried(t *testing.T) {
	c := onTerminal(t, `trap '' HUP TERM; echo up >> log; while :; do sleep 1; done`, func(s *StartSpec) { s.StopGrace = time.Hour })
	if err := c.Do(adapters.Follow{ID: "f", Path: filepath.Join(c.spec.Dir, "log")}); err != nil {
		t.Fatal(err)
	}
	wantFrame(t, c, adapters.LogFile, "up")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Stop(slowContext{ctx})
	wantEnd(t, c, -1, "")
	if e := c.Exit(); e.Signal != "SIGKILL" {
		t.Errorf("exit = %+v, want SIGKILL", e)
	}
}

// A screen that is to be started while its child ends is started whole or not at all,
// and not at all afterwards.
func TestTerminalStartsNothingAtTheEnd(t *testing.T) {
	c := onTerminal(t, `read -r x`, withServer(true))
	begun := make(chan struct{})
	done := make(chan error)
	go func() {
		for n := 0; ; n++ {
			if n == 1 {
				close(begun)
			}
			over := c.ended() // before: what was begun in time may be done when it is over
			if err := c.Do(adapters.StartScreen{ID: "s"}); err != nil || over && n > 1 {
				done <- err
				return
			}
		}
	}()
	<-begun
	go c.Stop(t.Context())
	for range c.frames {
	}
	if err := <-done; err == nil {
		t.Error("StartScreen after the end = nil, want an error")
	}
}

func (c *terminalChild) ended() bool {
	select {
	case <-c.finished:
		return true
	default:
		return false
	}
}

// withServer has the test binary beside the screen.
func withServer(first bool) func(*StartSpec) {
	return func(s *StartSpec) {
		exe, err := os.Executable()
		if err != nil {
			panic(err)
		}
		s.Env = append(s.Env, beServer+"=1")
		socket := filepath.Join(s.Terminal.Dir, "server")
		s.Terminal.Server = &adapters.Server{Argv: []string{exe, socket}, Socket: socket, First: first}
	}
}

// messages are the frames of the server's socket; other frames are left out.
func messages(t *testing.T, c *terminalChild, want ...string) {
	t.Helper()
	for _, w := range want {
		f := frame(t, c)
		for f.Source == adapters.Stderr {
			f = frame(t, c)
		}
		got := string(f.Data)
		if f.Reconnected {
			got = "reconnected"
			c.attended()
		}
		if f.Source != adapters.Socket || got != w {
			t.Fatalf("frame = %+v %q, want %q", f, got, w)
		}
	}
}

// A server has its say before there is a screen, is connected to again when its
// connection breaks, and goes with the screen.
func TestTerminalServer(t *testing.T) {
	c := onTerminal(t, `echo "$@" >> log; read -r x; exit 5`, withServer(true))
	if err := c.Do(adapters.Follow{ID: "f", Path: filepath.Join(c.spec.Dir, "log")}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"one", "two", "cut"} {
		if err := c.Write([]byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	messages(t, c, "one", "two", "reconnected")
	if err := c.Write([]byte("three")); err != nil {
		t.Fatal(err)
	}
	messages(t, c, "three")
	if _, err := os.Stat(filepath.Join(c.spec.Dir, "log")); err == nil {
		t.Error("the screen was started before it was asked for")
	}
	if err := c.Do(adapters.StartScreen{ID: "s", Args: []string{"--thread", "t1"}}); err != nil {
		t.Fatal(err)
	}
	wantFrame(t, c, adapters.LogFile, "--thread t1")
	<-c.begun // the file may be faster
	if err := c.spec.Terminal.Hub.Input([]byte("\r")); err != nil {
		t.Fatal(err)
	}
	for f := range c.frames {
		if f.Source != adapters.Stderr {
			t.Errorf("frame = %+v %q, want the end", f, f.Data)
		}
	}
	if e := c.Exit(); e.Code != 5 || e.Err != "" {
		t.Errorf("exit = %+v, want the screen's", e)
	}
}

// A server that dies ends the child, also with status 0 of its screen: nobody quit it.
func TestTerminalServerDies(t *testing.T) {
	c := onTerminal(t, `echo up >> log; trap 'exit 0' HUP TERM; while :; do read -r x; done`, withServer(false))
	if err := c.Do(adapters.Follow{ID: "f", Path: filepath.Join(c.spec.Dir, "log")}); err != nil {
		t.Fatal(err)
	}
	for f := frame(t, c); f.Source != adapters.LogFile; f = frame(t, c) {
	}
	if err := c.Write([]byte("die")); err != nil {
		t.Fatal(err)
	}
	for range c.frames {
	}
	if e := c.Exit(); e.Code != 7 || !strings.Contains(e.Err, "server ended") || !strings.Contains(e.Stderr, "dying") {
		t.Errorf("exit = %+v, want 7, because the server ended", e)
	}
}

// What cannot be started leaves nothing behind.
func TestTerminalStartFails(t *testing.T) {
	dir, err := os.MkdirTemp("", "agenthost-")
	if err != nil {
		t.Fatal(err)
	}
	hub := screen.New(screen.Options{})
	defer hub.Close()
	spec := StartSpec{Argv: []string{"/no/such/agent"}, Dir: t.TempDir(), Terminal: &TerminalSpec{Hub: hub, Dir: dir, Screens: true}}
	if _, err := startTerminal(t.Context(), spec, nil); err == nil || !strings.Contains(err.Error(), "/no/such/agent") {
		t.Errorf("startTerminal = %v, want an error that names it", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory for sockets is left")
	}
	// A screen that cannot be started when its server runs ends the child.
	c := onTerminal(t, "", func(s *StartSpec) { withServer(false)(s); s.Argv = []string{"/no/such/screen"} })
	for range c.frames {
	}
	if e := c.Exit(); e.Code == 0 && e.Err == "" || !strings.Contains(e.Err, "/no/such/screen") {
		t.Errorf("exit = %+v, want the reason", e)
	}
}
