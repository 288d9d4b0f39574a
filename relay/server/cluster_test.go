package server_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// freeAddress is an address that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// Three nodes, everything on each. The one that the host is connected to goes away
// under load: the host goes on at another, the viewer at the third misses nothing.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers take a while")
	}
	const nodes = 3
	var addrs, peers []string
	for range nodes {
		addr := freeAddress(t)
		addrs, peers = append(addrs, addr), append(peers, "nats://"+addr)
	}
	started := make(chan *store.Embedded, nodes)
	for i := range nodes {
		dir := t.TempDir()
		go func() {
			e, err := store.StartEmbedded(store.EmbeddedOptions{
				Dir: dir, Name: fmt.Sprintf("n%d", i), ClusterListen: addrs[i], Peers: peers,
				ClusterSecret: "known to all three of them",
			})
			if err != nil {
				t.Error(err)
			}
			started <- e
		}()
	}
	var servers []*store.Embedded
	for range nodes {
		e := <-started
		if e == nil {
			t.FailNow()
		}
		t.Cleanup(e.Close)
		servers = append(servers, e)
	}
	var relays []*relay
	for _, e := range servers {
		var s *store.Store
		until(t, "the cluster", func() bool {
			var err error
			s, err = store.Open(t.Context(), e.Conn(), store.Options{Replicas: nodes})
			return err == nil
		})
		t.Cleanup(s.Close)
		relays = append(relays, serveStore(t, s))
	}
	var host, view string
	until(t, "a token", func() bool {
		secret, _, err := relays[0].store.CreateToken(t.Context(), store.Token{Tenant: "acme", Scope: wire.ScopeHost})
		host = secret
		return err == nil
	})
	view = relays[0].token(t, "acme", wire.ScopeView)
	until(t, "the tenant", func() bool {
		_, err := relays[0].store.Tenant(t.Context(), "acme")
		return err == nil
	})
	const batches, per, size = 60, 50, 100
	h := newFakeHost("laptop")
	h.add("session1", 1, size)
	p := newProxy(t, relays[0].http.URL)
	connect(t, h, p.url(), host)
	until(t, "the session at the third node", func() bool {
		_, err := relays[2].viewer(t, view).Backend.Session(t.Context(), "session1")
		return err == nil
	})
	followed := make(chan error, 1)
	go func() { followed <- follow(t, relays[2], view, "session1", 1+batches*per, size) }()
	for b := range batches {
		h.add("session1", per, size)
		if b == batches/2 {
			// The node goes, and with it the relay process that used it.
			p.moveTo(relays[1].http.URL)
			servers[0].Close()
		}
	}
	if err := <-followed; err != nil {
		t.Error(err)
	}
}
