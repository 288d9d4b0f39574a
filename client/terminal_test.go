package client_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/wire"
)

// holding makes a session of which the token "t" holds control.
func holding(host *gatewaytest.Backend) {
	host.Add(wire.Session{ID: "abcdefgh", Control: &wire.Control{ClientType: contract.ClientCLI, TokenID: "id-of-admin"}})
}

// Across cuts at random bytes every key is typed once, in order, and the screen is
// shown whole.
func TestTerminalCuts(t *testing.T) {
	host, _, addr := server(t, nil)
	proxy := newCutter(t, addr)
	holding(host)
	c, err := connect(t, "ws://"+proxy.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	term := c.Terminal("abcdefgh")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var want strings.Builder
	typed := make(chan error, 1)
	go func() {
		defer proxy.stop.Store(true)
		r := rand.New(rand.NewPCG(3, 4))
		for i := 0; i < 400 || proxy.cuts.Load() < 60; i++ {
			keys := strings.Repeat(string(rune('a'+i%26)), 1+r.IntN(2000))
			want.WriteString(keys)
			if err := term.Input(ctx, []byte(keys)); err != nil {
				typed <- err
				return
			}
			host.Show("abcdefgh", keys)
		}
		host.Show("abcdefgh", "\x00")
		typed <- nil
	}()
	var shown []byte
	var last wire.TerminalChunk
	for !strings.HasSuffix(string(shown), "\x00") {
		chunk, err := term.Read(ctx, client.TerminalRead{After: last.At, State: last.State, Wait: 10 * time.Second, Max: 5000})
		if client.Again(err) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		last = chunk
		shown = append(shown, chunk.Data...)
	}
	if err := <-typed; err != nil {
		t.Fatal(err)
	}
	if got := host.Typed("abcdefgh"); got != want.String() {
		t.Errorf("%d bytes were typed, want %d, the same", len(got), want.Len())
	}
	if string(shown) != want.String()+"\x00" {
		t.Errorf("%d bytes were shown, want %d, the same", len(shown), want.Len()+1)
	}
	t.Logf("%d cuts", proxy.cuts.Load())
}

// What is not the caller's to type is refused with who holds control.
func TestTerminalRefused(t *testing.T) {
	host, _, addr := server(t, nil)
	host.Add(wire.Session{ID: "abcdefgh", Control: &wire.Control{ClientType: contract.ClientPhone, TokenID: "p"}})
	c := dial(t, "ws://"+addr)
	term := c.Terminal("abcdefgh")
	if err := term.Input(t.Context(), []byte("x")); client.Code(err) != wire.CodeControl || client.Again(err) {
		t.Errorf("Input = %v, want control", err)
	}
	if err := term.Resize(t.Context(), 10, 10); client.Code(err) != wire.CodeControl {
		t.Errorf("Resize = %v, want control", err)
	}
	if _, err := c.Control(t.Context(), wire.ControlParams{Session: "abcdefgh"}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(term.Input(t.Context(), []byte("xy")), term.Resize(t.Context(), 10, 12)); err != nil || host.Typed("abcdefgh") != "xy" {
		t.Errorf("as the holder = %v, typed %q", err, host.Typed("abcdefgh"))
	}
	s, err := term.Screen(t.Context())
	if err != nil || s.Cols != 10 || s.Rows != 12 {
		t.Errorf("Screen = %+v, %v", s, err)
	}
	if _, err := c.Terminal("none").Read(t.Context(), client.TerminalRead{}); client.Code(err) != wire.CodeNotFound || client.Again(err) {
		t.Errorf("Read of no session = %v", err)
	}
}

// A host that was started again knows no attachment: what was not sent before is typed
// under a new one.
func TestTerminalHostAnew(t *testing.T) {
	host, _, addr := server(t, nil)
	holding(host)
	term := dial(t, "ws://"+addr).Terminal("abcdefgh")
	for _, keys := range []string{"one ", "two ", "three"} {
		if err := term.Input(t.Context(), []byte(keys)); err != nil {
			t.Fatal(err)
		}
		host.Restart("abcdefgh")
	}
	if got := host.Typed("abcdefgh"); got != "one two three" {
		t.Errorf("typed %q", got)
	}
}

// Of keys that were typed before the host was killed, and of which it did not say so, nobody
// knows: they are not typed again, be they an attachment's first ones or not, and the next
// ones are.
func TestTerminalHostKilled(t *testing.T) {
	for _, before := range []string{"", "before "} {
		host, _, addr := server(t, nil)
		holding(host)
		term := dial(t, "ws://"+addr).Terminal("abcdefgh")
		if err := term.Input(t.Context(), []byte(before)); err != nil {
			t.Fatal(err)
		}
		host.Crash("abcdefgh")
		if err := term.Input(t.Context(), []byte("once ")); !errors.Is(err, client.ErrMaybeTyped) {
			t.Errorf("Input while the host is killed = %v, want ErrMaybeTyped", err)
		}
		if err := term.Input(t.Context(), []byte("next")); err != nil {
			t.Fatal(err)
		}
		if got, want := host.Typed("abcdefgh"), before+"once next"; got != want {
			t.Errorf("typed %q, want %q", got, want)
		}
	}
}

// What a person types is meant for the agent whose screen was seen: nothing of it goes to the
// next one, as whose dialog it would answer.
func TestTerminalAgentAnew(t *testing.T) {
	host, _, addr := server(t, nil)
	holding(host)
	term := dial(t, "ws://"+addr).Terminal("abcdefgh")
	read := func() {
		t.Helper()
		if _, err := term.Read(t.Context(), client.TerminalRead{After: -1}); err != nil {
			t.Fatal(err)
		}
	}
	read()
	host.Restart("abcdefgh")
	if err := term.Input(t.Context(), []byte("y\r")); !errors.Is(err, client.ErrNotTyped) {
		t.Errorf("Input for the agent before = %v, want ErrNotTyped", err)
	}
	read()
	if err := term.Input(t.Context(), []byte("hello")); err != nil || host.Typed("abcdefgh") != "hello" {
		t.Errorf("Input for the agent that is seen = %v, typed %q", err, host.Typed("abcdefgh"))
	}
}

// What was typed while the connection is lost for longer than a moment is not typed when it
// comes back: another dialog may be open.
func TestTerminalLost(t *testing.T) {
	host, _, addr := server(t, nil)
	holding(host)
	lost := make(chan struct{})
	back := make(chan struct{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go relayed(l, addr, lost, back)
	c, err := connect(t, "ws://"+l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	term := c.Terminal("abcdefgh")
	if err := term.Input(t.Context(), []byte("a")); err != nil {
		t.Fatal(err)
	}
	close(lost)
	began := time.Now()
	if err := term.Input(t.Context(), []byte("y\r")); !errors.Is(err, client.ErrMaybeTyped) || time.Since(began) > 10*time.Second {
		t.Errorf("Input while the connection is lost = %v after %v, want ErrMaybeTyped after 2s", err, time.Since(began))
	}
	close(back)
	if err := term.Input(t.Context(), []byte("z")); err != nil {
		t.Fatal(err)
	}
	if got := host.Typed("abcdefgh"); got != "az" {
		t.Errorf("typed %q, want az", got)
	}
}

// relayed passes connections on to an address: when lost is closed the open ones end, and
// those that come until back is closed end at once.
func relayed(l net.Listener, to string, lost, back <-chan struct{}) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case <-lost:
			select {
			case <-back:
			default:
				_ = in.Close()
				continue
			}
		default:
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			continue
		}
		end := func() { _, _ = in.Close(), out.Close() }
		go func() { defer end(); _, _ = io.Copy(out, in) }()
		go func() { defer end(); _, _ = io.Copy(in, out) }()
		go func() {
			select {
			case <-back:
			case <-lost:
				select {
				case <-back:
				default:
					end()
				}
			}
		}()
	}
}

// A reader that was slow gets a repaint and no more than it asked for; one that is fast
// waits without asking all the time.
func TestTerminalReader(t *testing.T) {
	host, _, addr := server(t, nil)
	holding(host)
	term := dial(t, "ws://"+addr).Terminal("abcdefgh")
	host.Show("abcdefgh", "old")
	first, err := term.Read(t.Context(), client.TerminalRead{After: -1})
	if err != nil || !first.Reset || string(first.Data) != "old" || !first.Held || first.Holder == nil {
		t.Fatalf("Read = %+v, %v", first, err)
	}
	host.Show("abcdefgh", strings.Repeat("x", 1<<20))
	host.Forget("abcdefgh")
	host.Show("abcdefgh", "new")
	next, err := term.Read(t.Context(), client.TerminalRead{After: first.At, State: first.State, Max: 100})
	if err != nil || !next.Reset || string(next.Data) != "new" {
		t.Errorf("Read of a slow reader = %+v, %v", next, err)
	}
	_, _, before := host.Size("abcdefgh")
	go func() {
		for reads(host) == before {
			runtime.Gosched()
		}
		host.Show("abcdefgh", "!")
	}()
	last, err := term.Read(t.Context(), client.TerminalRead{After: next.At, State: next.State, Wait: time.Minute})
	if err != nil || string(last.Data) != "!" || reads(host) != before+1 {
		t.Errorf("Read = %+v, %v, after %d calls", last, err, reads(host)-before)
	}
	// Another holder is news.
	host.Change("abcdefgh", func(s *wire.Session) { s.Control = &wire.Control{ClientType: contract.ClientPhone, TokenID: "p"} })
	taken, err := term.Read(t.Context(), client.TerminalRead{After: last.At, State: last.State, Wait: time.Minute})
	if err != nil || taken.Held || taken.Holder.ClientType != contract.ClientPhone {
		t.Errorf("Read after control was taken = %+v, %v", taken, err)
	}
}

func reads(host *gatewaytest.Backend) int {
	_, _, n := host.Size("abcdefgh")
	return n
}
