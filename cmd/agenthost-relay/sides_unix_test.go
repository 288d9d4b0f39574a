//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/uplink"
	"github.com/agenthost/agenthost/relay/wire"
)

// sideRole makes the test's program a host or a viewer of its own, which can be stopped
// like a machine that sleeps.
const sideRole = "AGENTHOST_TEST_SIDE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(sideRole) {
	case "host":
		err = beHost()
	case "viewer":
		err = beViewer()
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const sideSession = "session1"

// beHost has one session, and says in it what it reads.
func beHost() error {
	host := gatewaytest.New()
	host.Add(wire.Session{ID: sideSession})
	u, err := uplink.New(uplink.Options{
		URL: os.Args[1], Token: func() (string, error) { return os.Args[2], nil }, Source: host,
		Program: wire.Program{Name: "test"}, StateDir: os.Args[3],
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = u.Run(ctx) }()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		host.Say(sideSession, in.Text())
	}
	cancel()
	<-done
	return nil
}

// beViewer prints the position behind each envelope that it has, until its input ends.
func beViewer() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := client.Dial(ctx, os.Args[1], client.Options{Token: os.Args[2]})
	if err != nil {
		return err
	}
	defer c.Close()
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		}
		cancel()
	}()
	for item, err := range c.Subscribe(ctx, client.Subscription{Session: sideSession}) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if item.Envelope != nil {
			fmt.Println(item.Next)
		}
	}
	return nil
}

// side is a host or a viewer that runs.
type side struct {
	cmd  *exec.Cmd
	in   func(string)
	out  chan string // lines
	errs lockedBuffer
}

func startSide(t *testing.T, role string, args ...string) *side {
	t.Helper()
	s := &side{cmd: exec.Command(os.Args[0], args...), out: make(chan string, 1000)}
	s.cmd.Env = append(os.Environ(), sideRole+"="+role)
	s.cmd.Stderr = &s.errs
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.in = func(line string) {
		t.Helper()
		if _, err := fmt.Fprintln(in, line); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		defer close(s.out)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.out <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGCONT)
		_ = in.Close()
		late := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
		defer late.Stop()
		for range s.out {
		}
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("the %s ended with %v\n%s", role, err, s.errs.String())
		}
	})
	return s
}

func (s *side) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// The machines of a host and of a viewer sleep: the relay notices and
// says so to who is awake. When they wake up each goes on where it was: nothing is lost,
// nothing comes twice.
func TestSuspendedSides(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for half a minute")
	}
	t.Parallel() // it is waiting most of the time
	r := start(t, exec.Command(build(t), "--data", t.TempDir(), "--listen", "127.0.0.1:0"))
	view, control := r.token(t, "view"), r.token(t, "control")
	host := startSide(t, "host", strings.Replace(r.url, "http", "ws", 1), r.token(t, "host"), t.TempDir())
	all := func() string { return r.errs.String() + host.errs.String() }
	host.in("one")
	awake, err := client.Dial(t.Context(), r.url, client.Options{Token: control})
	if err != nil {
		t.Fatal(err)
	}
	defer awake.Close()
	online := func() bool {
		hosts, err := awake.Hosts(t.Context())
		return err == nil && len(hosts) == 1 && hosts[0].Online
	}
	waitFor(t, "the session", all, func() bool {
		s, err := awake.Session(t.Context(), sideSession)
		return err == nil && s.End == 1 && online()
	})
	viewer := startSide(t, "viewer", r.url, view)
	comes := func(want string) {
		t.Helper()
		select {
		case got := <-viewer.out:
			if got != want {
				t.Fatalf("the viewer has position %s, want %s\n%s", got, want, viewer.errs.String())
			}
		case <-time.After(90 * time.Second):
			t.Fatalf("envelope %s does not come\n%s%s", want, all(), viewer.errs.String())
		}
	}
	comes("1")
	if strings.Contains(r.errs.String(), "viewer gone") {
		t.Fatal("a viewer has left before anything happened")
	}

	began := time.Now()
	viewer.signal(t, syscall.SIGSTOP)
	host.signal(t, syscall.SIGSTOP)
	host.in("two")
	waitFor(t, "the relay noticing the host", all, func() bool { return !online() })
	waitFor(t, "the relay noticing the viewer", all, func() bool { return strings.Contains(r.errs.String(), "viewer gone") })
	// TestHalfOpen of package peer proves the 30 seconds, without other processes on the
	// machine and without asking for it again and again.
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it was noticed after %v", took)
	}
	if _, err := awake.Abort(t.Context(), wire.AbortParams{Session: sideSession}); client.Code(err) != wire.CodeHostOffline {
		t.Errorf("a command to a host that sleeps: %v", err)
	}
	host.signal(t, syscall.SIGCONT)
	host.in("three")
	waitFor(t, "the host again", all, online)
	viewer.signal(t, syscall.SIGCONT)
	for _, want := range []string{"2", "3"} {
		comes(want)
	}
	host.in("four")
	comes("4")
}
