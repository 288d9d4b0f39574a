package acp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// settingKind names one of the three settings that the contract knows.
type settingKind int

const (
	settingMode settingKind = iota
	settingModel
	settingThinking
)

func (k settingKind) String() string { return [...]string{"mode", "model", "thinking level"}[k] }

// config is how the session is set up.
type config struct {
	settings [3]setting // by settingKind
	options  []rawjson.Value
}

// setting is one setting with its choices.
type setting struct {
	known   bool
	option  string // the config option's id, empty for session/set_mode and set_model
	current string
	choices []adapters.Choice
	limits  map[string]int64 // context windows of models, where told
}

// read takes modes, models and configOptions of an answer. Where an agent has
// both forms the options count, as the protocol wants.
func (c *config) read(v rawjson.Value) {
	if m := v.Get("modes"); m.Kind() == rawjson.Object {
		s := &c.settings[settingMode]
		*s = setting{known: true, current: m.Get("currentModeId").Text()}
		for x := range m.Get("availableModes").Elements() {
			s.choices = append(s.choices, adapters.Choice{
				ID: x.Get("id").Text(), Name: x.Get("name").Text(), Description: x.Get("description").Text(),
			})
		}
	}
	if m := v.Get("models"); m.Kind() == rawjson.Object {
		s := &c.settings[settingModel]
		*s = setting{known: true, current: m.Get("currentModelId").Text(), limits: map[string]int64{}}
		for x := range m.Get("availableModels").Elements() {
			id := x.Get("modelId").Text()
			s.choices = append(s.choices, adapters.Choice{ID: id, Name: x.Get("name").Text(), Description: x.Get("description").Text()})
			if n, ok := x.Get("_meta", "contextLimit").Int(); ok {
				s.limits[id] = n
			}
		}
	}
	c.readOptions(v.Get("configOptions"))
}

// readOptions takes the full list of options.
func (c *config) readOptions(list rawjson.Value) {
	if list.Kind() != rawjson.Array {
		return
	}
	c.options = nil
	seen := map[settingKind]bool{}
	for o := range list.Elements() {
		c.options = append(c.options, rawjson.Value(o.Clean()))
		kind, ok := optionKind(o)
		if !ok || seen[kind] {
			continue
		}
		seen[kind] = true
		s := setting{known: true, option: o.Get("id").Text(), current: o.Get("currentValue").Text(), limits: c.settings[kind].limits}
		for x := range o.Get("options").Elements() {
			if group := x.Get("options"); group.Kind() == rawjson.Array {
				for y := range group.Elements() {
					s.choices = append(s.choices, optionChoice(y))
				}
				continue
			}
			s.choices = append(s.choices, optionChoice(x))
		}
		c.settings[kind] = s
	}
}

func optionKind(o rawjson.Value) (settingKind, bool) {
	if t := o.Get("type").Text(); t != "select" && t != "" {
		return 0, false
	}
	switch o.Get("category").Text() {
	case "mode":
		return settingMode, true
	case "model":
		return settingModel, true
	case "thought_level":
		return settingThinking, true
	}
	return 0, false
}

func optionChoice(o rawjson.Value) adapters.Choice {
	return adapters.Choice{ID: o.Get("value").Text(), Name: o.Get("name").Text(), Description: o.Get("description").Text()}
}

// facts tells the settings as they are.
func (c *config) facts(f *adapters.Facts, modes map[contract.PermissionMode]string) {
	mode, model, thinking := c.settings[settingMode], c.settings[settingModel], c.settings[settingThinking]
	f.Mode = string(contractMode(mode.current, modes))
	f.Model, f.Thinking = model.current, thinking.current
	if mode.known {
		f.Modes = []adapters.Choice{}
		for _, x := range mode.choices {
			x.ID = string(contractMode(x.ID, modes))
			f.Modes = append(f.Modes, x)
		}
	}
	if model.known {
		f.Models = []session.ModelInfo{}
		for _, x := range model.choices {
			f.Models = append(f.Models, session.ModelInfo{ID: x.ID, DisplayName: x.Name, ContextWindow: model.limits[x.ID]})
		}
	}
	if thinking.known {
		f.Thinkings = slices.Clone(thinking.choices)
	}
}

// configIs takes the options that the agent says it has now.
func (p *Protocol) configIs(list rawjson.Value) {
	before := p.config.settings
	p.config.readOptions(list)
	p.configChanged(before)
}

// modeIs takes the mode that the agent says it is in.
func (p *Protocol) modeIs(mode string) {
	if mode == "" {
		return
	}
	before := p.config.settings
	p.config.settings[settingMode].current = mode
	p.configChanged(before)
}

// configChanged writes what is different from before. While the session is being
// opened nothing has changed yet: Facts tell how it starts.
func (p *Protocol) configChanged(before [3]setting) {
	if p.phase != ready {
		return
	}
	p.config.facts(p.facts(), p.spec.Quirks.Modes)
	var e contract.AgentConfigurationChanged
	var from contract.ConfigurationFrom
	for kind, now := range p.config.settings {
		was := before[kind].current
		if was == now.current || now.current == "" {
			continue
		}
		switch settingKind(kind) {
		case settingMode:
			e.PermissionMode, from.PermissionMode = contractMode(now.current, p.spec.Quirks.Modes), contractMode(was, p.spec.Quirks.Modes)
		case settingModel:
			e.Model, from.Model = now.current, was
		case settingThinking:
			e.ThinkingLevel, from.ThinkingLevel = now.current, was
		}
	}
	if e.PermissionMode == "" && e.Model == "" && e.ThinkingLevel == "" {
		return
	}
	if from.PermissionMode != "" || from.Model != "" || from.ThinkingLevel != "" {
		e.From = &from
	}
	p.emit(e)
}

// change asks the agent for another value and calls then when it confirmed (nil)
// or refused.
func (p *Protocol) change(kind settingKind, value string, then func(*contract.Error)) {
	s := p.config.settings[kind]
	native, err := value, error(nil)
	if kind == settingMode {
		native, err = p.nativeMode(contract.PermissionMode(value))
	} else if !s.known {
		err = fmt.Errorf("%s has no %v to choose", p.name(), kind)
	}
	if err != nil {
		then(&contract.Error{Code: contract.CodeUnsupported, Message: err.Error()})
		return
	}
	if native == "" || s.current == native { // an agent without modes is in its only one
		then(nil)
		return
	}
	method, params := "session/set_mode", any(struct {
		SessionID string `json:"sessionId"`
		ModeID    string `json:"modeId"`
	}{p.session, native})
	switch {
	case s.option != "":
		method, params = "session/set_config_option", configParams{p.session, s.option, native}
	case kind == settingModel:
		method, params = "session/set_model", struct {
			SessionID string `json:"sessionId"`
			ModelID   string `json:"modelId"`
		}{p.session, native}
	}
	p.call(method, params, ConfigWait, func(r reply) {
		if !r.ok() {
			fault := p.fault(r, method)
			fault.Message = fmt.Sprintf("%v %q: %s", kind, value, fault.Message)
			then(&fault)
			return
		}
		before := p.config.settings
		if r.result.Get("configOptions").Given() {
			p.config.readOptions(r.result.Get("configOptions"))
		} else {
			p.config.settings[kind].current = native
		}
		p.configChanged(before)
		if got := p.config.settings[kind].current; got != native {
			then(&contract.Error{
				Code:    contract.CodeAgentError,
				Message: fmt.Sprintf("%s stayed in %v %q, want %q", p.name(), kind, got, native),
			})
			return
		}
		then(nil)
	})
}

type configParams struct {
	SessionID string `json:"sessionId"`
	ConfigID  string `json:"configId"`
	Value     any    `json:"value"`
}

// booleanParams are configParams of an option that is on or off.
type booleanParams struct {
	SessionID string `json:"sessionId"`
	ConfigID  string `json:"configId"`
	Type      string `json:"type"`
	Value     bool   `json:"value"`
}

// configure changes mode, model and thinking level, one after the other.
func (p *Protocol) configure(c adapters.Configure) error {
	if p.phase != ready {
		return fmt.Errorf("the session is not open")
	}
	if c.Sandbox != nil {
		return fmt.Errorf("%s over ACP has no sandbox to switch: %w", p.name(), adapters.ErrUnsupported)
	}
	if c.Mode != "" {
		if _, err := p.nativeMode(c.Mode); err != nil {
			return err
		}
	}
	for kind, value := range [...]string{settingModel: c.Model, settingThinking: c.ThinkingLevel} {
		if value != "" && !p.config.settings[kind].known {
			return fmt.Errorf("%s has no %v to choose: %w", p.name(), settingKind(kind), adapters.ErrUnsupported)
		}
	}
	p.change3(c, settingMode)
	return nil
}

// change3 changes what is asked for from kind on; the first refusal ends it.
func (p *Protocol) change3(c adapters.Configure, kind settingKind) {
	values := [...]string{string(c.Mode), c.Model, c.ThinkingLevel}
	for int(kind) < len(values) && values[kind] == "" {
		kind++
	}
	if int(kind) == len(values) {
		p.done(c.ID, nil, nil)
		return
	}
	p.change(kind, values[kind], func(fault *contract.Error) {
		if fault != nil {
			p.done(c.ID, nil, fault)
			return
		}
		p.change3(c, kind+1)
	})
}

// nativeMode finds the agent's mode for one of the contract, or for a name of the
// agent's own. Modes in which the agent acts unasked need the local opt-in.
func (p *Protocol) nativeMode(mode contract.PermissionMode) (string, error) {
	s := p.config.settings[settingMode]
	native, ok := p.spec.Quirks.Modes[mode]
	if !ok || !offered(s, native) {
		if native, ok = findMode(s, string(mode)); !ok {
			if mode == contract.ModeDefault && !s.known {
				return "", nil // an agent without modes is in its only one
			}
			return "", fmt.Errorf("%s has no mode %q (want one of %q): %w", p.name(), mode, choiceIDs(s), adapters.ErrUnsupported)
		}
	}
	if !p.info.Options.AllowBypass && p.free(native) {
		return "", fmt.Errorf("mode %q lets %s act without asking: it needs the local opt-in", mode, p.name())
	}
	return native, nil
}

// findMode finds a mode by its id, by its meaning, or by the end of its id without
// regard to case and punctuation (auto-edit, autoEdit, https://…#agent).
func findMode(s setting, mode string) (string, bool) {
	if offered(s, mode) {
		return mode, true
	}
	for _, c := range s.choices {
		if string(contractMode(c.ID, nil)) == mode || plainName(c.ID) == plainName(mode) {
			return c.ID, true
		}
		if _, end, ok := strings.Cut(c.ID, "#"); ok && plainName(end) == plainName(mode) {
			return c.ID, true
		}
	}
	return "", false
}

func offered(s setting, id string) bool {
	return id != "" && slices.ContainsFunc(s.choices, func(c adapters.Choice) bool { return c.ID == id })
}

func choiceIDs(s setting) []string {
	ids := []string{}
	for _, c := range s.choices {
		ids = append(ids, c.ID)
	}
	return ids
}

// plainName is a name in lower case with letters and digits only.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
}

// free reports whether an agent acts unasked in a mode.
func (p *Protocol) free(native string) bool {
	if native == "" {
		return false
	}
	if slices.Contains(p.spec.Quirks.FreeModes, native) || p.spec.Quirks.Modes[contract.ModeBypassPermissions] == native {
		return true
	}
	_, end, ok := strings.Cut(native, "#")
	if !ok {
		end = native
	}
	switch plainName(end) {
	case "yolo", "auto", "autopilot", "bypass", "bypasspermissions", "fullaccess", "agentfullaccess", "dangerfullaccess",
		"allowall", "dontask", "autoapprove", "autohigh":
		return true
	}
	return false
}

// contractMode is the contract's name of a native mode, or the native name.
func contractMode(native string, modes map[contract.PermissionMode]string) contract.PermissionMode {
	for _, m := range []contract.PermissionMode{
		contract.ModeDefault, contract.ModeAcceptEdits, contract.ModePlan, contract.ModeBypassPermissions,
	} {
		if modes[m] == native && native != "" {
			return m
		}
	}
	switch plainName(native) {
	case "default":
		return contract.ModeDefault
	case "autoedit", "acceptedits":
		return contract.ModeAcceptEdits
	case "yolo", "bypasspermissions":
		return contract.ModeBypassPermissions
	case "plan":
		return contract.ModePlan
	}
	return contract.PermissionMode(native)
}
