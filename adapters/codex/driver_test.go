package codex_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/codex"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// story drives one Protocol and keeps what it said.
type story struct {
	t      *testing.T
	proto  adapters.Protocol
	now    time.Time
	drafts []adapters.Draft
	live   []adapters.Delta
	wrote  []rawjson.Value
	done   map[string]adapters.Outcome
	took   []string // withdrawn asks
	facts  adapters.Facts
	stop   string
	errs   int
	turns  int // played by exec
	// source is where lines come from; effects are those of the terminal face.
	source  adapters.Source
	effects []adapters.Effect
}

// start makes a story whose thread is open.
func start(t *testing.T, o adapters.Options) *story {
	t.Helper()
	s := begin(t, o)
	s.answer("initialize", `{"userAgent":"agenthost/0.171.0 (x)"}`)
	method := "thread/start"
	if o.Resume != "" {
		method = "thread/resume"
	}
	s.answer(method, `{"thread":{"id":"thr-1","historyMode":"paginated"},"model":"gpt-5.5"}`)
	if got := s.done["open"]; got.Err != nil {
		t.Fatalf("open: %+v", got.Err)
	}
	return s
}

// begin makes a story that has sent its handshake.
func begin(t *testing.T, o adapters.Options) *story {
	t.Helper()
	s := &story{
		t: t, now: time.UnixMilli(1796025600000), done: map[string]adapters.Outcome{},
		proto: codex.New().NewProtocol(adapters.SessionInfo{ID: "s1", Dir: "/w", Options: o}),
	}
	s.submit(adapters.Open{ID: "open"})
	return s
}

func (s *story) apply(step adapters.Step) {
	s.drafts = append(s.drafts, step.Emit...)
	s.live = append(s.live, step.Live...)
	s.took = append(s.took, step.Withdraw...)
	s.effects = append(s.effects, step.Effects...)
	for _, w := range step.Write {
		v, err := rawjson.Parse(bytes.Clone(w))
		if err != nil || bytes.IndexByte(w, '\n') != len(w)-1 {
			s.t.Errorf("wrote %q, want one line of JSON", w)
			continue
		}
		s.wrote = append(s.wrote, v)
	}
	for _, o := range step.Done {
		if _, twice := s.done[o.ID]; twice {
			s.t.Errorf("command %q has two outcomes", o.ID)
		}
		s.done[o.ID] = o
	}
	if step.Facts != nil {
		s.facts = *step.Facts
	}
	if step.Stop != "" {
		s.stop = step.Stop
	}
}

func (s *story) submit(c adapters.Command) {
	s.t.Helper()
	step, err := s.proto.Submit(s.now, c)
	if err != nil {
		s.t.Fatalf("Submit(%T) = %v", c, err)
	}
	s.apply(step)
}

// hear feeds lines of stdout.
func (s *story) hear(lines ...string) {
	for _, l := range lines {
		step, err := s.proto.Receive(s.now, adapters.Frame{Source: s.source, Data: []byte(l)})
		if err != nil {
			s.errs++
		}
		s.apply(step)
	}
}

func (s *story) tick(d time.Duration) {
	s.now = s.now.Add(d)
	s.apply(s.proto.Tick(s.now))
}

// request is the newest request of a method that was written, nil for none.
func (s *story) request(method string) rawjson.Value {
	for i := len(s.wrote) - 1; i >= 0; i-- {
		if s.wrote[i].Get("method").Text() == method {
			return s.wrote[i]
		}
	}
	return nil
}

// answer answers the newest request of a method.
func (s *story) answer(method, result string) {
	s.t.Helper()
	r := s.request(method)
	if r == nil {
		s.t.Fatalf("no request %s was made", method)
	}
	s.hear(`{"id":` + string(r.Get("id")) + `,"result":` + result + `}`)
}

// refuse answers the newest request of a method with an error.
func (s *story) refuse(method, message string) {
	s.t.Helper()
	r := s.request(method)
	if r == nil {
		s.t.Fatalf("no request %s was made", method)
	}
	s.hear(`{"error":{"code":-32600,"message":"` + message + `"},"id":` + string(r.Get("id")) + `}`)
}

// reply is what was written for a request of the server, nil for nothing.
func (s *story) reply(id string) rawjson.Value {
	for _, w := range s.wrote {
		if w.Get("method") == nil && string(w.Get("id")) == id {
			return w
		}
	}
	return nil
}

// turn runs a prompt to the start of its turn.
func (s *story) turn(id, native string) {
	s.t.Helper()
	s.submit(adapters.Prompt{ID: id, Text: "prompt " + id})
	s.answer("turn/start", `{"turn":{"id":"`+native+`","status":"inProgress"}}`)
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"` + native + `"}}}`)
}

func (s *story) completed(native, status string) {
	s.hear(`{"method":"turn/completed","params":{"threadId":"thr-1","turn":{"id":"` + native + `","status":"` + status + `","error":null,"items":[]}}}`)
}

// asks counts the asks that were emitted.
func (s *story) asks() int {
	n := 0
	for _, d := range s.drafts {
		if d.Ask != "" {
			n++
		}
	}
	return n
}

// ask is the newest ask.
func (s *story) ask() adapters.Draft {
	s.t.Helper()
	for i := len(s.drafts) - 1; i >= 0; i-- {
		if s.drafts[i].Ask != "" {
			return s.drafts[i]
		}
	}
	s.t.Fatal("nothing was asked")
	return adapters.Draft{}
}

// texts are the agent's texts.
func (s *story) texts() []string {
	var list []string
	for _, ev := range of[contract.Text](s) {
		list = append(list, ev.Text)
	}
	return list
}

// of are the events of one type.
func of[E contract.Event](s *story) []E {
	var list []E
	for _, d := range s.drafts {
		if ev, ok := d.Event.(E); ok {
			list = append(list, ev)
		}
	}
	return list
}
