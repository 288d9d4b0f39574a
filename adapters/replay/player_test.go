package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// puppet is an adapter whose Protocol does what a frame tells it to do, right or
// wrong: each word of a frame is one thing to say.
type puppet struct{ adapters.Adapter }

func (puppet) NewProtocol(adapters.SessionInfo) adapters.Protocol { return &puppetProtocol{} }

type puppetProtocol struct {
	wake   time.Time
	atExit string
}

func (p *puppetProtocol) do(now time.Time, words string) adapters.Step {
	var s adapters.Step
	say := func(d adapters.Draft) { s.Emit = append(s.Emit, d) }
	for _, word := range strings.Fields(words) {
		verb, arg, _ := strings.Cut(word, ":")
		switch verb {
		case "start":
			d := adapters.Draft{Event: contract.TurnStart{}}
			if arg != "" {
				d.Prompts = []string{arg}
			}
			say(d)
		case "end":
			say(adapters.Draft{Event: contract.TurnEnd{Status: contract.TurnCompleted}})
		case "text":
			say(adapters.Draft{Event: contract.Text{Text: arg}})
		case "call":
			say(adapters.Draft{Event: contract.ToolCallStart{Call: arg, Name: "bash", Title: "t", Description: "d", Args: []byte(`{}`)}})
		case "called":
			say(adapters.Draft{Event: contract.ToolCallEnd{Call: arg}})
		case "ask":
			say(adapters.Draft{Ask: "k" + arg, Event: contract.PermissionRequest{
				Call: arg, ToolName: "bash", Title: "t", Description: "d", Args: []byte(`{}`),
			}})
		case "nothing":
			say(adapters.Draft{})
		case "withdraw":
			s.Withdraw = append(s.Withdraw, arg)
		case "done":
			s.Done = append(s.Done, adapters.Outcome{ID: arg})
		case "half":
			s.Write = append(s.Write, []byte("no line end"))
		case "write":
			s.Write = append(s.Write, []byte(arg+"\n"))
		case "wake":
			d, _ := time.ParseDuration(arg)
			p.wake = now.Add(d)
		case "last":
			p.atExit = strings.ReplaceAll(arg, "+", " ")
		}
	}
	s.WakeAt = p.wake
	return s
}

func (p *puppetProtocol) Receive(now time.Time, f adapters.Frame) (adapters.Step, error) {
	return p.do(now, string(f.Data)), nil
}

func (p *puppetProtocol) Submit(now time.Time, c adapters.Command) (adapters.Step, error) {
	if _, ok := c.(adapters.Op); ok {
		return p.do(now, "text:x"), adapters.ErrUnsupported
	}
	return p.do(now, ""), nil
}

func (p *puppetProtocol) Tick(now time.Time) adapters.Step {
	p.wake = time.Time{}
	return p.do(now, "text:tick")
}

func (p *puppetProtocol) Exit(now time.Time, _ adapters.ExitStatus) adapters.Step {
	p.wake = time.Time{}
	return p.do(now, p.atExit)
}

func (p *puppetProtocol) Capabilities() []session.Capability { return nil }

// recorded makes a transcript of the host's of lines "T DIRECTION …".
func recorded(t *testing.T, lines ...string) transcript.File {
	t.Helper()
	var f transcript.File
	for _, line := range lines {
		var at int64
		var dir string
		if _, err := fmt.Sscan(line, &at, &dir); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rest := strings.SplitN(line, " ", 3)[2:]
		rec := transcript.Record{T: at, Dir: transcript.Dir(dir)}
		switch text := strings.Join(rest, ""); dir {
		case "out":
			rec = transcript.FrameRecord(at, adapters.Frame{Data: []byte(text)})
		case "prompt":
			rec = transcript.CommandRecord(at, adapters.Prompt{ID: text, Text: "hello"})
		case "open":
			rec = transcript.CommandRecord(at, adapters.Open{ID: text})
		case "op":
			rec = transcript.CommandRecord(at, adapters.Op{ID: text, Name: "fork"})
		case "answer":
			rec = transcript.CommandRecord(at, adapters.Answer{Ask: text, Decision: contract.AllowOnce})
		case "run":
			rec = transcript.RunRecord(at, adapters.SessionInfo{Options: adapters.Options{Resume: "native"}})
		case "exit":
			rec = transcript.ExitRecord(at, adapters.ExitStatus{Code: 3})
		}
		f.Records = append(f.Records, rec)
	}
	return f
}

// stream tells a stream in a line: role:type@time.
func stream(r Result) string {
	var out []string
	for _, e := range r.Envelopes {
		out = append(out, fmt.Sprintf("%s:%s@%d", e.Role, e.Event.EventType(), e.Time-r.Start.UnixMilli()))
	}
	return strings.Join(out, " ")
}

func TestPlay(t *testing.T) {
	tests := []struct {
		name, want string
		lines      []string
	}{
		{
			"a turn", "user:text@5 agent:turn-start@7 agent:text@8 agent:turn-end@9",
			[]string{"0 open o", "1 out done:o", "5 prompt p", "7 out start:p", "8 out text:hi", "9 out end", "10 exit"},
		},
		{
			"an answer", "user:text@1 agent:turn-start@2 agent:tool-call-start@2 agent:permission-request@2 user:permission-response@4 " +
				"agent:tool-call-end@5 agent:turn-end@5",
			[]string{"1 prompt p", "2 out start:p call:c ask:c", "4 answer kc", "5 out called:c end", "6 exit"},
		},
		{
			"a withdrawn ask", "user:text@1 agent:turn-start@2 agent:tool-call-start@2 agent:permission-request@2 user:permission-response@4 " +
				"agent:tool-call-end@4 agent:turn-end@4",
			[]string{"1 prompt p", "2 out start:p call:c ask:c", "4 out withdraw:kc called:c end", "5 answer kc", "6 exit"},
		},
		{
			"a tick that was recorded", "user:text@1 agent:turn-start@2 agent:text@70 agent:turn-end@80",
			[]string{"1 prompt p", "2 out start:p wake:50ms", "70 tick", "80 out end", "90 exit"},
		},
		{
			"a tick that was not", "user:text@1 agent:turn-start@2 agent:text@52 agent:turn-end@80",
			[]string{"1 prompt p", "2 out start:p wake:50ms", "80 out end", "90 exit"},
		},
		{
			"nothing after the exit", "user:text@1 agent:turn-start@2 agent:turn-end@3",
			[]string{"1 prompt p", "2 out start:p last:end", "3 exit", "4 out text:late", "5 prompt q"},
		},
		{
			"the agent is started again", "user:text@1 agent:turn-start@2 agent:turn-end@3 user:text@11 agent:turn-start@12 agent:turn-end@13",
			[]string{"0 open o", "0 out done:o", "1 prompt p", "2 out start:p last:end", "3 exit", "4 out text:late", "10 run", "10 open o", "10 out done:o", "11 prompt q", "12 out start:q", "13 out end", "14 exit"},
		},
		{
			"a run that no record begins", "user:text@1 agent:turn-start@2 agent:turn-end@3 user:text@11 agent:turn-start@12 agent:turn-end@13",
			[]string{"1 prompt p", "2 out start:p last:end", "3 exit", "10 open o", "10 out done:o", "11 prompt q", "12 out start:q", "13 out end", "14 exit"},
		},
		{
			"no exit", "user:text@1 agent:turn-start@2 agent:turn-end@2",
			[]string{"1 prompt p", "2 out start:p last:end"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := recorded(t, tt.lines...)
			got := Play(Config{Adapter: puppet{}}, f)
			if s := stream(got); s != tt.want {
				t.Errorf("stream = %s\nwant     %s", s, tt.want)
			}
			if len(got.Faults)+len(got.Notes) > 0 {
				t.Errorf("faults = %q, notes = %q, want none", got.Faults, got.Notes)
			}
			again := Play(Config{Adapter: puppet{}}, f)
			for i, e := range again.Envelopes {
				if e.ID != got.Envelopes[i].ID {
					t.Errorf("the id of envelope %d is %s, then %s", i, got.Envelopes[i].ID, e.ID)
				}
			}
		})
	}
}

// A child that follows another is told what it was told when it was recorded.
func TestRunsAreToldTheirOptions(t *testing.T) {
	f := recorded(t, "0 open o", "0 out done:o", "3 exit", "10 run", "10 open o", "10 out done:o", "14 exit")
	f.Header.Options = &transcript.Options{Resume: "first", Model: "m"}
	a := &listener{}
	if got := Play(Config{Adapter: a}, f); len(got.Faults) > 0 || got.Info.Options.Resume != "first" {
		t.Errorf("faults = %q, resume = %q, want none and first", got.Faults, got.Info.Options.Resume)
	}
	if want := []string{"first", "native"}; !slices.Equal(a.resumed, want) {
		t.Errorf("the Protocols were told to resume %q, want %q", a.resumed, want)
	}
	got := Play(Config{Adapter: puppet{}}, recorded(t, "0 open o", "0 out done:o", "1 run"))
	if want := "before the one before has ended"; !strings.Contains(strings.Join(got.Faults, "\n"), want) {
		t.Errorf("faults = %q, want one with %q", got.Faults, want)
	}
}

// listener remembers which native sessions its Protocols were told to resume.
type listener struct {
	puppet
	resumed []string
}

func (l *listener) NewProtocol(info adapters.SessionInfo) adapters.Protocol {
	l.resumed = append(l.resumed, info.Options.Resume)
	return l.puppet.NewProtocol(info)
}

// TestFaults: what the stamper would hide is told, and the stream is valid still.
func TestFaults(t *testing.T) {
	tests := []struct {
		want  string
		lines []string
	}{
		{"turn-end without a turn", []string{"0 out end"}},
		{"turn-start while a turn is open", []string{"0 out start", "1 out start last:end"}},
		{`takes up prompt "q", which does not wait`, []string{"0 prompt p", "1 out start:q end"}},
		{`tool-call-start of call "c", which is open`, []string{"0 out start call:c call:c called:c end"}},
		{`tool-call-end of call "c", which is not open`, []string{"0 out start called:c end"}},
		{`permission-request for call "c", which is not open`, []string{"0 out start ask:c end"}},
		{`ask "kc" was used before`, []string{"0 out start call:c ask:c ask:c called:c end"}},
		{`withdrew ask "k", which never was`, []string{"0 out withdraw:k"}},
		{"without an event", []string{"0 out nothing"}},
		{"an empty text", []string{"0 out start text: end"}},
		{"want a whole message with its line end", []string{"0 out half"}},
		{`a second outcome to command "o"`, []string{"0 open o", "1 out done:o done:o"}},
		{`after Exit: command "o" has no outcome`, []string{"0 open o", "1 exit"}},
		{"after Exit: the turn is open", []string{"0 out start", "1 exit"}},
		{"to a child that is gone", []string{"0 out last:write:bye", "1 exit"}},
		{"a Step that is not empty, and error", []string{"0 op x", "1 exit"}},
		{"more than 1000 ticks", nil},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			c := Config{Adapter: puppet{}}
			if tt.lines == nil {
				c.Adapter, tt.lines = restless{}, []string{"0 out x", "5 out x"}
			}
			got := strings.Join(Play(c, recorded(t, tt.lines...)).Faults, "\n")
			if !strings.Contains(got, tt.want) {
				t.Errorf("faults = %q, want one with %q", got, tt.want)
			}
			if strings.Contains(got, "stream: ") {
				t.Errorf("faults = %q: want a valid stream whatever the Protocol says", got)
			}
		})
	}
}

// restless wants to be called all the time.
type restless struct{ adapters.Adapter }

func (restless) NewProtocol(adapters.SessionInfo) adapters.Protocol { return &restlessProtocol{} }

type restlessProtocol struct{ puppetProtocol }

func (*restlessProtocol) Receive(now time.Time, _ adapters.Frame) (adapters.Step, error) {
	return adapters.Step{WakeAt: now}, nil
}

func (*restlessProtocol) Tick(now time.Time) adapters.Step { return adapters.Step{WakeAt: now} }

func TestState(t *testing.T) {
	p := New(Config{Adapter: puppet{}}, recorded(t, "0 open o", "1 out done:o", "2 prompt p", "3 out start:p call:c ask:c", "4 exit"))
	want := []State{
		{Asked: true},
		{Asked: true, Opened: true},
		{Asked: true, Opened: true, Busy: true},
		{Asked: true, Opened: true, Busy: true, Turn: true, Asks: 1, Calls: 1},
	}
	for i, w := range want {
		if !p.Next() || p.State() != w {
			t.Errorf("state after record %d = %+v, want %+v", i, p.State(), w)
		}
	}
	if asks := p.Asks(); len(asks) != 1 || asks[0] != "kc" {
		t.Errorf("asks = %q, want kc", asks)
	}
	p.Abort()
	if s := p.State(); !s.Aborting || s.Exited {
		t.Errorf("state after Abort = %+v, want Aborting", s)
	}
	p.Next()
	if s := p.State(); !s.Exited || p.Next() {
		t.Errorf("state after the last record = %+v, want Exited and no further record", s)
	}
}
