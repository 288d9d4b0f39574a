package claude_test

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/stamp"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// session drives one Protocol in a story and keeps what it said.
type session struct {
	t      *testing.T
	proto  adapters.Protocol
	now    time.Time
	drafts []adapters.Draft
	live   []adapters.Delta
	wrote  []rawjson.Value
	done   map[string]adapters.Outcome
	facts  adapters.Facts // the newest
	native string         // the newest id of the session
	took   []string       // withdrawn asks
	wake   time.Time
	stop   string
	errs   int
}

// start makes a session whose handshake is over.
func start(t *testing.T, o adapters.Options) *session {
	s := begin(t, o)
	s.reply(s.request("initialize"), `{"claude_code_version":"2.1.332","current_permission_mode":"default",
		"models":[{"value":"sonnet","resolvedModel":"claude-sonnet-5-5","supportedEffortLevels":["low","high"]}]}`)
	return s
}

// begin makes a session that has sent its handshake.
func begin(t *testing.T, o adapters.Options) *session {
	t.Helper()
	s := &session{
		t: t, now: time.UnixMilli(1796025600000), done: map[string]adapters.Outcome{},
		proto: claude.New().NewProtocol(adapters.SessionInfo{ID: "s1", Dir: "/w", Options: o}),
	}
	s.submit(adapters.Open{ID: "open"})
	return s
}

func (s *session) apply(step adapters.Step) {
	s.drafts = append(s.drafts, step.Emit...)
	s.live = append(s.live, step.Live...)
	s.took = append(s.took, step.Withdraw...)
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
		if id := s.facts.NativeSession; id != "" {
			s.native = id
		}
	}
	s.wake = step.WakeAt
	if step.Stop != "" {
		s.stop = step.Stop
	}
}

func (s *session) submit(c adapters.Command) {
	s.t.Helper()
	step, err := s.proto.Submit(s.now, c)
	if err != nil {
		s.t.Fatalf("Submit(%T) = %v", c, err)
	}
	s.apply(step)
}

// refused submits a command that must be refused.
func (s *session) refused(c adapters.Command) error {
	s.t.Helper()
	step, err := s.proto.Submit(s.now, c)
	if err == nil || len(step.Write)+len(step.Emit) > 0 {
		s.t.Fatalf("Submit(%T) = %v with %d writes, want an error and nothing else", c, err, len(step.Write))
	}
	return err
}

// hear feeds lines of stdout.
func (s *session) hear(lines ...string) {
	for _, l := range lines {
		step, err := s.proto.Receive(s.now, adapters.Frame{Data: []byte(l)})
		if err != nil {
			s.errs++
		}
		s.apply(step)
	}
}

// hearf feeds one line.
func (s *session) hearf(format string, args ...any) { s.hear(fmt.Sprintf(format, args...)) }

// file feeds a case of the bug log.
func (s *session) file(name string) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "bugs", name+".jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
		s.hear(line)
	}
}

func (s *session) exit(status adapters.ExitStatus) {
	s.apply(s.proto.Exit(s.now, status))
}

func (s *session) tick(d time.Duration) {
	s.now = s.now.Add(d)
	s.apply(s.proto.Tick(s.now))
}

// prompt sends a prompt and returns its native id.
func (s *session) prompt(id string) string {
	s.submit(adapters.Prompt{ID: id, Text: "prompt " + id})
	return claude.MessageUUID(id)
}

// ack tells that the CLI took a message up.
func (s *session) ack(uuid string, states ...string) {
	for _, state := range states {
		s.hearf(`{"type":"command_lifecycle","command_uuid":%q,"state":%q}`, uuid, state)
	}
}

// request is the newest control request of a kind that was written.
func (s *session) request(kind string) rawjson.Value {
	s.t.Helper()
	for i := len(s.wrote) - 1; i >= 0; i-- {
		if s.wrote[i].Get("request", "subtype").Text() == kind {
			return s.wrote[i]
		}
	}
	s.t.Fatalf("no control request %q was written", kind)
	return nil
}

// reply answers a control request.
func (s *session) reply(req rawjson.Value, response string) {
	s.hearf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`,
		req.Get("request_id").Text(), strings.ReplaceAll(response, "\n", " "))
}

// answered is what was written for a request of the CLI.
func (s *session) answered(id string) []rawjson.Value {
	var list []rawjson.Value
	for _, w := range s.wrote {
		if w.Get("type").Text() == "control_response" && w.Get("response", "request_id").Text() == id {
			list = append(list, w.Get("response"))
		}
	}
	return list
}

// only keeps the events of one type.
func only[E contract.Event](s *session) []E {
	var list []E
	for _, d := range s.drafts {
		if ev, ok := d.Event.(E); ok {
			list = append(list, ev)
		}
	}
	return list
}

// story writes what was said in one line an event.
func (s *session) story() string {
	var b strings.Builder
	for _, d := range s.drafts {
		if d.Subagent != "" {
			b.WriteString(d.Subagent + ": ")
		}
		switch ev := d.Event.(type) {
		case contract.TurnStart:
			fmt.Fprintf(&b, "turn-start %v", d.Prompts)
		case contract.TurnEnd:
			fmt.Fprintf(&b, "turn-end %s", ev.Status)
			if ev.Error != nil {
				fmt.Fprintf(&b, " %s", ev.Error.Code)
			}
		case contract.Text:
			if ev.Thinking {
				b.WriteString("thinks ")
			}
			fmt.Fprintf(&b, "%q", ev.Text)
		case contract.ToolCallStart:
			fmt.Fprintf(&b, "call %s %s", ev.Call, ev.Name)
		case contract.ToolCallEnd:
			fmt.Fprintf(&b, "end %s", ev.Call)
			if ev.Result != nil {
				fmt.Fprintf(&b, " %s", ev.Result.Status)
			}
		case contract.PermissionRequest:
			fmt.Fprintf(&b, "ask %s %s %s", d.Ask, ev.Call, ev.ToolName)
		case contract.SubagentStart:
			fmt.Fprintf(&b, "agent %s %q of %s", ev.AgentID, ev.Title, ev.Call)
		case contract.SubagentStop:
			fmt.Fprintf(&b, "stop %s", ev.AgentID)
		case contract.Service:
			fmt.Fprintf(&b, "service %s %s", ev.Kind, ev.Code)
		case contract.AgentConfigurationChanged:
			fmt.Fprintf(&b, "%s config %s%s%s", d.Role, ev.PermissionMode, ev.Model, ev.ThinkingLevel)
		default:
			fmt.Fprintf(&b, "%T", ev)
		}
		b.WriteString("\n")
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// says compares the story.
func (s *session) says(want string) {
	s.t.Helper()
	if want = strings.TrimSpace(strings.ReplaceAll(want, "\t", "")); want != "" {
		want += "\n"
	}
	if got := s.story(); got != want {
		s.t.Errorf("said:\n%s\nwant:\n%s", got, want)
	}
}

// stream stamps the drafts and checks the result against the contract.
func (s *session) stream() []contract.Envelope {
	s.t.Helper()
	n := 0
	st := stamp.New(stamp.Config{
		NewID: func() string { n++; return fmt.Sprintf("e%023d", n) },
		Now:   func() time.Time { return s.now },
	})
	var envs []contract.Envelope
	for _, d := range s.drafts {
		envs = append(envs, st.Agent(d)...)
	}
	envs = append(envs, st.Finish(contract.TurnFailed, nil)...)
	v := contract.NewValidator(contract.ProfileExtended)
	for i, e := range envs {
		if _, err := contract.Encode(e); err != nil {
			s.t.Errorf("envelope %d: %v", i, err)
		}
		for _, f := range v.Check(i+1, e) {
			s.t.Error(f)
		}
	}
	return envs
}

func quoted(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err) // only for UTF-8
	}
	return b
}
