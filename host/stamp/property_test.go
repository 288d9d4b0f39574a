package stamp_test

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/stamp"
)

// world is a Stamper with its surroundings and everything it put out.
type world struct {
	s      *stamp.Stamper
	ids    int
	now    time.Time
	stream []contract.Envelope
}

func newWorld() *world {
	w := &world{now: time.UnixMilli(1_700_000_000_000)}
	w.s = stamp.New(w.config())
	return w
}

func (w *world) config() stamp.Config {
	return stamp.Config{
		// Every third id repeats an earlier one.
		NewID: func() string { w.ids++; return cuid(w.ids - w.ids%3) },
		Now:   func() time.Time { return w.now },
	}
}

// cuid makes the n-th id of the tests.
func cuid(n int) string { return fmt.Sprintf("t%023d", n) }

func (w *world) take(envs []contract.Envelope) []contract.Envelope {
	w.stream = append(w.stream, envs...)
	return envs
}

func sequence(envs []contract.Envelope) iter.Seq2[contract.Envelope, error] {
	return func(yield func(contract.Envelope, error) bool) {
		for _, e := range envs {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// restored is a world after a crash that kept the first n envelopes.
func (w *world) restored(n int) (*world, error) {
	r := &world{ids: w.ids, now: time.UnixMilli(5), stream: w.stream[:n:n]} // the clock is far behind
	r.s = stamp.New(r.config())
	return r, r.s.Restore(sequence(r.stream))
}

func check(t interface{ Fatalf(string, ...any) }, stream []contract.Envelope, done bool) {
	c, v, strict := newChecker(), contract.NewValidator(contract.ProfileExtended), contract.NewValidator(contract.ProfileStrict)
	for i, e := range stream {
		c.add(e)
		faults := v.Check(i+1, e)
		if e, ok := contract.Strict(e); ok {
			faults = append(faults, strict.Check(i+1, e)...)
		}
		for _, f := range faults {
			c.fault("validator", "%v", f)
		}
	}
	if done {
		c.done()
		for _, f := range append(v.Finish(len(stream)+1), strict.Finish(len(stream)+1)...) {
			c.fault("validator", "%v", f)
		}
	}
	if len(c.faults) == 0 {
		return
	}
	var b strings.Builder
	for _, e := range stream {
		line, err := contract.Encode(e)
		fmt.Fprintf(&b, "%s %v\n", line, err)
	}
	t.Fatalf("%s\nin\n%s", strings.Join(c.faults, "\n"), &b)
}

// Generators of what Protocols and clients might say, right or wrong.
var (
	natives = rapid.SampledFrom([]string{"a", "b", "c", "a~2", "", "with space", "\xff", strings.Repeat("x", 200)})
	subs    = rapid.SampledFrom([]string{"", "", "", "x", "y", "z"})
	texts   = rapid.SampledFrom([]string{"", "text", " ", "\x1b[31m\x07", strings.Repeat("x", 990) + strings.Repeat("👩‍👩‍👧‍👦", 50), "a\nb\xff", "`code` **b**"})
	raws    = rapid.SampledFrom([]jsontext.Value{
		nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, jsontext.Value(`{}`), jsontext.Value(`{"a":{}}`), jsontext.Value(`{"command":"ls"}`), jsontext.Value(`[1]`), jsontext.Value(`null`), jsontext.Value(`{`),
		jsontext.Value(`"\ud83d"`), jsontext.Value("{\"a\":\"\xff\"}"), jsontext.Value(``), jsontext.Value(strings.Repeat("[", 9500) + strings.Repeat("]", 9500)),
		jsontext.Value(`{"a":1,"a":2}`), jsontext.Value("{\n}"),
	})
	numbers = rapid.SampledFrom([]int64{-1, 0, 1, math.MaxInt64})
	costs   = rapid.SampledFrom([]float64{-1, 0, 0.5, math.NaN(), math.Inf(1)})
	roles   = rapid.SampledFrom([]contract.Role{"", contract.RoleAgent, contract.RoleAgent, contract.RoleUser})
)

func event(t *rapid.T) contract.Event {
	call, text, raw := natives.Draw(t, "call"), texts.Draw(t, "text"), raws.Draw(t, "raw")
	switch rapid.IntRange(0, 15).Draw(t, "event") {
	case 0:
		return contract.Text{Text: text, Thinking: rapid.Bool().Draw(t, "thinking"), Steer: rapid.Bool().Draw(t, "steer"), Refs: []contract.FileRef{{Size: -1}}}
	case 1:
		return contract.File{Ref: text, Size: numbers.Draw(t, "size"), Image: &contract.Image{Width: int(numbers.Draw(t, "w"))}}
	case 2, 3:
		return contract.TurnStart{Extra: raw}
	case 4:
		cost := costs.Draw(t, "cost")
		return contract.TurnEnd{
			Status: rapid.SampledFrom([]contract.TurnStatus{"", "odd", "completed", "failed", "cancelled"}).Draw(t, "status"),
			Usage:  &contract.Usage{InputTokens: numbers.Draw(t, "in"), Cost: &cost}, Error: &contract.Error{Code: "odd"},
		}
	case 5, 6:
		return contract.ToolCallStart{Call: call, Name: text, Title: text, Description: text, Args: raw}
	case 7, 8:
		return contract.ToolCallEnd{Call: call, Result: &contract.ToolResult{
			Status: rapid.SampledFrom([]contract.ToolStatus{"", "odd", "completed", "error", "cancelled"}).Draw(t, "result"),
			Output: raw, Files: []contract.FileDiff{{Path: text, Additions: -1}},
		}}
	case 9:
		return contract.Service{Text: text, Kind: contract.ServiceKind(text)}
	case 10, 11:
		return contract.SubagentStart{AgentID: subs.Draw(t, "agent"), Title: text, Call: call}
	case 12:
		return contract.SubagentStop{AgentID: subs.Draw(t, "agent")}
	case 13:
		field := contract.QuestionField{ID: text, Secret: true, Schema: raw, Options: []contract.QuestionOption{{}}}
		q := &contract.Question{Questions: rapid.SampledFrom([][]contract.QuestionField{nil, {field}, {field, field, {}}}).Draw(t, "fields")}
		return contract.PermissionRequest{
			Call: call, ToolName: text, Args: raw, Options: []contract.PermissionOption{{Decision: "odd"}, {Decision: "allow-once"}},
			Question: rapid.SampledFrom([]*contract.Question{nil, q}).Draw(t, "question"),
		}
	case 14:
		return contract.PermissionResponse{
			Call: call, Answers: raw, Args: raw, By: &contract.DecisionBy{Resolver: "odd", ClientType: "odd"},
			Decision: rapid.SampledFrom([]contract.Decision{"allow-once", "reject-always", "odd"}).Draw(t, "decision"),
		}
	default:
		return rapid.SampledFrom([]contract.Event{
			contract.Abort{},
			contract.AgentConfigurationChanged{Model: text, Extra: raw},
			contract.SessionControlChanged{ClientType: "odd"},
			contract.Unknown{T: "later", Body: jsontext.Value(`{"t":"later","x":1}`)},
			contract.Unknown{T: "later", Body: raw},
			nil,
		}).Draw(t, "rare")
	}
}

func draft(t *rapid.T) adapters.Draft {
	d := adapters.Draft{
		Role: roles.Draw(t, "role"), Subagent: subs.Draw(t, "sub"), Origin: texts.Draw(t, "origin"), Event: event(t),
		Background: rapid.Bool().Draw(t, "background"),
	}
	if rapid.Bool().Draw(t, "prompted") {
		d.Prompts = []string{"p"}
	}
	return d
}

// step does one thing to the world and checks what can be said of it alone.
func (w *world) step(t *rapid.T) {
	// Somebody sets the clock, by seconds or by hours.
	w.now = w.now.Add(time.Duration(rapid.IntRange(-2000, 2000).Draw(t, "clock")) * rapid.SampledFrom([]time.Duration{time.Millisecond, 10 * time.Second}).Draw(t, "unit"))
	switch rapid.IntRange(0, 9).Draw(t, "deed") {
	case 0:
		id := rapid.SampledFrom([]string{"", "", cuid(900_000), cuid(3), "00000000-0000-4000-8000-000000000001", strings.Repeat("i", 300)}).Draw(t, "id")
		ev := event(t)
		if r, ok := ev.(contract.PermissionResponse); ok {
			if asks := w.s.OpenAsks(); len(asks) > 0 {
				r.Call = rapid.SampledFrom(asks).Draw(t, "ask").Call
				ev = r
			}
		}
		envs, err := w.s.User(contract.Envelope{ID: id, Event: ev, Extra: raws.Draw(t, "extra")})
		if (err == nil) != (len(w.take(envs)) == 1) {
			t.Fatalf("User(%#v) gave %d envelopes and %v, want one or an error", ev, len(envs), err)
		}
		if err == nil && id != "" {
			if _, err := w.s.User(contract.Envelope{ID: id, Event: contract.Text{Text: "again"}}); !errors.Is(err, stamp.ErrDuplicate) {
				t.Fatalf("User with id %q a second time gave %v, want ErrDuplicate", id, err)
			}
		}
	case 1:
		w.take(w.s.Finish(contract.TurnFailed, &contract.Error{Code: contract.CodeAgentExited, Message: "gone"}))
		if w.s.Turn() != "" || len(w.s.OpenAsks()) > 0 || w.s.Finish(contract.TurnCompleted, nil) != nil {
			t.Fatalf("something is open after Finish")
		}
	case 2:
		settled := w.s.Settled()
		if envs := w.take(w.s.Idle()); settled != (len(envs) > 0) || settled && w.s.Turn() != "" {
			t.Fatalf("Idle gave %d envelopes, settled was %t", len(envs), settled)
		}
	default:
		w.drafted(t, draft(t))
	}
}

func (w *world) drafted(t *rapid.T, d adapters.Draft) {
	envs := w.take(w.s.Agent(d))
	text, ok := d.Event.(contract.Text)
	if !ok {
		return
	}
	n := 0
	for _, e := range envs {
		if got, ok := e.Event.(contract.Text); ok && got.Text == text.Text {
			n++
		}
	}
	if want := min(len(text.Text), 1); n != want && text.Text != "" {
		t.Fatalf("text came out %d times, want once", n)
	}
}

// Whatever is said, the stream is valid at every moment, and a crash at any
// point can be mended and gone on from.
func TestAnythingGivesAValidStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.step(t)
		}
		check(t, w.stream, false)

		cut := rapid.IntRange(0, len(w.stream)).Draw(t, "cut")
		r, err := w.restored(cut)
		if err != nil {
			t.Fatal(err)
		}
		r.take(r.s.Finish(contract.TurnFailed, &contract.Error{Code: contract.CodeHostStopped, Message: "died"}))
		check(t, r.stream, true)
		for range rapid.IntRange(0, 20).Draw(t, "steps after") {
			r.step(t)
		}
		r.take(r.s.Finish(contract.TurnCancelled, nil))
		check(t, r.stream, true)
	})
}

// Without a Finish between, a restored Stamper goes on in the middle of a turn.
func TestRestoreInTheMiddle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			w.step(t)
		}
		r, err := w.restored(rapid.IntRange(0, len(w.stream)).Draw(t, "cut"))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps after") {
			r.step(t)
		}
		r.take(r.s.Finish(contract.TurnCancelled, nil))
		check(t, r.stream, true)
	})
}
