package contracttest

import (
	"encoding/json/jsontext"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/contract"
)

// Stream generates streams of the extended profile that obey every rule of the
// contract (contract.Validator finds no fault) and are finished: no turn, call,
// request or sub-agent is open at the end. They have all 14 event types and
// sometimes an unknown one, parallel and nested sub-agents, sub-agents that
// outlive their turn, calls that ask twice, and events outside of turns. A
// prefix of one is a valid stream that is not finished.
func Stream() *rapid.Generator[[]contract.Envelope] {
	return rapid.Custom(func(t *rapid.T) []contract.Envelope {
		s := &simulation{T: t, time: 1_700_000_000_000}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			s.step()
		}
		s.finish()
		return s.stream
	})
}

// simulation is a session that does something legal at every step.
type simulation struct {
	*rapid.T
	stream []contract.Envelope
	time   int64
	ids    int
	turn   string
	calls  []*simCall
	agents []simAgent // running ones
}

type simCall struct {
	id, subagent string
	asked        bool
	asks         int
}

type simAgent struct{ id, parent string }

func (s *simulation) id(kind string) string {
	s.ids++
	return kind + strconv.Itoa(s.ids)
}

func (s *simulation) word(label string) string {
	return rapid.SampledFrom([]string{"alpha", "beta **bold**", "γ\n<&>", "", "line\u2028separator \U0001F600"}).Draw(s.T, label)
}

func (s *simulation) filled(label string) string {
	return rapid.SampledFrom([]string{"Run `npm test`", "Edit **src/pay.ts** (+3 −1)", "x"}).Draw(s.T, label)
}

func (s *simulation) chance(label string) bool { return rapid.Bool().Draw(s.T, label) }

func pick[T any](s *simulation, label string, list ...T) T {
	return rapid.SampledFrom(list).Draw(s.T, label)
}

// emit stamps an envelope.
func (s *simulation) emit(role contract.Role, turn, subagent string, ev contract.Event) {
	s.time += rapid.Int64Range(0, 1000).Draw(s.T, "wait")
	e := contract.Envelope{ID: s.id("e"), Time: s.time, Role: role, Turn: turn, Subagent: subagent, Event: ev}
	if role == contract.RoleAgent && s.chance("origin") {
		e.Origin = "native-" + e.ID
	}
	s.stream = append(s.stream, e)
}

func (s *simulation) agent(subagent string, ev contract.Event) {
	s.emit(contract.RoleAgent, s.turn, subagent, ev)
}

func (s *simulation) user(ev contract.Event) { s.emit(contract.RoleUser, "", "", ev) }

// speaker is the main agent or one of the running sub-agents.
func (s *simulation) speaker() string {
	i := rapid.IntRange(0, len(s.agents)).Draw(s.T, "speaker")
	if i == 0 {
		return ""
	}
	return s.agents[i-1].id
}

func (s *simulation) step() {
	anywhere := []func(){s.userSays, s.userConfigures, s.service, s.control, s.abort, s.unknown}
	inTurn := []func(){s.says, s.says, s.says, s.file, s.startCall, s.startCall, s.endCall, s.endCall, s.ask, s.answer, s.startAgent, s.stopAgent, s.configure, s.steer, s.endTurn}
	switch {
	case s.turn == "" && s.chance("turn"):
		s.turn = s.id("t")
		s.agent("", contract.TurnStart{})
	case s.turn != "" && rapid.IntRange(0, 4).Draw(s.T, "where") > 0:
		pick(s, "what", inTurn...)()
	default:
		pick(s, "what", anywhere...)()
	}
}

func (s *simulation) finish() {
	if s.turn == "" && len(s.agents) > 0 {
		s.turn = s.id("t")
		s.agent("", contract.TurnStart{})
	}
	for len(s.agents) > 0 {
		s.stopAgent()
	}
	if s.turn != "" {
		s.endTurn()
	}
}

func (s *simulation) userSays() {
	switch {
	case s.chance("file"):
		s.user(s.aFile())
	default:
		ev := contract.Text{Text: s.word("text")}
		if s.chance("refs") {
			ev.Refs = []contract.FileRef{{Ref: "upload-1", Name: "a.png", Size: 12, MIME: "image/png"}, {Ref: "upload-2"}}
		}
		s.user(ev)
	}
}

func (s *simulation) aFile() contract.File {
	f := contract.File{Ref: "upload-1", Name: "report.pdf", Size: 524288}
	if s.chance("image") {
		f.Image = &contract.Image{Width: 800, Height: 600, Thumbhash: "1QcSHQRnh493V4dIh4eXh1h4kJUI"}
	}
	return f
}

func (s *simulation) steer() {
	s.emit(contract.RoleUser, pick(s, "turn", "", s.turn), "", contract.Text{Text: s.word("text"), Steer: true})
}

func (s *simulation) userConfigures() { s.user(s.configuration()) }

func (s *simulation) configure() { s.agent(s.speaker(), s.configuration()) }

func (s *simulation) configuration() contract.AgentConfigurationChanged {
	ev := contract.AgentConfigurationChanged{
		PermissionMode: pick[contract.PermissionMode](s, "mode", "", contract.ModePlan, "auto"),
		Model:          pick(s, "model", "", "model-a", "model-b"),
		ThinkingLevel:  pick(s, "thinking", "", "high"),
		Agent:          pick(s, "agent", "", "claude", "codex"),
	}
	if s.chance("sandbox") {
		ev.Sandbox = new(s.chance("on"))
	}
	if s.chance("from") {
		ev.From = &contract.ConfigurationFrom{Model: "model-0", Agent: "gemini"}
	}
	return ev
}

func (s *simulation) service() {
	s.agent("", contract.Service{
		Text: s.word("text"),
		Kind: pick[contract.ServiceKind](s, "kind", "", contract.ServiceNotice, contract.ServiceError, contract.ServiceRetry, contract.ServiceReconnect, contract.ServiceCompaction),
		Code: pick[contract.ErrorCode](s, "code", "", contract.CodeOverloaded),
	})
}

func (s *simulation) control() {
	s.user(contract.SessionControlChanged{ClientType: pick(s, "client", contract.ClientCLI, contract.ClientPhone), TokenID: pick(s, "token", "", "tok_1")})
}

func (s *simulation) abort() {
	s.emit(contract.RoleUser, pick(s, "turn", "", s.turn), "", contract.Abort{})
}

func (s *simulation) unknown() {
	s.agent("", contract.Unknown{T: "later", Body: jsontext.Value(`{"t":"later","x":[1]}`)})
}

func (s *simulation) says() {
	s.agent(s.speaker(), contract.Text{Text: s.word("text"), Thinking: s.chance("thinking")})
}

func (s *simulation) file() { s.agent(s.speaker(), s.aFile()) }

func (s *simulation) startCall() {
	c := &simCall{id: s.id("call_"), subagent: s.speaker()}
	ev := contract.ToolCallStart{Call: c.id, Name: pick(s, "tool", "bash", "edit", "mcp/github/get_issue"), Title: s.filled("title"), Description: s.filled("description"), Args: Object().Draw(s.T, "args")}
	switch rapid.IntRange(0, 9).Draw(s.T, "native") {
	case 0:
		ev.Name, ev.Native, ev.Args = "bash", contract.NativeUserShell, jsontext.Value(`{"command":"ls -l"}`)
	case 1:
		ev.Native = "Bash"
	}
	s.calls = append(s.calls, c)
	s.agent(c.subagent, ev)
}

func (s *simulation) endCall() {
	if len(s.calls) > 0 {
		s.end(pick(s, "call", s.calls...))
	}
}

func (s *simulation) end(c *simCall) {
	if c.asked {
		s.respond(c)
	}
	ev := contract.ToolCallEnd{Call: c.id}
	if s.chance("result") {
		ev.Result = &contract.ToolResult{
			Status:    pick(s, "status", contract.ToolCompleted, contract.ToolError, contract.ToolCancelled),
			Output:    pick(s, "output", nil, jsontext.Value("null"), jsontext.Value(`"text"`), jsontext.Value(`{"exitCode":1,"output":"x"}`)),
			Error:     pick(s, "error", "", "no such file"),
			Truncated: s.chance("truncated"),
		}
		if s.chance("files") {
			ev.Result.Files = []contract.FileDiff{
				{Path: "a.go", Status: contract.ChangeAdded, Patch: "--- /dev/null\n+++ b/a.go\n@@ -0,0 +1 @@\n+a\n", Additions: 1},
				{Path: "c.go", OldPath: "b.go", Status: contract.ChangeRenamed},
			}
		}
	}
	s.calls = slices.DeleteFunc(s.calls, func(o *simCall) bool { return o == c })
	s.agent(c.subagent, ev)
}

func (s *simulation) ask() {
	if len(s.calls) == 0 {
		return
	}
	c := pick(s, "call", s.calls...)
	if c.asked || c.asks == 2 {
		return
	}
	c.asked = true
	c.asks++
	ev := contract.PermissionRequest{Call: c.id, ToolName: "bash", Title: s.filled("title"), Description: s.filled("description"), Args: Object().Draw(s.T, "args")}
	switch {
	case s.chance("question"):
		ev.ToolName = "ask-user"
		ev.Question = &contract.Question{Message: s.word("message"), Questions: []contract.QuestionField{{ID: "q1", Question: "Which?", Options: []contract.QuestionOption{{Label: "A", Value: "a"}, {Label: "B", Description: "the other"}}}}}
		if s.chance("two questions") {
			ev.Question.Questions = append(ev.Question.Questions, contract.QuestionField{ID: "q2", Question: "Why?", Custom: true})
		}
	case s.chance("options"):
		ev.Options = []contract.PermissionOption{{Decision: contract.AllowOnce, Label: "Yes"}, {Decision: contract.RejectOnce, Label: "No"}}
		ev.Patterns, ev.Always = []string{"npm test"}, []string{"npm *"}
		ev.Nonce = s.word("nonce")
	}
	s.agent(c.subagent, ev)
}

func (s *simulation) answer() {
	for _, c := range s.calls {
		if c.asked {
			s.respond(c)
			return
		}
	}
}

func (s *simulation) respond(c *simCall) {
	c.asked = false
	ev := contract.PermissionResponse{Call: c.id, Decision: pick(s, "decision", contract.AllowOnce, contract.AllowAlways, contract.RejectOnce, contract.RejectAlways)}
	if s.chance("by") {
		ev.By = &contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientPhone}
		ev.Message = s.word("message")
		ev.Nonce = s.word("nonce")
	}
	s.emit(contract.RoleUser, pick(s, "turn", "", s.turn), pick(s, "subagent", "", c.subagent), ev)
}

func (s *simulation) startAgent() {
	a := simAgent{id: s.id("s"), parent: s.speaker()}
	ev := contract.SubagentStart{AgentID: a.id, Title: s.word("title")}
	if len(s.calls) > 0 && s.chance("spawned") {
		ev.Call = s.calls[0].id
	}
	s.agents = append(s.agents, a)
	s.agent(a.parent, ev)
}

// stopAgent stops one that has no running children, and ends its calls first.
func (s *simulation) stopAgent() {
	var leaves []simAgent
	for _, a := range s.agents {
		if !slices.ContainsFunc(s.agents, func(o simAgent) bool { return o.parent == a.id }) {
			leaves = append(leaves, a)
		}
	}
	if len(leaves) == 0 {
		return
	}
	a := pick(s, "agent", leaves...)
	for _, c := range slices.Clone(s.calls) {
		if c.subagent == a.id {
			s.end(c)
		}
	}
	s.agents = slices.DeleteFunc(s.agents, func(o simAgent) bool { return o == a })
	s.agent(a.parent, contract.SubagentStop{AgentID: a.id})
}

func (s *simulation) endTurn() {
	for len(s.calls) > 0 {
		s.end(s.calls[0])
	}
	ev := contract.TurnEnd{Status: pick(s, "status", contract.TurnCompleted, contract.TurnFailed, contract.TurnCancelled)}
	if s.chance("usage") {
		ev.Usage = &contract.Usage{InputTokens: 2400, OutputTokens: 180, ReasoningTokens: 20, CacheReadTokens: 2000}
		if s.chance("cost") {
			ev.Usage.Cost = new(0.012)
		}
		ev.Model = "model-a"
	}
	if ev.Status == contract.TurnFailed {
		ev.Error = &contract.Error{Code: contract.CodeOverloaded, Message: "529"}
	}
	s.agent("", ev)
	s.turn = ""
}
