package claude

import (
	"fmt"
	"slices"
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
}

func (o *opening) pending() bool { return o.sent && !o.over }

// facts are what the CLI told last, so that only changes are passed on.
type facts struct {
	native      string // its session id
	want        string // the session that was asked to be resumed, until the first init
	version     string
	model       string
	mode        string
	thinking    string
	models      []model
	contextUsed int64
	contextSize int64
	// alias says that model was set by a name that the CLI resolves itself.
	alias bool
	// listed says that the slash commands came with descriptions.
	listed bool
}

// model is one entry of the CLI's list.
type model struct {
	id, resolved string
	efforts      []string
	thinkingOff  bool
}

func newFacts(o adapters.Options) facts {
	mode := o.Mode
	if mode == "" {
		mode = string(contract.ModeDefault)
	}
	return facts{want: o.Resume, mode: mode, thinking: o.Thinking}
}

// submitOpen asks for the handshake. The session is open with the answer, or
// with the first message of a CLI that gives none.
func (p *protocol) submitOpen(c adapters.Open) error {
	if p.open.sent {
		return fmt.Errorf("claude: a second Open: want one")
	}
	p.open = opening{id: c.ID, sent: true}
	p.request("initialize", new(object).str("subtype", "initialize").value(), p.initialized)
	// The host bounds the start; a slow machine is no failure of the protocol.
	p.requests.list[len(p.requests.list)-1].deadline = time.Time{}
	return nil
}

func (p *protocol) initialized(r reply) {
	if r.err != nil {
		// Not needed: the CLI works without it.
		p.opened()
		return
	}
	f := p.learn()
	f.AgentName = "Claude Code"
	f.AgentVersion = r.response.Get("claude_code_version").Text()
	p.facts.version = f.AgentVersion
	f.Commands = commands(r.response.Get("commands"))
	p.facts.listed = len(f.Commands) > 0
	p.facts.models = nil
	for e := range r.response.Get("models").Elements() {
		m, info := readModel(e)
		p.facts.models = append(p.facts.models, m)
		f.Models = append(f.Models, info)
	}
	f.Modes = modes(p.info.Options.AllowBypass)
	f.Thinkings = p.thinkings()
	f.Agents = agentKinds(r.response.Get("agents"))
	if mode := r.response.Get("current_permission_mode").Text(); mode != "" {
		p.facts.mode = mode
	}
	f.Mode, f.Thinking = p.facts.mode, p.facts.thinking
	p.startThinking()
	p.opened()
}

// startThinking asks for a thinking level that no flag of the CLI can.
func (p *protocol) startThinking() {
	level := p.info.Options.Thinking
	if slices.Contains(efforts(), level) {
		return
	}
	if c, err := thinkingRequest(level); err == nil && c != nil {
		p.request(c.kind, c.body, func(r reply) {
			if r.err != nil {
				p.notice(contract.ServiceNotice, r.err.code, "The thinking level "+level+" was not taken: "+r.err.message)
			}
		})
	}
}

// opened says that the session takes prompts.
func (p *protocol) opened() {
	if !p.open.pending() {
		return
	}
	p.open.over = true
	p.succeed(p.open.id, nil)
}

func (p *protocol) openFailed(e wireError) {
	p.open.over = true
	p.fail(p.open.id, e)
}

func readModel(v rawjson.Value) (model, session.ModelInfo) {
	m := model{
		id: v.Get("value").Text(), resolved: v.Get("resolvedModel").Text(),
		efforts:     texts(v.Get("supportedEffortLevels")),
		thinkingOff: v.Get("supportsThinkingOff").True(),
	}
	return m, session.ModelInfo{ID: m.id, Provider: "anthropic", DisplayName: v.Get("displayName").Text()}
}

func commands(v rawjson.Value) []adapters.SlashCommand {
	list := []adapters.SlashCommand{}
	for c := range v.Elements() {
		if name := c.Get("name").Text(); name != "" && !strings.HasPrefix(name, "__") {
			list = append(list, adapters.SlashCommand{
				Name: name, Description: c.Get("description").Text(), Hint: c.Get("argumentHint").Text(),
			})
		}
	}
	return list
}

func agentKinds(v rawjson.Value) []adapters.Choice {
	var list []adapters.Choice
	for a := range v.Elements() {
		if name := a.Get("name").Text(); name != "" {
			list = append(list, adapters.Choice{ID: name, Description: a.Get("description").Text()})
		}
	}
	return list
}

// modes are the permission modes that a session can be switched to.
func modes(bypass bool) []adapters.Choice {
	list := []adapters.Choice{
		{ID: "default", Name: "Default", Description: "Ask before anything that is not read-only"},
		{ID: "acceptEdits", Name: "Accept edits", Description: "Edit files without asking"},
		{ID: "plan", Name: "Plan", Description: "Look and plan, change nothing"},
		{ID: "dontAsk", Name: "Don't ask", Description: "Refuse whatever is not allowed by a rule"},
	}
	if bypass {
		list = append(list,
			adapters.Choice{ID: "auto", Name: "Auto", Description: "A classifier decides instead of people"},
			adapters.Choice{ID: "bypassPermissions", Name: "Bypass", Description: "Never ask"})
	}
	return list
}

// thinkings are the effort levels of the model in use.
func (p *protocol) thinkings() []adapters.Choice {
	m, ok := p.modelNamed(p.facts.model)
	if !ok && len(p.facts.models) > 0 {
		m = p.facts.models[0]
	}
	list := []adapters.Choice{}
	for _, e := range m.efforts {
		list = append(list, adapters.Choice{ID: e})
	}
	if m.thinkingOff {
		list = append(list, adapters.Choice{ID: thinkingOff})
	}
	return list
}

// modelNamed finds a model by its name or by what it resolves to.
func (p *protocol) modelNamed(name string) (model, bool) {
	for _, m := range p.facts.models {
		if name != "" && (m.id == name || m.resolved == name) {
			return m, true
		}
	}
	return model{}, false
}

// init takes the start of a turn; at the first one the session id is certain.
func (p *protocol) init(m message) {
	p.opened()
	if len(p.inputs) > 0 && !p.turn.open && !p.acks {
		// A CLI without acknowledgements shows by this line that it took up the
		// message. Without a pending one, nothing may have begun: some versions say
		// this at start-up.
		p.enterMain(m.userUUIDs())
	}
	p.sessionID(m.session)
	if v := m.text("claude_code_version"); v != "" && v != p.facts.version {
		p.facts.version = v
		p.learn().AgentVersion = v
	}
	p.modelSeen(m.text("model"))
	p.modeSeen(m.text("permissionMode"))
	if names := texts(m.Get("slash_commands")); !p.facts.listed && len(names) > 0 {
		p.facts.listed = true
		var list []adapters.SlashCommand
		for _, n := range names {
			list = append(list, adapters.SlashCommand{Name: n})
		}
		p.learn().Commands = list
	}
}

// sessionID takes the CLI's session id. One that is not the one asked for is
// told: its history is another.
func (p *protocol) sessionID(id string) {
	if id == "" || id == p.facts.native {
		return
	}
	want := p.facts.want
	p.facts.native, p.facts.want = id, ""
	p.learn().NativeSession = id
	if want != "" && want != id {
		p.notice(contract.ServiceNotice, contract.CodeSessionNotFound,
			"The agent opened session "+id+" instead of "+want+": what was said before may be missing.")
	}
}

// modelSeen takes the model that a turn runs on.
func (p *protocol) modelSeen(name string) {
	f := &p.facts
	if name == "" {
		return
	}
	if name == f.model {
		f.alias = false
		return
	}
	before, quiet := f.model, f.model == "" || f.alias || p.requests.waiting("set_model")
	f.model, f.alias = name, false
	p.learn().Model = name
	p.learn().Thinkings = p.thinkings()
	if !quiet {
		p.configChanged(contract.RoleAgent, contract.AgentConfigurationChanged{
			Model: name, From: &contract.ConfigurationFrom{Model: before},
		})
	}
}

// modeSeen takes the permission mode that the CLI is in. Entering and leaving
// plan mode is the model's doing.
func (p *protocol) modeSeen(mode string) {
	if mode == "" || mode == p.facts.mode || p.requests.waiting("set_permission_mode") {
		return
	}
	p.setMode(contract.RoleAgent, mode)
}

func (p *protocol) setMode(role contract.Role, mode string) {
	before := p.facts.mode
	if mode == before {
		return
	}
	p.facts.mode = mode
	p.learn().Mode = mode
	p.configChanged(role, contract.AgentConfigurationChanged{
		PermissionMode: contract.PermissionMode(mode),
		From:           &contract.ConfigurationFrom{PermissionMode: contract.PermissionMode(before)},
	})
}

func (p *protocol) configChanged(role contract.Role, ev contract.AgentConfigurationChanged) {
	p.emit(adapters.Draft{Role: role, Event: ev})
}

// conversationReset takes /clear: the next init has another session id.
func (p *protocol) conversationReset(message) {
	p.meter.reset()
	p.facts.want = ""
	p.notice(contract.ServiceNotice, "", "The conversation was cleared. The agent goes on without what was said before.")
}

func (p *protocol) titleChanged(m message) {
	for _, name := range []string{"title", "session_title", "name"} {
		if t := m.text(name); t != "" {
			p.learn().Title = t
			return
		}
	}
}

// submitClose prepares the end of input: with a background shell the CLI would
// not exit.
func (p *protocol) submitClose() {
	var tasks []string
	for task := range p.agents.shells {
		tasks = append(tasks, task)
	}
	slices.Sort(tasks)
	for _, task := range tasks {
		p.request("stop_task", new(object).str("subtype", "stop_task").str("task_id", task).value(), func(reply) {})
	}
}
