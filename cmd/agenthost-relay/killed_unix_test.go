//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/uplink"
	"github.com/agenthost/agenthost/relay/wire"
)

// crossing passes connections on to an address that may change.
type crossing struct {
	ln net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	to    string
	conns []net.Conn
}

func newCrossing(t *testing.T, to string) *crossing {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &crossing{ln: ln, to: address(to)}
	c.wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.pass(in) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		c.move("")
		c.wg.Wait()
	})
	return c
}

func address(url string) string { return strings.TrimPrefix(url, "http://") }

// move ends the connections; new ones go elsewhere.
func (c *crossing) move(to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = address(to)
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

func (c *crossing) pass(in net.Conn) {
	defer in.Close()
	c.mu.Lock()
	to := c.to
	c.conns = append(c.conns, in)
	c.mu.Unlock()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	c.wg.Go(func() { defer in.Close(); defer out.Close(); _, _ = io.Copy(in, out) })
	_, _ = io.Copy(out, in)
}

// kill ends a relay without a word.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.done
}

// A relay is killed again and again while a host says much; it comes again, alone on the
// same files or as the others of a cluster of three. The viewer has each envelope once.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("relays take a while to begin")
	}
	t.Parallel() // it is waiting most of the time
	program := build(t)
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		data := t.TempDir()
		run := func() *process {
			return start(t, exec.Command(program, "--data", data, "--listen", "127.0.0.1:0"))
		}
		r := run()
		s := stream(t, []*process{r})
		for range 3 {
			s.say(500)
			s.begins(500)
			r.kill(t)
			s.say(500)
			r = run()
			s.move(r)
			s.comes()
		}
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		nodes := startNodes(t, 3, func(args ...string) *process {
			return start(t, exec.Command(program, append(args, "--data", t.TempDir(), "--listen", "127.0.0.1:0")...))
		})
		s := stream(t, nodes)
		s.say(500)
		s.begins(500)
		nodes[0].kill(t) // where host and viewer are
		s.say(1000)
		s.move(nodes[1])
		s.comes()
		s.say(500)
		s.comes()
	})
}

// streamed is a host that says much, and a viewer that has it.
type streamed struct {
	t    *testing.T
	host *gatewaytest.Backend
	via  *crossing
	said int64
	has  int64      // what came
	got  chan int64 // positions behind what came
	fail chan error
	log  func() string
}

func stream(t *testing.T, nodes []*process) *streamed {
	t.Helper()
	s := &streamed{t: t, host: gatewaytest.New(), via: newCrossing(t, nodes[0].url), got: make(chan int64, 100_000), fail: make(chan error, 1)}
	s.log = func() string {
		var all strings.Builder
		for i, n := range nodes {
			fmt.Fprintf(&all, "--- node %d\n%s\n", i, n.errs.String())
		}
		return all.String()
	}
	s.host.Add(wire.Session{ID: sideSession})
	hostToken, token := nodes[0].token(t, "host"), nodes[0].token(t, "view")
	u, err := uplink.New(uplink.Options{
		URL: "ws://" + s.via.ln.Addr().String(), Token: func() (string, error) { return hostToken, nil }, Source: s.host,
		Program: wire.Program{Name: "test"}, StateDir: t.TempDir(), MinWait: 50 * time.Millisecond, MaxWait: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = u.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	waitFor(t, "the host", s.log, func() bool { return u.Status().Connected })
	c, err := client.Dial(ctx, "ws://"+s.via.ln.Addr().String(), client.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	waitFor(t, "the session", s.log, func() bool {
		_, err := c.Session(ctx, sideSession)
		return err == nil
	})
	running.Go(func() {
		for item, err := range c.Subscribe(ctx, client.Subscription{Session: sideSession}) {
			if err != nil {
				s.fail <- err
				return
			}
			if item.Envelope != nil {
				s.got <- item.Next
			}
		}
	})
	return s
}

// say says n things.
func (s *streamed) say(n int64) {
	for range n {
		s.said++
		s.host.Say(sideSession, strconv.FormatInt(s.said, 10))
	}
}

func (s *streamed) move(to *process) { s.via.move(to.url) }

// begins waits until something of the last n is there.
func (s *streamed) begins(n int64) {
	s.t.Helper()
	s.upTo(s.said - n + 1)
}

// comes waits until all is there.
func (s *streamed) comes() {
	s.t.Helper()
	s.upTo(s.said)
}

// upTo waits for what comes, each once and in order, up to a position.
func (s *streamed) upTo(position int64) {
	s.t.Helper()
	for s.has < position {
		select {
		case next := <-s.got:
			if next != s.has+1 {
				s.t.Fatalf("position %d comes, want %d", next, s.has+1)
			}
			s.has = next
		case err := <-s.fail:
			s.t.Fatalf("at %d: %v\n%s", s.has, err, s.log())
		case <-time.After(90 * time.Second):
			s.t.Fatalf("nothing comes behind %d of %d\n%s", s.has, s.said, s.log())
		}
	}
}
