package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

// secret is a value that must not be told.
const secret = "s3cr3t-of-a-shell"

func shell() *wire.Environment {
	return &wire.Environment{
		Inherit: []wire.Variable{{Name: "KEY", Value: secret}, {Name: "EMPTY"}},
		Pass:    []string{"K*"},
		Set:     []wire.Variable{{Name: "OTHER", Value: secret}},
	}
}

// logged is a log that is read.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// newest is what the newest agent was started with.
func (w *world) newest() Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[len(w.requests)-1]
}

// TestEnvironment: an agent has the environment that it was given at its first start and
// at all others of this daemon, its branches too. It is nowhere but in memory; the next
// daemon knows its names until it has started the agent without it.
func TestEnvironment(t *testing.T) {
	log := &logged{}
	quiet := func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	w := newWorld(t, quiet)
	has := func(when string, want bool, lost ...string) {
		t.Helper()
		r := w.newest()
		if got := r.Env != nil && slices.Equal(r.Env.Set, shell().Set) && slices.Equal(r.Env.Inherit, shell().Inherit); got != want || !slices.Equal(r.Lost, lost) {
			t.Errorf("%s the agent has %v and lost %q; want it given: %t, and lost %q", when, r.Env, r.Lost, want, lost)
		}
	}
	id := cuid2.Generate()
	spawn := wire.SpawnParams{ID: id, Agent: "fake", Dir: w.work, Env: shell(), Prompt: &wire.SendParams{Text: "one"}}
	must[wire.SessionResult](w, wire.SessionSpawn, spawn)
	w.until(id, idle)
	has("at first", true)
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: id})
	must[wire.SessionResult](w, wire.SessionResume, wire.SessionRef{Session: id})
	has("again", true)
	must[wire.SessionResult](w, wire.SessionSpawn, wire.SpawnParams{Agent: "fake", Dir: w.work})
	has("another one", false)

	told := fmt.Sprintf("%+v %#v %v %s", spawn, w.newest(), spawn.Env, spawn.Env)
	for _, method := range []string{wire.SessionSpawn, wire.SessionResume} {
		res, err := do[wire.SessionResult](w, here, method, wire.SpawnParams{ID: id, Agent: "fake", Dir: w.work})
		told += fmt.Sprintf("%#v %v", res, err)
	}
	w.close()
	w.open(quiet)
	must[wire.SessionResult](w, wire.SessionResume, wire.SessionRef{Session: id})
	has("with another daemon", false, "KEY", "OTHER")
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: id})
	must[wire.SessionResult](w, wire.SessionResume, wire.SessionRef{Session: id})
	has("then", false)
	must[wire.SessionResult](w, wire.SessionSpawn, wire.SpawnParams{ID: id, Agent: "fake", Dir: w.work, Env: shell()})
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: id})
	must[wire.SessionResult](w, wire.SessionResume, wire.SessionRef{Session: id})
	has("given anew", true)

	err := filepath.WalkDir(w.state, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was written anew meanwhile, and has its name by now
		}
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s has it", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	for what, text := range map[string]string{"the log": log.text.String(), "what is told": told} {
		if strings.Contains(text, secret) {
			t.Errorf("%s has it: %s", what, text)
		}
	}
}

// TestEnvironmentRefused: no other machine, and nobody at a loopback address, gives an
// agent an environment; what no program can have is refused without its value.
func TestEnvironmentRefused(t *testing.T) {
	w := newWorld(t, nil)
	give := func(by wire.Caller, env *wire.Environment, want wire.Code) {
		t.Helper()
		_, err := do[wire.SessionResult](w, by, wire.SessionSpawn, wire.SpawnParams{Agent: "fake", Dir: w.work, Env: env})
		w.code(err, want)
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error has the value: %v", err)
		}
	}
	give(wire.Caller{Scope: wire.ScopeAdmin, TokenID: "daemon.token"}, shell(), wire.CodeForbidden)
	give(wire.Caller{Scope: wire.ScopeAdmin, TokenID: "anna", ClientType: contract.ClientPhone}, shell(), wire.CodeForbidden)
	for _, v := range []wire.Variable{{Value: secret}, {Name: "A=B", Value: secret}, {Name: "A\x00", Value: secret}, {Name: "A", Value: secret + "\x00"}} {
		give(here, &wire.Environment{Inherit: []wire.Variable{v}}, wire.CodeInvalid)
		give(here, &wire.Environment{Set: []wire.Variable{v}}, wire.CodeInvalid)
	}
	give(here, &wire.Environment{Set: []wire.Variable{{Name: "A", Value: strings.Repeat(secret, wire.EnvironmentBytes/len(secret)+1)}}}, wire.CodeTooLarge)
	if _, err := w.Do(t.Context(), here, wire.SessionSpawn, []byte(`{"agent":"fake","dir":"/","env":{"set":[{"name":"A","value":{"v":"`+secret+`"}}]}}`)); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a value that is none = %v", err)
	}
	if w.started() != 0 {
		t.Errorf("%d agents were started", w.started())
	}
}
