package e2e

import (
	"context"
	"encoding/json/jsontext"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// Sessions in this process, for what `agenthost run` has no input for: operations.

// hosted starts a session of a real agent with package host.
func hosted(t *testing.T, lab *agentlab.Lab, cfg host.Config) *session {
	t.Helper()
	cfg.Environ, cfg.PassEnv = append(lab.Env(), cfg.Environ...), []string{"AGENTLAB_*"}
	if cfg.Dir == "" {
		cfg.Dir = lab.Dir
	}
	cfg.StateDir = filepath.Join(lab.Home, ".state", "agenthost")
	hs, err := host.Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, lab: lab, host: hs, errs: &lockedBuffer{}, done: make(chan struct{})}
	s.grown = sync.NewCond(&s.mu)
	items := hs.Watch(context.Background(), hs.First())
	go func() {
		for it, err := range items {
			switch {
			case err != nil:
				t.Errorf("watching the session: %v", err)
			case it.Delta == nil:
				s.take(it.Line)
			default:
				s.mu.Lock()
				s.live.WriteString(it.Delta.Text)
				s.mu.Unlock()
			}
		}
		s.mu.Lock()
		s.ended = true
		s.grown.Broadcast()
		s.mu.Unlock()
		close(s.done)
	}()
	t.Cleanup(func() {
		hs.Kill()
		<-s.done
	})
	return s
}

// submit sends one user envelope and waits until it is taken.
func (s *session) submit(ev contract.Event) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.host.Submit(ctx, host.Input{Envelope: contract.Envelope{Role: contract.RoleUser, Event: ev}}); err != nil {
		s.t.Fatalf("Submit(%T) = %v", ev, err)
	}
}

// op runs an operation that must succeed.
func (s *session) op(name, params string) jsontext.Value {
	s.t.Helper()
	result, err := s.tryOp(name, params)
	if err != nil {
		s.t.Fatalf("%s %s = %v", name, params, err)
	}
	return result
}

func (s *session) tryOp(name, params string) (jsontext.Value, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	return s.host.Op(ctx, name, jsontext.Value(params))
}

// stop ends the session, checks its stream and returns it.
func (s *session) stop() []contract.Envelope {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.host.Stop(ctx); err != nil {
		s.t.Fatal(err)
	}
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.validate("extended", s.lines)
	s.validate("strict", s.strict())
	return slices.Clone(s.envs)
}

// envelope is the id of the newest text that holds the words.
func (s *session) envelope(role contract.Role, words string) string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range slices.Backward(s.envs) {
		if ev, ok := e.Event.(contract.Text); ok && e.Role == role && strings.Contains(ev.Text, words) {
			return e.ID
		}
	}
	s.t.Fatalf("no text with %q:\n%s", words, render(s.envs))
	return ""
}
