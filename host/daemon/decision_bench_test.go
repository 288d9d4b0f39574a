package daemon

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/server"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/uplink"
	"github.com/agenthost/agenthost/relay/wire"
)

// heardChild tells when an answer reaches the agent.
type heardChild struct {
	host.Child
	heard chan time.Time
}

func (c heardChild) Write(p []byte) error {
	if strings.HasPrefix(string(p), "answer ") {
		c.heard <- time.Now()
	}
	return c.Child.Write(p)
}

// report is how long the half and nearly all of something took.
func report(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), what+"-p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), what+"-p95-µs")
}

// BenchmarkDecision is a permission's round trip: a person decides at a viewer, and the
// decision goes over a relay to the daemon, through the mediator and the journal to the
// agent, which wants less than 5 ms at p95. What the agent then says goes all the way back.
// Either way has a sync of the journal in it: where others use the disk, measure with
// TMPDIR in memory.
func BenchmarkDecision(b *testing.B) {
	w := newWorld(b, nil)
	heard := make(chan time.Time, 1)
	w.alter = func(p *Prepared) {
		start := p.Host.Start
		p.Host.Start = func(ctx context.Context, spec host.StartSpec) (host.Child, error) {
			c, err := start(ctx, spec)
			return heardChild{c, heard}, err
		}
	}
	e, err := store.StartEmbedded(store.EmbeddedOptions{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	st, err := store.Open(b.Context(), e.Conn(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	var gw *gateway.Gateway
	srv := server.New(server.Options{Store: st, Viewers: func(a gateway.Authenticator) *gateway.Gateway {
		gw = gateway.New(gateway.Options{Auth: a, Limits: gateway.Limits{Rate: 1_000_000, Burst: 1_000_000}})
		return gw
	}})
	web := httptest.NewServer(srv)
	defer web.Close()
	defer func() { srv.Close(); _ = gw.Shutdown(context.Background()) }()
	token := func(scope wire.Scope) string {
		secret, _, err := st.CreateToken(b.Context(), store.Token{Tenant: "acme", Scope: scope})
		if err != nil {
			b.Fatal(err)
		}
		return secret
	}
	url, hostToken := strings.Replace(web.URL, "http", "ws", 1), token(wire.ScopeHost)
	u, err := uplink.New(uplink.Options{
		URL: url, Token: func() (string, error) { return hostToken, nil }, Source: w.Daemon, Program: wire.Program{Name: "bench"}, StateDir: b.TempDir(),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	up := make(chan struct{})
	go func() { defer close(up); _ = u.Run(ctx) }()
	defer func() { cancel(); <-up }()
	s := w.start("ask c0")
	c, err := client.Dial(ctx, url, client.Options{Token: token(wire.ScopeControl)})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for {
		if _, err := c.Session(ctx, s.ID); err == nil {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	words := make(chan string, 1000)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for item, err := range c.Subscribe(ctx, client.Subscription{Session: s.ID}) {
			if err != nil {
				return
			}
			if item.Envelope == nil {
				continue
			}
			if e, err := contract.Decode(item.Envelope); err == nil {
				words <- word(e)
			}
		}
	}()
	defer func() { cancel(); <-watched }()
	until := func(want string) {
		for got := range words {
			if got == want {
				return
			}
		}
	}
	var agent, answered, back []time.Duration
	for n := 0; b.Loop(); n++ {
		until("permission-request")
		began := time.Now()
		if _, err := c.Decide(ctx, wire.DecideParams{Session: s.ID, Call: fmt.Sprint("c", n), Decision: contract.AllowOnce}); err != nil {
			b.Fatal(err)
		}
		answered = append(answered, time.Since(began))
		agent = append(agent, (<-heard).Sub(began))
		until("agent:decided allow-once")
		back = append(back, time.Since(began))
		if _, err := c.Send(ctx, wire.SendParams{Session: s.ID, Text: fmt.Sprint("ask c", n+1)}); err != nil {
			b.Fatal(err)
		}
	}
	report(b, "agent", agent)
	report(b, "answered", answered)
	report(b, "back", back)
}
