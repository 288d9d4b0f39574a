package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// notices are the texts of the notices that the host stopped.
func (st *stage) notices() []string {
	st.t.Helper()
	var found []string
	for e, err := range st.Journal().Envelopes() {
		if err != nil {
			st.t.Fatal(err)
		}
		if ev, ok := e.Event.(contract.Service); ok && ev.Code == contract.CodeHostStopped {
			found = append(found, ev.Text)
		}
	}
	return found
}

const firstID, secondID, thirdID = "tz4a98xxat96iws9zmbrgj31", "tz4a98xxat96iws9zmbrgj32", "tz4a98xxat96iws9zmbrgj33"

func (st *stage) sendAs(id string, ev contract.Event) {
	st.t.Helper()
	if err := st.Submit(st.t.Context(), Input{Envelope: contract.Envelope{ID: id, Role: contract.RoleUser, Event: ev}}); err != nil {
		st.t.Fatal(err)
	}
}

// naming checks that one text names just these ids.
func naming(t *testing.T, texts []string, ids ...string) {
	t.Helper()
	if len(texts) != 1 {
		t.Fatalf("notices are %q, want one", texts)
	}
	for _, id := range []string{firstID, secondID, thirdID} {
		if got, want := strings.Contains(texts[0], id), slices.Contains(ids, id); got != want {
			t.Errorf("the notice %q names %s: %t, want %t", texts[0], id, got, want)
		}
	}
}

func TestStopTellsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		st.sendAs(firstID, contract.Text{Text: "one"})
		c.want("prompt one")
		st.sendAs(secondID, contract.Text{Text: "two"})
		st.sendAs(thirdID, contract.Text{Text: strings.Repeat("three ", 99)})
		go func() { c.want("abort"); c.say("done") }()
		check(t, st.end(), "user:one", "turn-start", "user:two", "user:"+strings.Repeat("three ", 99),
			"service:notice:host-stopped", "turn-end:cancelled")
		naming(t, st.notices(), secondID, thirdID)
		if text := st.notices()[0]; !strings.Contains(text, `"two"`) || len(text) > 400 {
			t.Errorf("the notice is %q, want the first words of each", text)
		}
	})
}

// crashed leaves a session as a host that was killed does: one prompt in its turn,
// two that wait, the second with a file.
func crashed(t *testing.T) (cfg Config) {
	t.Helper()
	st, c := opened(t, fakeAdapter{}, func(c *Config) { cfg = *c })
	cfg.ID = st.ID()
	st.sendAs(firstID, contract.Text{Text: "one"})
	c.want("prompt one")
	st.sendAs(secondID, contract.Text{Text: "two"})
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, _, err := st.Import(path)
	if err != nil {
		t.Fatal(err)
	}
	st.mustSend(file)
	st.sendAs(thirdID, contract.Text{Text: "three"})
	synctest.Wait()
	st.Journal().Close() // what comes after is not in the journal
	c.die(adapters.ExitStatus{})
	st.Stop(t.Context())
	return cfg
}

func TestCrashTellsWhatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := crashed(t)
		again := func(c *Config) { c.ID, c.Dir, c.StateDir = cfg.ID, cfg.Dir, cfg.StateDir }
		st, _ := opened(t, fakeAdapter{}, again)
		st.end()
		naming(t, st.notices(), secondID, thirdID)
		st, _ = opened(t, fakeAdapter{}, again)
		st.end()
		naming(t, st.notices(), secondID, thirdID) // once
	})
}

func TestRequeueAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := crashed(t)
		var sent filesSent
		st, c := opened(t, fakeAdapter{}, func(c *Config) {
			c.ID, c.Dir, c.StateDir, c.Requeue, c.Record = cfg.ID, cfg.Dir, cfg.StateDir, true, &sent
		})
		c.want("prompt two")
		c.say("done completed")
		c.want("prompt three")
		c.say("done completed")
		st.Idle(t.Context())
		c.silent()
		check(t, st.end(), "user:one", "turn-start", "user:two", "file", "user:three", "turn-end:failed:host-stopped",
			"turn-start", "turn-end:completed", "turn-start", "turn-end:completed")
		if want := []string{"", "notes.txt"}; !slices.Equal(sent.names, want) {
			t.Errorf("the prompts had the files %q, want %q", sent.names, want)
		}
		if n := st.notices(); n != nil {
			t.Errorf("notices are %q, want none", n)
		}
	})
}

// filesSent remembers the names of the files of each prompt.
type filesSent struct {
	noRecord
	names []string
}

func (f *filesSent) Command(_ time.Time, c adapters.Command) {
	if p, ok := c.(adapters.Prompt); ok {
		var names []string
		for _, a := range p.Files {
			names = append(names, a.Name)
		}
		f.names = append(f.names, strings.Join(names, " "))
	}
}

func TestUnanswered(t *testing.T) {
	user := func(id string) contract.Envelope {
		return contract.Envelope{ID: id, Role: contract.RoleUser, Event: contract.Text{Text: id}}
	}
	steer := contract.Envelope{ID: "s", Role: contract.RoleUser, Event: contract.Text{Text: "s", Steer: true}}
	turn := func(ids ...string) contract.Envelope {
		return contract.Envelope{Role: contract.RoleAgent, Event: contract.TurnStart{Prompts: ids}}
	}
	told := contract.Envelope{Role: contract.RoleAgent, Event: contract.Service{Code: contract.CodeHostStopped}}
	for _, c := range []struct {
		name   string
		stream []contract.Envelope
		want   string
		sure   bool
	}{
		{"nothing", nil, "", true},
		{"a turn of the agent's own", []contract.Envelope{user("a"), turn("a"), user("b"), turn(), user("c")}, "b c", true},
		{"a turn that takes up several", []contract.Envelope{user("a"), user("b"), user("c"), turn("a", "b")}, "c", true},
		{"a steer", []contract.Envelope{user("a"), turn("a"), steer}, "", true},
		{"what was told", []contract.Envelope{user("a"), turn("a"), user("b"), told, user("c")}, "c", true},
		{"only told", []contract.Envelope{user("a"), told}, "", true},
		{"none was begun", []contract.Envelope{user("a"), user("b")}, "a b", true},
		{"turns without names", []contract.Envelope{user("a"), user("b"), turn(), user("c")}, "b c", false},
		{"more turns than prompts", []contract.Envelope{turn(), user("a"), turn(), turn()}, "", false},
	} {
		var u unanswered
		for _, e := range c.stream {
			u.see(e)
		}
		list, sure := u.prompts()
		var got []string
		for _, p := range list {
			got = append(got, p.id)
		}
		if strings.Join(got, " ") != c.want || sure != c.sure {
			t.Errorf("%s: unanswered are %q, sure %t; want %q, %t", c.name, got, sure, c.want, c.sure)
		}
	}
}
