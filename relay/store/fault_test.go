package store

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agenthost/agenthost/relay/wire"
)

// A stream that takes nothing any more is noticed by the next write, whoever runs the
// server: the store is not ready until one goes through again.
func TestStreamFails(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	tn, js := tenant(t, s, "acme"), s.js
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
	if stream, err = js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	// Nobody writes to it, as when its sessions have ended.
	if err := ready(); err == nil {
		t.Error("a stream that failed just now is tried again at once")
	}
	s.age()
	if err := ready(); err != nil || s.Failures() != 1 {
		t.Errorf("when it can take envelopes again: ready %v, %d failures", err, s.Failures())
	}
	if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Errorf("trying it leaves something: %+v, %v", info, err)
	}
	if err := write(0); err != nil || ready() != nil {
		t.Errorf("afterwards: %v, ready %v", err, ready())
	}
}

// age makes every fault old enough to be looked into.
func (s *Store) age() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	for stream, f := range s.faults.of {
		f.at = f.at.Add(-againAfter)
		s.faults.of[stream] = f
	}
}

// A stream of every kind is tried again, one that still takes nothing not all the time,
// and nothing is left in it.
func TestTriedAgain(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	tn, js := tenant(t, s, "acme"), s.js
	down := errors.New("no leader")
	for _, name := range []string{"env_acme", "in_acme", "up_acme", "kv_acme"} {
		s.wrote(name, down)
		if err := s.Ready(t.Context()); !errors.Is(err, down) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: ready = %v at once", name, err)
		}
		s.age()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.tryAgain(gone, name); !errors.Is(err, down) {
			t.Errorf("%s: %v for one who has left", name, err)
		}
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("%s: ready = %v later", name, err)
		}
		stream, err := js.Stream(t.Context(), strings.Replace(name, "kv_", "KV_kv_", 1))
		if err != nil {
			t.Fatal(err)
		}
		if n := stream.CachedInfo().State.Msgs; n != 0 {
			t.Errorf("%s: %d messages are left", name, n)
		}
		sealed := stream.CachedInfo().Config
		sealed.Sealed, sealed.AllowRollup = true, false
		if _, err := js.UpdateStream(t.Context(), sealed); err != nil {
			t.Fatal(err)
		}
		s.wrote(name, down)
		s.age()
		if err := s.Ready(t.Context()); err == nil || errors.Is(err, down) {
			t.Errorf("%s: ready = %v though it takes nothing", name, err)
		}
		if at := s.faults.of[name].at; time.Since(at) >= againAfter {
			t.Errorf("%s: it is tried all the time", name)
		}
		s.wrote(name, nil)
	}
	if n := len(tn.Sessions(wire.SessionsParams{})); n != 0 {
		t.Errorf("%d sessions have come", n)
	}
}

// Whatever is written to the bucket tells that it takes nothing.
func TestBucketFails(t *testing.T) {
	for name, write := range map[string]func(context.Context, *Tenant) error{
		"a session": func(ctx context.Context, tn *Tenant) error {
			_, err := tn.PutSession(ctx, 0, wire.Session{ID: "session1"})
			return err
		},
		"a host": func(ctx context.Context, tn *Tenant) error {
			return tn.PutHost(ctx, Connection{Host: wire.Host{ID: "new"}})
		},
		"its renewal": func(ctx context.Context, tn *Tenant) error {
			return tn.RenewHost(ctx, Connection{Host: wire.Host{ID: "laptop"}, ID: "c1"})
		},
		"its end": func(ctx context.Context, tn *Tenant) error { return tn.LeaveHost(ctx, "laptop", "c1", 1) },
		"its owner": func(ctx context.Context, tn *Tenant) error {
			return tn.ClaimHost(ctx, "laptop", Token{ID: "t", Hash: "h"})
		},
		"a file": func(ctx context.Context, tn *Tenant) error {
			_, err := tn.CreateFile(ctx, wire.UploadParams{Name: "a"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), Options{})
			tn := tenant(t, s, "acme")
			if err := tn.PutHost(t.Context(), Connection{Host: wire.Host{ID: "laptop"}, ID: "c1"}); err != nil || s.Ready(t.Context()) != nil {
				t.Fatalf("at first: %v, ready %v", err, s.Ready(t.Context()))
			}
			stream, err := s.js.Stream(t.Context(), "KV_kv_acme")
			if err != nil {
				t.Fatal(err)
			}
			sealed := stream.CachedInfo().Config
			sealed.Sealed, sealed.AllowRollup = true, false
			if _, err := s.js.UpdateStream(t.Context(), sealed); err != nil {
				t.Fatal(err)
			}
			if err := write(t.Context(), tn); err == nil {
				t.Error("a bucket that takes nothing took it")
			}
			if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "kv_acme") {
				t.Errorf("ready = %v", err)
			}
		})
	}
}

// A stream that is full has taken what fits; any other failure of its files is a fault.
func TestIsFull(t *testing.T) {
	for what, want := range map[string]bool{
		"maximum bytes exceeded":       true,
		"maximum messages exceeded":    true,
		"no space left on device":      false,
		"write /x: input/output error": false,
	} {
		err := fmt.Errorf("publishing: %w", &jetstream.APIError{Code: 503, ErrorCode: codeStoreFailed, Description: what})
		if isFull(err) != want {
			t.Errorf("isFull(%v) = %t", err, !want)
		}
	}
	if isFull(errors.New("maximum bytes exceeded")) {
		t.Error("what the server did not say")
	}
}
