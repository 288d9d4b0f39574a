package store_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// A stream that takes nothing any more is noticed by the next write, whoever runs the
// server: the store is not ready until one goes through again.
func TestStreamFails(t *testing.T) {
	e, err := store.StartEmbedded(store.EmbeddedOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	s, err := store.Open(t.Context(), e.Conn(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	tn, err := s.Tenant(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(e.Conn())
	if err != nil {
		t.Fatal(err)
	}
	write := func(pos int64) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := tn.Append(ctx, "session1", pos, []jsontext.Value{jsontext.Value(`{"id":"a"}`)}, false)
		return err
	}
	ready := func() error { return s.Ready(t.Context()) }
	if err := write(0); err != nil || ready() != nil || s.Failures() != 0 {
		t.Fatalf("at first: %v, ready %v, %d failures", err, ready(), s.Failures())
	}
	if err := write(7); wire.AsError(err).Code != wire.CodeGap || ready() != nil {
		t.Errorf("a writer's mistake: %v, ready %v", err, ready())
	}
	stream, err := js.Stream(t.Context(), "env_acme")
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	sealed := cfg
	sealed.Sealed = true // the server refuses every write
	if _, err := js.UpdateStream(t.Context(), sealed); err != nil {
		t.Fatal(err)
	}
	if err := write(1); err == nil {
		t.Error("a stream that takes nothing took an envelope")
	}
	if err := ready(); err == nil || !strings.Contains(err.Error(), "env_acme") || s.Failures() == 0 {
		t.Errorf("ready = %v with %d failures", err, s.Failures())
	}
	if err := js.DeleteStream(t.Context(), "env_acme"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := write(0); err != nil {
		t.Error(err)
	}
	if err := ready(); err != nil {
		t.Errorf("when it takes envelopes again: %v", err)
	}
}
