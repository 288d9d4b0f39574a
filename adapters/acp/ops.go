package acp

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// foreign are sessions that an operation made in this process and that are not
// ours: their updates are nobody's.
type foreign struct {
	forks int // under way
	ids   []string
}

func (f *foreign) has(id string) bool { return f.forks > 0 || slices.Contains(f.ids, id) }

// forks reports whether the agent can branch a session off.
func (p *Protocol) forks() bool {
	switch p.spec.Quirks.Fork {
	case ForkBranch:
		return p.wasOpen && p.since()
	case ForkNever:
		return false
	}
	return p.agent.can("fork")
}

// rewinds reports whether the agent can take a session back to an earlier prompt.
func (p *Protocol) rewinds() bool {
	return p.spec.Quirks.Rewind && p.wasOpen && p.since()
}

// op passes an operation through:
//
//	list          {cwd, cursor}  session/list
//	delete        {session}      session/delete
//	fork          {}             session/fork, or qwen's branch: {sessionId, …}
//	rewind        {to}           qwen: history and files back to before that prompt
//	rewind-points {}             qwen: where rewind can go
//	config        {id, value}    session/set_config_option
func (p *Protocol) op(c adapters.Op) error {
	has := map[string]bool{
		"list": p.agent.can("list"), "delete": p.agent.can("delete"), "fork": p.forks(),
		"rewind": p.rewinds(), "rewind-points": p.rewinds(), "config": true,
	}
	if !has[c.Name] {
		return fmt.Errorf("%s has no operation %q: %w", p.name(), c.Name, adapters.ErrUnsupported)
	}
	if p.phase != ready {
		return errors.New("the session is not open")
	}
	params := rawjson.Value("{}")
	if len(c.Params) > 0 {
		v, err := rawjson.Parse(c.Params)
		if err != nil || v.Kind() != rawjson.Object && v.Kind() != rawjson.Null {
			return fmt.Errorf("params of %q: want an object", c.Name)
		}
		params = rawjson.Value(v.Clean())
	}
	ours := sessionID{p.session}
	switch c.Name {
	case "list":
		p.pass(c, "session/list", listParams{params.Get("cwd").Text(), params.Get("cursor").Text()})
	case "delete":
		other := sessionID{params.Get("session").Text()}
		if other.SessionID == "" || other == ours {
			return errors.New("delete: want the id of another session in \"session\"")
		}
		p.pass(c, "session/delete", other)
	case "fork":
		if params.Get("at").Given() || params.Get("to").Given() {
			return fmt.Errorf("%s branches off the end of a session only: %w", p.name(), adapters.ErrUnsupported)
		}
		return p.forkOp(c)
	case "rewind":
		return p.rewind(c, params.Get("to").Text())
	case "rewind-points":
		p.pass(c, "qwen/status/session/rewind_snapshots", ours)
	case "config":
		return p.configOp(c, params)
	}
	return nil
}

// sessionID are the parameters of requests that name a session and nothing else.
type sessionID struct {
	SessionID string `json:"sessionId"`
}

// pass sends a request and hands its answer on.
func (p *Protocol) pass(c adapters.Op, method string, params any) {
	p.call(method, params, OpenWait, func(r reply) { p.passed(c, r, method) })
}

func (p *Protocol) passed(c adapters.Op, r reply, method string) {
	if !r.ok() {
		fault := p.fault(r, method)
		p.done(c.ID, nil, &fault)
		return
	}
	result := r.result.Clean()
	if result == nil {
		result = jsontext.Value("null")
	}
	p.done(c.ID, result, nil)
}

// forkOp branches the session off. The branch is another session: it is for a
// process of its own to open, and what the agent replays of it here is dropped.
func (p *Protocol) forkOp(c adapters.Op) error {
	method, params := "session/fork", any(nil)
	if p.spec.Quirks.Fork == ForkBranch {
		method, params = "qwen/control/session/branch", sessionID{p.session}
	} else {
		full, err := p.sessionParams(p.session)
		if err != nil {
			return err
		}
		params = full
	}
	p.foreign.forks++
	p.call(method, params, OpenWait, func(r reply) {
		p.foreign.forks--
		for _, name := range []string{"sessionId", "newSessionId"} {
			if id := r.result.Get(name).Text(); id != "" && id != p.session {
				p.foreign.ids = append(p.foreign.ids, id)
			}
		}
		p.passed(c, r, method)
	})
	return nil
}

// rewind rolls history and files back. The agent's transcript is shorter then;
// the stream keeps what was said.
func (p *Protocol) rewind(c adapters.Op, to string) error {
	switch {
	case to == "":
		return errors.New("rewind: want a prompt id in \"to\" (see rewind-points)")
	case p.turn.open:
		return errors.New("rewind: a turn is running")
	}
	p.pass(c, "qwen/control/session/rewind", struct {
		SessionID string `json:"sessionId"`
		PromptID  string `json:"promptId"`
	}{p.session, to})
	return nil
}

// configOp sets an option of the agent's own. The mode has its command, and what
// concerns permissions needs the local opt-in.
func (p *Protocol) configOp(c adapters.Op, params rawjson.Value) error {
	id, value := params.Get("id").Text(), params.Get("value")
	var option rawjson.Value
	for _, o := range p.config.options {
		if o.Get("id").Text() == id && id != "" {
			option = o
		}
	}
	switch category := option.Get("category").Text(); {
	case option == nil:
		return fmt.Errorf("config: %s has no option %q", p.name(), id)
	case category == "mode":
		return errors.New("config: the mode is changed by its own command")
	case category == "permissions" && !p.info.Options.AllowBypass:
		return fmt.Errorf("config: option %q concerns permissions: it needs the local opt-in", id)
	}
	request := configParams{p.session, id, jsontext.Value(value.Clean())}
	if option.Get("type").Text() == "boolean" {
		p.setOption(c, booleanParams{p.session, id, "boolean", value.True()})
		return nil
	}
	if value.Kind() != rawjson.String {
		return errors.New("config: want a text in \"value\"")
	}
	p.setOption(c, request)
	return nil
}

func (p *Protocol) setOption(c adapters.Op, params any) {
	p.call("session/set_config_option", params, ConfigWait, func(r reply) {
		if r.ok() {
			p.configIs(r.result.Get("configOptions"))
		}
		p.passed(c, r, "session/set_config_option")
	})
}
