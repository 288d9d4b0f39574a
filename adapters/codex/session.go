package codex

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// opening is the state of the handshake.
type opening struct {
	id   string // of the Open command
	sent bool
	over bool
	ok   bool
}

// facts are what the server told last, so that only changes are passed on.
type facts struct {
	model, effort string
	// mode is what the server reports, want what people chose: that goes along with
	// each turn, whatever the server has come to in between.
	mode, want contract.PermissionMode
	// box is set when the sandbox stays on whatever the mode.
	box bool
	// planned says that the thread was in plan mode, which only a collaboration mode
	// takes it out of.
	planned bool
	// paginated says that the history can be reverted.
	paginated   bool
	models      []model
	contextUsed int64
	contextSize int64
	// resend says that the next turn names model and effort once more.
	resend bool
	// limited is the usage limit that was told last.
	limited string
	// configuring counts changes of ours that the server has not confirmed.
	configuring int
}

// model is one entry of the server's list.
type model struct {
	id      string
	efforts []adapters.Choice
}

func newFacts(o adapters.Options) facts {
	mode, err := permissionMode(o.Mode, o.AllowBypass)
	if err != nil {
		mode = contract.ModeDefault
	}
	return facts{mode: mode, want: mode, effort: o.Thinking, box: o.Sandbox}
}

// submitOpen begins the handshake: initialize, then the thread.
func (p *protocol) submitOpen(c adapters.Open) error {
	if p.open.sent {
		return errors.New("codex: a second Open: want one")
	}
	p.open = opening{id: c.ID, sent: true}
	p.initialize(p.initialized)
	return nil
}

// initialize introduces us to the server, once for each connection.
func (p *protocol) initialize(got func(reply)) {
	client := new(object).str("name", orElse(p.info.Client.Name, "agenthost")).str("title", orElse(p.info.Client.Title, "agenthost")).
		str("version", orElse(p.info.Client.Version, "0"))
	can := new(object).flag("experimentalApi", true).flag("requestAttestation", false)
	params := new(object).raw("clientInfo", client.value()).raw("capabilities", can.value())
	// The host bounds the start; a slow machine is no failure of the protocol.
	p.requestBy(time.Time{}, "initialize", params.value(), got)
}

func initializedLine() []byte { return new(object).str("method", "initialized").line() }

func (p *protocol) initialized(r reply) {
	if r.err != nil {
		p.openFailed(*r.err)
		return
	}
	f := p.learn()
	f.AgentName, f.AgentVersion = "Codex", versionOf(r.result.Get("userAgent").Text())
	p.write(initializedLine())
	if p.info.Options.Continue {
		params := new(object).raw("cwd", quote(p.info.Dir)).num("limit", 1).str("sortKey", "updated_at").value()
		p.requestBy(time.Time{}, "thread/list", params, p.newest)
		return
	}
	p.openThread(p.info.Options.Resume)
}

// newest goes on with the newest thread of the directory.
func (p *protocol) newest(r reply) {
	if r.err != nil {
		p.openFailed(*r.err)
		return
	}
	for t := range r.result.Get("data").Elements() {
		if id := t.Get("id").Text(); id != "" {
			p.openThread(id)
			return
		}
	}
	p.openFailed(wireError{contract.CodeSessionNotFound, "there is no session in " + p.info.Dir + " to go on with"})
}

// openThread starts, resumes or forks the root thread.
func (p *protocol) openThread(resume string) {
	o := p.info.Options
	params := new(object)
	method := "thread/start"
	switch {
	case o.Fork != "", resume != "" && o.ForkAt != "":
		// A thread whose history is cut is a thread of its own.
		method = "thread/fork"
		params.str("threadId", orElse(o.Fork, resume)).flag("excludeTurns", true)
		if o.ForkAt != "" {
			params.str("lastTurnId", turnOf(o.ForkAt))
		}
	case resume != "":
		method = "thread/resume"
		params.str("threadId", resume).flag("excludeTurns", true)
	default:
		params.str("historyMode", "paginated").flag("experimentalRawEvents", true)
	}
	params.str("cwd", p.info.Dir).text("model", o.Model).str("approvalPolicy", p.approvalPolicy(p.facts.mode)).
		str("approvalsReviewer", "user").str("sandbox", startReadOnly).raw("config", p.config()).
		text("developerInstructions", o.SystemPrompt)
	if p.tui != nil {
		p.tui.fresh = method == "thread/start"
	}
	if p.tui != nil && method == "thread/resume" {
		params.raw("initialTurnsPage", newestTurn())
	}
	p.requestBy(time.Time{}, method, params.value(), p.threadOpened)
}

// config are settings of Codex that only its configuration has.
func (p *protocol) config() []byte {
	o := p.info.Options
	c := new(object)
	if o.Thinking != "" {
		c.str("model_reasoning_effort", o.Thinking)
	}
	if len(o.MCPServers) > 0 {
		servers := new(object)
		for _, s := range o.MCPServers {
			// Launch has refused those that Codex cannot connect to.
			if v, err := mcpServer(s); err == nil {
				servers.raw(s.Name, v)
			}
		}
		c.raw("mcp_servers", servers.value())
	}
	return c.value()
}

// threadOpened takes the answer to thread/start, resume or fork.
func (p *protocol) threadOpened(r reply) {
	id := r.result.Get("thread", "id").Text()
	switch {
	case r.err != nil:
		p.openFailed(*r.err)
		return
	case id == "":
		p.openFailed(wireError{contract.CodeProtocol, "the agent opened a session without an id"})
		return
	}
	p.root.id = id
	p.facts.model = r.result.Get("model").Text()
	if e := r.result.Get("reasoningEffort").Text(); e != "" {
		p.facts.effort = e
	}
	p.facts.paginated = r.result.Get("thread", "historyMode").Text() == "paginated"
	p.facts.planned = r.result.Get("collaborationMode", "mode").Text() == collaboratePlan
	f := p.learn()
	f.NativeSession, f.Model, f.Mode, f.Thinking = id, p.facts.model, string(p.facts.mode), p.facts.effort
	f.Title = r.result.Get("thread", "name").Text()
	f.Modes = modes(p.info.Options.AllowBypass)
	if p.tui != nil {
		p.furnishScreen(r)
		return
	}
	p.opened(r)
}

// opened ends the handshake: the thread takes prompts.
func (p *protocol) opened(r reply) {
	p.open.over, p.open.ok = true, true
	p.succeed(p.open.id, nil)
	if r.result.Get("thread", "status", "type").Text() == "active" {
		// A submission that an earlier process left in the queue runs already; its
		// turn/started follows.
		p.notice(contract.ServiceNotice, "", "The agent goes on with what it had not finished.")
	}
	p.request("model/list", nil, p.modelsListed)
}

func (p *protocol) openFailed(e wireError) {
	if p.open.over {
		return
	}
	p.open.over = true
	if e.code == contract.CodeAgentError {
		e.code = contract.CodeStartFailed
	}
	p.fail(p.open.id, e)
}

// modelsListed takes the models that the account has. Without the list any name
// is passed on as it is.
func (p *protocol) modelsListed(r reply) {
	if r.err != nil {
		return
	}
	var infos []session.ModelInfo
	p.facts.models = nil
	for e := range r.result.Get("data").Elements() {
		m := model{id: orElse(e.Get("model").Text(), e.Get("id").Text())}
		if m.id == "" || e.Get("hidden").True() {
			continue
		}
		for level := range e.Get("supportedReasoningEfforts").Elements() {
			m.efforts = append(m.efforts, adapters.Choice{
				ID: level.Get("reasoningEffort").Text(), Description: level.Get("description").Text(),
			})
		}
		p.facts.models = append(p.facts.models, m)
		infos = append(infos, session.ModelInfo{ID: m.id, Provider: "openai", DisplayName: e.Get("displayName").Text()})
	}
	if len(infos) > 0 {
		f := p.learn()
		f.Models, f.Thinkings = infos, p.thinkings()
	}
}

// thinkings are the effort levels of the model in use.
func (p *protocol) thinkings() []adapters.Choice {
	for _, m := range p.facts.models {
		if m.id == p.facts.model {
			return m.efforts
		}
	}
	return []adapters.Choice{}
}

// versionOf reads the version from "client/0.171.0 (Debian …) …".
func versionOf(userAgent string) string {
	_, rest, ok := strings.Cut(userAgent, "/")
	if !ok {
		return ""
	}
	version, _, _ := strings.Cut(rest, " ")
	return version
}

// ready refuses commands that need an open thread.
func (p *protocol) ready(what string) error {
	if p.open.ok {
		return nil
	}
	return fmt.Errorf("codex: %s: the session is not open", what)
}

// origin names an item so that a fork can be made at it: item ids repeat in a
// thread, turns do not.
func origin(turn, item string) string {
	if turn == "" {
		return item
	}
	return turn + "/" + item
}

// turnOf is the turn of an origin.
func turnOf(origin string) string {
	turn, _, _ := strings.Cut(origin, "/")
	return turn
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// integer is a count, 0 when there is none.
func integer(v rawjson.Value) int64 {
	n, _ := v.Int()
	return n
}
