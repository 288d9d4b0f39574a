package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/relay/wire"
)

// BenchmarkOpen is the start of a daemon that has 5,000 sessions, of a few turns each.
func BenchmarkOpen(b *testing.B) {
	const sessions = 5000
	med := permission.New(permission.Options{})
	defer med.Close()
	state := manySessions(b, med, sessions)
	cfg := Config{StateDir: state, Mediator: med, Machine: &Machine{ID: "m1", Name: "box"}}
	cfg.Prepare = func(context.Context, Request) (Prepared, error) { return Prepared{}, os.ErrInvalid }
	open := func() *Daemon {
		d, err := Open(cfg)
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	_ = open().Close(context.Background()) // copies are taken up
	for b.Loop() {
		d := open()
		b.StopTimer()
		if got := len(d.list()); got != sessions {
			b.Fatalf("%d sessions were found, want %d", got, sessions)
		}
		if err := d.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// manySessions makes a state directory with n sessions: copies of one that a daemon has
// left in order.
func manySessions(b *testing.B, med *permission.Mediator, n int) string {
	b.Helper()
	state := filepath.Join(b.TempDir(), "state")
	w := &world{state: state, work: b.TempDir()}
	d, err := Open(Config{StateDir: state, Mediator: med, Prepare: w.prepare, Machine: &Machine{ID: "m1", Name: "box"}})
	if err != nil {
		b.Fatal(err)
	}
	w.Daemon = d
	id := benchTurns(b, d, w.work)
	if err := d.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	from := host.SessionDir(state, id)
	for i := range n - 1 {
		other := fmt.Sprintf("t%023d", i)
		to := host.SessionDir(state, other)
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"session.json", recordFile} {
			path := filepath.Join(to, name)
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, []byte(strings.ReplaceAll(string(data), id, other)), 0o600)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	return state
}

// benchTurns is a session with twenty turns that was stopped.
func benchTurns(b *testing.B, d *Daemon, dir string) string {
	b.Helper()
	call := func(method string, params any) (res wire.SessionResult) {
		raw, err := wire.Marshal(params)
		if err != nil {
			b.Fatal(err)
		}
		out, err := d.Do(b.Context(), here, method, raw)
		if err != nil {
			b.Fatal(err)
		}
		_ = wire.UnmarshalStream(out, &res)
		return res
	}
	id := call(wire.SessionSpawn, wire.SpawnParams{Agent: "fake", Dir: dir}).Session.ID
	for range 20 {
		call(wire.SessionSend, wire.SendParams{Session: id, Text: strings.Repeat("say something at length ", 20)})
		if err := d.entry(id).current().Idle(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	call(wire.SessionStop, wire.StopParams{Session: id})
	return id
}
