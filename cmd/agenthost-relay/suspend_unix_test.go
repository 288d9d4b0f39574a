//go:build unix

package main

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/uplink"
	"github.com/agenthost/agenthost/relay/wire"
)

// The machine of a relay sleeps: nothing says so, all connections stand. Hosts and
// people notice within 30 seconds, and when it wakes up it goes on where it was, each
// envelope once.
func TestSuspended(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for half a minute")
	}
	t.Parallel() // it is waiting most of the time
	program := build(t)
	r := start(t, exec.Command(program, "--data", t.TempDir(), "--listen", "127.0.0.1:0"))
	host := gatewaytest.New()
	session := host.Add(wire.Session{ID: "session1"})
	host.Say(session.ID, "one")
	hostToken, token := r.token(t, "host"), r.token(t, "control")
	u, err := uplink.New(uplink.Options{
		URL: strings.Replace(r.url, "http", "ws", 1), Token: func() (string, error) { return hostToken, nil }, Source: host,
		Program: wire.Program{Name: "test"}, StateDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	up := make(chan struct{})
	go func() { defer close(up); _ = u.Run(ctx) }()
	waitFor(t, "the host", r.errs.String, func() bool { return u.Status().Connected })

	c, err := client.Dial(ctx, r.url, client.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := make(chan int64, 100)
	go func() {
		for item, err := range c.Subscribe(ctx, client.Subscription{Session: session.ID}) {
			if err != nil {
				return
			}
			if item.Envelope != nil {
				got <- item.Next
			}
		}
	}()
	comes := func(want int64) {
		t.Helper()
		select {
		case next := <-got:
			if next != want {
				t.Fatalf("the viewer has position %d, want %d", next, want)
			}
		case <-time.After(90 * time.Second):
			t.Fatalf("envelope %d does not come", want)
		}
	}
	comes(1)
	plain, err := peer.Dial(ctx, r.url, peer.Options{Token: token, Ordered: wire.Ordered})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- plain.Serve(ctx, func(context.Context, string, jsontext.Value) (any, error) { return nil, nil })
	}()

	if err := r.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	host.Say(session.ID, "two")
	select {
	case err := <-ended:
		if took := time.Since(began); !errors.Is(err, peer.ErrDead) || took > 35*time.Second {
			t.Errorf("a viewer noticed after %v: %v", took, err)
		}
	case <-time.After(90 * time.Second):
		t.Error("a viewer notices nothing")
	}
	waitFor(t, "the host noticing", r.errs.String, func() bool { return !u.Status().Connected })
	if took := time.Since(began); took > 35*time.Second {
		t.Errorf("the host noticed after %v", took)
	}
	if err := r.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	comes(2)
	host.Say(session.ID, "three")
	comes(3)
	cancel()
	<-up
}
