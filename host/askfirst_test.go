package host

import (
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// askingAdapter is a fake agent that is told at its start what it has to ask for.
type askingAdapter struct{ fakeAdapter }

func (askingAdapter) AsksFirst() {}

func uses(tools ...string) func(string) []adapters.Use {
	return func(agent string) []adapters.Use {
		var list []adapters.Use
		for _, tool := range tools {
			list = append(list, adapters.Use{Tool: tool})
		}
		return list
	}
}

// openedAsking starts a session of an agent that was told to ask for bash.
func openedAsking(t *testing.T, a adapters.Adapter) (*stage, *fakeChild) {
	t.Helper()
	return opened(t, a, func(cfg *Config) { cfg.Options.AskFirst = uses("bash")("") })
}

// When rules change the agent is told at once, also during a turn; once for each change.
func TestAskFirstIsToldAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := openedAsking(t, askingAdapter{})
		st.AskFirst(uses("bash"))
		synctest.Wait()
		c.silent() // it knows
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		st.AskFirst(uses("bash", "read"))
		if got := c.want("ask-first"); got != "ask-first c1 bash read" {
			t.Errorf("the agent is told %q", got)
		}
		c.say("configured c1", "done completed")
		synctest.Wait()
		st.AskFirst(uses("bash", "read"))
		st.AskFirst(uses())
		if got := c.want("ask-first"); got != "ask-first c2" {
			t.Errorf("then %q", got)
		}
		c.say("configured c2")
		check(t, st.end(), "user:work", "turn-start", "turn-end:completed")
	})
}

// What changes during the handshake is told after it.
func TestAskFirstDuringHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := newStage(t, askingAdapter{}, nil)
		st.AskFirst(uses("read"))
		synctest.Wait()
		c.silent()
		c.say("opened native-1")
		c.want("ask-first c1 read")
		c.say("configured c1")
		check(t, st.end())
	})
}

// An agent that cannot be told: a notice says so, and the next start has the rules.
func TestAskFirstCannotBeTold(t *testing.T) {
	for name, tt := range map[string]struct {
		adapter adapters.Adapter
		answer  string
		want    []string
	}{
		"by no command":        {askingAdapter{fakeAdapter{deaf: true}}, "", []string{"service:notice:unsupported"}},
		"it refuses":           {askingAdapter{}, "failed c1 no", []string{"service:notice:unsupported"}},
		"it never was told":    {fakeAdapter{}, "", nil},
		"it never was, deafly": {fakeAdapter{deaf: true}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, c := openedAsking(t, tt.adapter)
				st.AskFirst(uses("read"))
				if tt.answer != "" {
					c.want("ask-first")
					c.say(tt.answer)
				}
				synctest.Wait()
				check(t, st.stream(), tt.want...)
				c.die(adapters.ExitStatus{Code: 1})
				synctest.Wait()
				if got := st.cfg.Options.AskFirst; len(got) != 1 || got[0].Tool != "read" {
					t.Errorf("the next start has %v", got)
				}
				st.Kill()
				<-st.Done()
			})
		})
	}
}
