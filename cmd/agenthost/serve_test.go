//go:build unix

package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agenthost/agenthost/host/daemon"
	"github.com/agenthost/agenthost/relay/wire"
)

// TestServe runs the stories of the daemon in testdata/serve.
func TestServe(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/serve",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("XDG_RUNTIME_DIR", "")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready": ready, "signal": sendSignal, "until": until, "gone": gone,
		},
	})
}

// patience bounds everything that a story waits for.
const patience = 20 * time.Second

// info waits until a daemon answers, and gives what it told of itself.
func info(ts *testscript.TestScript) daemon.Info {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		in, err := daemon.Find(ts.MkAbs("state/agenthost"))
		if err != nil || in.Socket == "" {
			continue
		}
		if c, err := net.Dial("unix", in.Socket); err == nil {
			c.Close()
			return in
		}
	}
	ts.Fatalf("no daemon answers")
	return daemon.Info{}
}

// ready waits for the daemon and sets PID, SOCKET and ADDRESS.
func ready(ts *testscript.TestScript, _ bool, _ []string) {
	in := info(ts)
	ts.Setenv("PID", strconv.Itoa(in.PID))
	ts.Setenv("SOCKET", in.Socket)
	if len(in.Addresses) > 0 {
		ts.Setenv("ADDRESS", in.Addresses[0])
	}
}

// sendSignal sends a signal to the daemon: signal TERM.
func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	sig := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}[args[0]]
	pid, err := strconv.Atoi(ts.Getenv("PID"))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, sig))
}

// until runs a command until its output has a text: until TEXT COMMAND...
func until(ts *testscript.TestScript, _ bool, args []string) {
	var out string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		out = ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if err == nil && strings.Contains(out, args[0]) {
			return
		}
	}
	ts.Fatalf("%v never said %q, but:\n%s", args[1:], args[0], out)
}

// gone waits until no process of this story runs that has a word in its command
// line: what was started from its directory.
func gone(ts *testscript.TestScript, _ bool, args []string) {
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if left = processes(ts.Getenv("WORK"), args[0]); len(left) == 0 {
			return
		}
	}
	ts.Fatalf("processes are left: %q", left)
}

// processes are those whose environment names the story's directory and whose
// command line has a word.
func processes(work, word string) []string {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var found []string
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(string(env), "HOME="+work+"\x00") {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && strings.Contains(string(line), word) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// TestNotify: systemd hears what it wants to, in files and in the abstract name
// space, and nothing happens without it.
func TestNotify(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "n"), "@agenthost-test-" + strconv.Itoa(os.Getpid())} {
		addr := name
		if strings.HasPrefix(name, "@") {
			addr = "\x00" + name[1:]
		}
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: addr, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NOTIFY_SOCKET", name)
		t.Setenv("WATCHDOG_USEC", "2000")
		t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); watchdog(ctx) }()
		notify("READY=1")
		seen := map[string]bool{}
		buf := make([]byte, 100)
		_ = l.SetReadDeadline(time.Now().Add(patience))
		for !seen["READY=1"] || !seen["WATCHDOG=1"] {
			n, err := l.Read(buf)
			if err != nil {
				t.Fatalf("%s: %v; seen %v", name, err, seen)
			}
			seen[string(buf[:n])] = true
		}
		cancel()
		<-done
		l.Close()
	}
	t.Setenv("NOTIFY_SOCKET", "/nowhere")
	notify("READY=1")
}

// TestServiceFiles: what is in an argument stays in that argument.
func TestServiceFiles(t *testing.T) {
	argv := []string{"/opt/my tools/agenthost", "serve", `--config`, `/a "b" %h $X\y<&>`}
	unit, err := systemdUnit(argv)
	if err != nil {
		t.Fatal(err)
	}
	want := `ExecStart="/opt/my tools/agenthost" "serve" "--config" "/a \"b\" %%h $$X\\y<&>"`
	if !strings.Contains(string(unit), want+"\n") {
		t.Errorf("the unit is\n%s\nwant %s", unit, want)
	}
	if _, err := systemdUnit([]string{"a\nExecStart=b"}); err == nil {
		t.Error("a line end was taken into a unit")
	}
	plist, err := launchAgent(argv)
	if err != nil || !strings.Contains(string(plist), `<string>/a &#34;b&#34; %h $X\y&lt;&amp;&gt;</string>`) {
		t.Errorf("the launch agent is %s, %v", plist, err)
	}
}

// TestAnswers: what a person types becomes the answers of the fields.
func TestAnswers(t *testing.T) {
	a := askWith(t, `{"questions":[{"id":"colour","question":"?"},{"id":"size","question":"?","multiple":true}]}`)
	for _, tc := range []struct {
		words []string
		want  string
	}{
		{[]string{"colour=blue"}, `{"colour":"blue"}`},
		{[]string{"size=a", "colour=x=y"}, `{"colour":"x=y","size":["a"]}`},
		{[]string{"size=a", "size=b"}, `{"size":["a","b"]}`},
		{[]string{"colour=a", "colour=b"}, ""}, // as who names the call without --call would
		{nil, `{}`},
		{[]string{"blue"}, ""},
		{[]string{"other=1"}, ""},
	} {
		got, err := answersOf(a, tc.words)
		if string(got) != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("answersOf(%q) = %s, %v; want %s", tc.words, got, err, tc.want)
		}
	}
	one := askWith(t, `{"questions":[{"id":"q","question":"?"}]}`)
	if got, err := answersOf(one, []string{"a=b"}); string(got) != `{"q":"a=b"}` {
		t.Errorf("the answer to the only field is %s, %v", got, err)
	}
}

func askWith(t *testing.T, question string) wire.Ask {
	t.Helper()
	req := map[string]jsontext.Value{
		"t": jsontext.Value(`"permission-request"`), "call": jsontext.Value(`"c"`), "toolName": jsontext.Value(`"ask-user"`),
		"title": jsontext.Value(`"?"`), "description": jsontext.Value(`"?"`), "args": jsontext.Value(`{}`), "question": jsontext.Value(question),
	}
	raw, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Ask{Call: "c", Request: raw}
}
