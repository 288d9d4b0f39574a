package gemini_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/gemini"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
)

// drive talks to one Protocol as Gemini CLI and the host do.
type drive struct {
	t      *testing.T
	p      adapters.Protocol
	now    time.Time
	step   adapters.Step // the last one
	err    error
	sent   []jsonrpc.Message // everything it wrote
	drafts []adapters.Draft
	live   []adapters.Delta
	done   []adapters.Outcome
	title  string
	mode   string
}

// native is Gemini CLI's id of the session.
const native = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"

const (
	initialized = `{"protocolVersion":1,"agentInfo":{"name":"gemini-cli","title":"Gemini CLI","version":"0.61.0"},` +
		`"authMethods":[{"id":"oauth-personal","name":"Log in with Google"},{"id":"gemini-api-key","name":"Gemini API key"}],` +
		`"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true}}}`
	settings = `"modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"autoEdit"},{"id":"yolo"},{"id":"plan"}]},` +
		`"models":{"currentModelId":"auto","availableModels":[{"modelId":"auto","name":"Auto"},{"modelId":"gemini-2.5-pro","name":"pro"}]}`
)

// begin makes a Protocol and submits Open. 08:00:20, so that the minute matters.
func begin(t *testing.T, o adapters.Options) *drive {
	t.Helper()
	d := &drive{t: t, now: time.Date(2026, 11, 30, 8, 0, 20, 0, time.UTC)}
	d.p = gemini.NewOn(bare).NewProtocol(adapters.SessionInfo{ID: "s", Dir: "/w", Options: o})
	d.submit(adapters.Open{ID: "open"})
	return d
}

// opened is a session that is ready for prompts.
func opened(t *testing.T, o adapters.Options) *drive {
	t.Helper()
	d := begin(t, o)
	d.result(initialized)
	d.result(`{"sessionId":"` + native + `",` + settings + `}`)
	if n := len(d.done); n != 1 || d.done[0].Err != nil {
		t.Fatalf("Open = %+v, want it done", d.done)
	}
	return d
}

// prompted is a session with a turn.
func prompted(t *testing.T, o adapters.Options) *drive {
	t.Helper()
	d := opened(t, o)
	d.submit(adapters.Prompt{ID: "u", Text: "do it"})
	if d.err != nil {
		t.Fatal(d.err)
	}
	d.drafts = nil
	return d
}

func (d *drive) take(s adapters.Step) {
	d.t.Helper()
	d.step = s
	for _, w := range s.Write {
		m, err := jsonrpc.Parse(w)
		if err != nil {
			d.t.Fatalf("wrote %q: %v", w, err)
		}
		d.sent = append(d.sent, m)
	}
	d.drafts = append(d.drafts, s.Emit...)
	d.live = append(d.live, s.Live...)
	d.done = append(d.done, s.Done...)
	if s.Facts != nil && s.Facts.Title != "" {
		d.title = s.Facts.Title
	}
	if s.Facts != nil && s.Facts.Mode != "" {
		d.mode = s.Facts.Mode
	}
}

func (d *drive) submit(c adapters.Command) {
	d.t.Helper()
	var s adapters.Step
	s, d.err = d.p.Submit(d.now, c)
	d.take(s)
}

// line is a line on standard output.
func (d *drive) line(text string) {
	d.t.Helper()
	d.now = d.now.Add(10 * time.Millisecond)
	var s adapters.Step
	s, d.err = d.p.Receive(d.now, adapters.Frame{Data: []byte(text)})
	d.take(s)
}

func (d *drive) stderr(text string) {
	d.t.Helper()
	s, err := d.p.Receive(d.now, adapters.Frame{Source: adapters.Stderr, Data: []byte(text)})
	if err != nil {
		d.t.Fatal(err)
	}
	d.take(s)
}

// pass lets time pass, with the ticks that were asked for.
func (d *drive) pass(by time.Duration) {
	d.t.Helper()
	end := d.now.Add(by)
	for range 100 {
		wake := d.step.WakeAt
		if wake.IsZero() || wake.After(end) {
			break
		}
		d.now = wake
		d.take(d.p.Tick(d.now))
	}
	d.now = end
}

// waiting is the last request of the Protocol.
func (d *drive) waiting() jsonrpc.Message {
	d.t.Helper()
	for i := len(d.sent) - 1; i >= 0; i-- {
		if d.sent[i].Kind == jsonrpc.Request {
			return d.sent[i]
		}
	}
	d.t.Fatal("no request was sent")
	return jsonrpc.Message{}
}

func (d *drive) result(result string) {
	d.t.Helper()
	d.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, d.waiting().ID, result))
}

func (d *drive) fail(code int, message, data string) {
	d.t.Helper()
	if data != "" {
		data = `,"data":` + data
	}
	d.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, d.waiting().ID, code, message, data))
}

// update is a session/update.
func (d *drive) update(update string) {
	d.t.Helper()
	d.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + native + `","update":` + update + `}}`)
}

func (d *drive) text(text string) {
	d.t.Helper()
	d.update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, text))
}

// ask is a session/request_permission with id 0 and Gemini CLI's usual options.
func (d *drive) ask(call string) {
	d.t.Helper()
	d.askWith(call, `{"optionId":"proceed_always","name":"Allow for this session","kind":"allow_always"},`+
		`{"optionId":"proceed_once","name":"Allow","kind":"allow_once"},{"optionId":"cancel","name":"Reject","kind":"reject_once"}`)
}

func (d *drive) askWith(call, options string) {
	d.t.Helper()
	d.line(`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"` + native + `","options":[` +
		options + `],"toolCall":` + call + `}}`)
}

// key is the last draft's ask.
func (d *drive) key() string {
	d.t.Helper()
	for i := len(d.drafts) - 1; i >= 0; i-- {
		if d.drafts[i].Ask != "" {
			return d.drafts[i].Ask
		}
	}
	d.t.Fatal("nothing was asked")
	return ""
}

// kinds are the event types of what was said.
func (d *drive) kinds() string {
	var out []string
	for _, x := range d.drafts {
		out = append(out, string(x.Event.EventType()))
	}
	return strings.Join(out, " ")
}

// find is the first event of a type, or a failed test.
func find[E contract.Event](d *drive) E {
	d.t.Helper()
	for _, x := range d.drafts {
		if ev, ok := x.Event.(E); ok {
			return ev
		}
	}
	var none E
	d.t.Fatalf("no %T in %s", none, d.kinds())
	return none
}

// methods are the methods of what was sent.
func (d *drive) methods() string {
	var out []string
	for _, m := range d.sent {
		if m.Method != "" {
			out = append(out, m.Method)
		} else {
			out = append(out, "answer")
		}
	}
	return strings.Join(out, " ")
}

const (
	shellCall = `{"toolCallId":"run_shell_command__run_shell_command_1_0","status":"pending","title":"rm -f x","content":` +
		`[{"type":"content","content":{"type":"text","text":"[in sub] (clean (up)) [background]"}}],"locations":[],"kind":"execute"}`
	shellID = "run_shell_command__run_shell_command_1_0"
)
