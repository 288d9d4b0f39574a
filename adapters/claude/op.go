package claude

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// operation is a control request that an Op passes through.
type operation struct {
	name, subtype string
	// params are the members of the Op's params that go along: text is required,
	// more is taken as it is.
	text, more []string
}

// operations are the pass-through operations; each is also known by its subtype
// with hyphens. rewind, fork and compact have code of their own.
func operations() []operation {
	return []operation{
		{"context", "get_context_usage", nil, []string{"detail"}},
		{"models", "list_models", nil, nil},
		{"rename", "rename_session", []string{"title"}, nil},
		{"usage", "get_usage", nil, nil},
		{"cost", "get_session_cost", nil, nil},
		{"settings", "get_settings", nil, nil},
		{"permissions", "list_permission_rules", nil, nil},
		{"hooks", "get_hooks_listing", nil, nil},
		{"version", "get_binary_version", nil, nil},
		{"mcp", "mcp_status", nil, nil},
		{"mcp-reconnect", "mcp_reconnect", []string{"serverName"}, nil},
		{"mcp-toggle", "mcp_toggle", []string{"serverName"}, []string{"enabled"}},
		{"files", "file_suggestions", []string{"query"}, nil},
		{"background", "background_tasks", nil, []string{"tool_use_id"}},
		{"stop-task", "stop_task", []string{"task_id"}, nil},
		{"task-output", "get_task_output", []string{"task_id"}, nil},
	}
}

// submitOp starts an operation.
func (p *protocol) submitOp(c adapters.Op) error {
	run := p.operation(c.Name)
	if run == nil {
		return fmt.Errorf("claude: operation %q: %w", c.Name, adapters.ErrUnsupported)
	}
	var params rawjson.Value
	if len(c.Params) > 0 {
		v, err := rawjson.Parse(c.Params)
		if err != nil || v.Given() && v.Kind() != rawjson.Object {
			return fmt.Errorf("claude: %s: params: want a JSON object", c.Name)
		}
		params = v
	}
	return run(c.ID, params)
}

// operation finds an operation by its name, nil when there is none.
func (p *protocol) operation(name string) func(id string, params rawjson.Value) error {
	switch name {
	case "rewind":
		return p.rewind
	case "fork":
		return p.fork
	case "compact":
		return p.compact
	}
	for _, o := range operations() {
		if o.name == name || strings.ReplaceAll(o.subtype, "_", "-") == name {
			return func(id string, params rawjson.Value) error { return p.passThrough(id, o, params) }
		}
	}
	return nil
}

func (p *protocol) passThrough(id string, o operation, params rawjson.Value) error {
	body := new(object).str("subtype", o.subtype)
	for _, name := range o.text {
		v := params.Get(name).Text()
		if v == "" {
			return fmt.Errorf("claude: %s: params.%s: want a text", o.name, name)
		}
		body.str(name, v)
	}
	for _, name := range o.more {
		if v := params.Get(name); v.Given() {
			body.raw(name, v.Clean())
		}
	}
	p.requestFor(id, o.subtype, body.value(), func(r reply) { p.answerOp(id, r) })
	return nil
}

// answerOp ends an operation with the CLI's answer.
func (p *protocol) answerOp(id string, r reply) {
	if r.err != nil {
		p.fail(id, *r.err)
		return
	}
	p.succeed(id, r.response.Clean())
}

// messageOf is the native id of a message of the user: params.to is the id of its
// envelope, or the native id itself.
func messageOf(to string) string {
	if looksLikeUUID(to) {
		return to
	}
	return MessageUUID(to)
}

func looksLikeUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
	}
	return true
}

// rewind goes back to before a message of the user.
//
// Params: those of adapters.OpRewind; "user_message_id" is "to" as the CLI calls it.
//
// Files are restored by the running process: what Edit, Write and NotebookEdit
// changed, not what shell commands did. A conversation is cut by a new process
// (--resume-session-at): the result then holds "restart", what to launch it with.
// A dry run says what would be done and asks for no new process; there is one
// before each rewind of files, since the CLI tells only then which they are.
func (p *protocol) rewind(id string, params rawjson.Value) error {
	w := rewinding{id: id, to: orElse(params.Get("to").Text(), params.Get("user_message_id").Text())}
	w.dry = params.Get("dryRun").True() || params.Get("dry_run").True()
	what := orElse(params.Get("what").Text(), "conversation")
	if what != "files" && what != "conversation" && what != "both" {
		return fmt.Errorf("claude: rewind: params.what: want conversation, files or both, got %q", what)
	}
	if what != "files" {
		w.at = orElse(p.before(w.to), params.Get("at").Text())
		if w.at == "" {
			return fmt.Errorf("claude: rewind: params.at: want the origin of the last answer to keep; before the first message there is none, start a new session instead")
		}
		if p.facts.native == "" {
			return fmt.Errorf("claude: rewind: the session has no conversation yet")
		}
	}
	if what == "conversation" {
		p.rewound(w, nil)
		return nil
	}
	if w.to == "" {
		return fmt.Errorf("claude: rewind: params.to: want the id of a message of the user")
	}
	p.rewindFiles(w, true, func(look rawjson.Value) {
		if w.dry {
			p.rewound(w, look.Clean())
			return
		}
		p.rewindFiles(w, false, func(done rawjson.Value) { p.rewound(w, lookedAt(done, look)) })
	})
	return nil
}

// lookedAt is the answer to a rewind with what only the look before it tells: the
// files.
func lookedAt(done, look rawjson.Value) []byte {
	more := new(object)
	for _, name := range []string{"filesChanged", "insertions", "deletions"} {
		if v := look.Get(name); v.Given() && !done.Get(name).Given() {
			more.raw(name, v.Clean())
		}
	}
	if len(more.b) == 0 || done.Kind() != rawjson.Object {
		return done.Clean()
	}
	return splice(rawjson.Value(done.Clean()), more)
}

// rewinding is a rewind under way.
type rewinding struct {
	// id is the Op's, to the message to go back to.
	id, to string
	// at is the last answer to keep, empty when the conversation stays.
	at  string
	dry bool
}

// rewindFiles asks for a rewind of the files, or what it would do.
func (p *protocol) rewindFiles(w rewinding, look bool, done func(rawjson.Value)) {
	body := new(object).str("subtype", "rewind_files").str("user_message_id", messageOf(w.to))
	if look {
		body.flag("dry_run", true)
	}
	p.requestFor(w.id, "rewind_files", body.value(), func(r reply) {
		can := r.response.Get("canRewind")
		switch {
		case r.err != nil:
			p.fail(w.id, *r.err)
		case can.Kind() == rawjson.Bool && !can.True():
			p.fail(w.id, wireError{
				contract.CodeInvalidRequest, orElse(r.response.Get("error").Text(), "the agent has no checkpoint of this message"),
			})
		default:
			done(r.response)
		}
	})
}

// rewound ends a rewind; files is what became of them, nil when they stay.
func (p *protocol) rewound(w rewinding, files []byte) {
	o := new(object)
	switch {
	case w.dry:
		o.flag("dryRun", true).flag("conversation", w.at != "")
	case w.at != "":
		o.raw("restart", new(object).str("resume", p.facts.native).str("resumeAt", w.at).value())
	default:
		o.flag("conversation", false)
	}
	if files == nil {
		files = []byte("false")
	}
	p.succeed(w.id, o.raw("files", files).value())
}

// fork branches the session off. The CLI does that at the start of a process, so
// the result says what to launch: {"newProcess":true,"fork":session,"forkAt":origin}.
//
// Params: those of adapters.OpFork.
func (p *protocol) fork(id string, params rawjson.Value) error {
	if p.facts.native == "" {
		return fmt.Errorf("claude: fork: the session has no conversation yet")
	}
	to := params.Get("to").Text()
	at := orElse(p.before(to), params.Get("at").Text())
	if to != "" && at == "" {
		return fmt.Errorf("claude: fork: params.at: want the origin of the last answer before %q; before the first message there is none, start a new session instead", to)
	}
	o := new(object).flag("newProcess", true).str("fork", p.facts.native)
	if at != "" {
		o.str("forkAt", at)
	}
	p.succeed(id, o.value())
	return nil
}

// before is the origin of the last answer before a message of the user, empty
// when it is not known.
func (p *protocol) before(to string) string {
	if to == "" {
		return ""
	}
	return p.answers[messageOf(to)]
}

// compactTimeout is how long a compaction may take: the model reads everything.
const compactTimeout = 10 * time.Minute

// compact compacts the conversation. It runs as a turn of its own; params.instructions
// says what to keep in mind.
func (p *protocol) compact(id string, params rawjson.Value) error {
	text := "/compact"
	if more := params.Get("instructions").Text(); more != "" {
		text += " " + more
	}
	// The ids of Ops repeat in the next process of the session, whose history has
	// this message: the time makes it another one.
	in := &input{id: id, uuid: uuid(nameOp, p.info.ID+"/"+id+"/"+strconv.FormatInt(p.now.UnixNano(), 10)), op: true}
	p.inputs = append(p.inputs, in)
	p.write(userMessage(in.uuid, priorityLater, quote(text)))
	p.waitFor(id, "compact", compactTimeout, func(r reply) { p.fail(id, *r.err) })
	return nil
}

// compactDone ends a compact operation with its turn.
func (p *protocol) compactDone(in *input, end contract.TurnEnd) {
	if p.requests.take(func(q *pending) bool { return q.owner == in.id }) == nil {
		return // failed already
	}
	switch {
	case end.Status != contract.TurnCompleted && end.Error != nil:
		p.fail(in.id, wireError{end.Error.Code, end.Error.Message})
	case end.Status != contract.TurnCompleted:
		p.fail(in.id, wireError{contract.CodeAgentError, "the compaction was stopped"})
	case !p.turn.compacted:
		p.fail(in.id, wireError{contract.CodeAgentError, orElse(p.turn.local, "there was nothing to compact")})
	default:
		p.succeed(in.id, []byte(`{"compacted":true}`))
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// compactFailed fails the compact operation under way, if there is one.
func (p *protocol) compactFailed(why string) {
	if q := p.requests.take(func(q *pending) bool { return q.kind == "compact" }); q != nil {
		p.fail(q.owner, wireError{contract.CodeAgentError, why})
	}
}
