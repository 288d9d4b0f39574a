package daemon

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/relay/wire"
)

// asking is a fake that is told what to ask for, and notes it.
type asking struct {
	fake
	told *tools
}

// tools are those that an agent is to ask for, as it was told last.
type tools struct {
	mu   sync.Mutex
	list []string // guarded by mu
}

func (s *tools) set(uses []adapters.Use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
	for _, u := range uses {
		s.list = append(s.list, u.Tool)
	}
}

func (s *tools) now() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

func (asking) AsksFirst() {}

func (a asking) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	a.told.set(r.Options.AskFirst)
	return a.fake.Launch(r)
}

func (a asking) NewProtocol(i adapters.SessionInfo) adapters.Protocol {
	return askingProtocol{a.fake.NewProtocol(i), a.told}
}

type askingProtocol struct {
	adapters.Protocol
	told *tools
}

func (p askingProtocol) Submit(now time.Time, c adapters.Command) (adapters.Step, error) {
	if f, ok := c.(adapters.AskFirst); ok {
		p.told.set(f.Uses)
		return adapters.Step{Done: []adapters.Outcome{{ID: f.ID}}}, nil
	}
	return p.Protocol.Submit(now, c)
}

func watching(list ...string) func(string) []adapters.Use {
	return func(string) (uses []adapters.Use) {
		for _, tool := range list {
			uses = append(uses, adapters.Use{Tool: tool})
		}
		return uses
	}
}

// TestRulesChangedDuringStart: an agent that is being started while rules change asks for
// what the new ones are about, at whatever point of the start that was.
func TestRulesChangedDuringStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told tools
		held, goOn := make(chan struct{}), make(chan struct{})
		var w *world
		w = newWorld(t, func(c *Config) {
			c.Prepare = func(ctx context.Context, r Request) (Prepared, error) {
				p, err := w.prepare(ctx, r)
				p.Host.Adapter, p.Host.Options.AskFirst = asking{told: &told}, watching("read")("")
				held <- struct{}{}
				<-goOn
				return p, err
			}
		})
		started := make(chan string)
		spawn := func() {
			s, err := do[wire.SessionResult](w, here, wire.SessionSpawn, wire.SpawnParams{Agent: "fake", Dir: w.work})
			if err != nil {
				t.Error(err)
			}
			started <- s.Session.ID
		}
		go spawn()
		<-held
		w.RulesChanged(watching("edit"))
		w.RulesChanged(watching("bash", "edit"))
		goOn <- struct{}{}
		id := <-started
		synctest.Wait()
		equal(t, told.now(), "bash", "edit")

		// So does one that is started after them with what was read before.
		must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: id})
		go func() {
			must[wire.SessionResult](w, wire.SessionResume, wire.SessionRef{Session: id})
			started <- id
		}()
		<-held
		goOn <- struct{}{}
		<-started
		synctest.Wait()
		equal(t, told.now(), "bash", "edit")
	})
}
