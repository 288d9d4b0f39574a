package contract

import (
	"errors"
	"math"
	"strconv"
)

// event checks the members of an event; c.path ends in "ev.".
func (c *checker) event(ev Event) {
	switch ev := ev.(type) {
	case Text:
		c.refs(ev.Refs)
	case File:
		c.file(ev)
	case TurnStart, Abort:
	case TurnEnd:
		c.turnEnd(ev)
	case ToolCallStart:
		c.filled("call", ev.Call)
		c.toolName("name", ev.Name)
		c.filled("title", ev.Title)
		c.filled("description", ev.Description)
		c.object("args", ev.Args)
	case ToolCallEnd:
		c.filled("call", ev.Call)
		if ev.Result != nil {
			c.at("result", func() { c.result(*ev.Result) })
		}
	case Service:
		optEnum(c, "kind", ev.Kind, serviceKinds())
	case SubagentStart:
		c.id("agentId", ev.AgentID)
	case SubagentStop:
		c.id("agentId", ev.AgentID)
	case SessionControlChanged:
		enum(c, "clientType", ev.ClientType, clientTypes())
	case PermissionRequest:
		c.permissionRequest(ev)
	case PermissionResponse:
		c.permissionResponse(ev)
	case AgentConfigurationChanged:
		if c.strict {
			optEnum(c, "permissionMode", ev.PermissionMode, permissionModes())
		}
	case Unknown:
		c.unknown(ev)
	default:
		c.fault("", "t", "one of the 14 event structs or Unknown, by value", quoted(string(ev.EventType())))
	}
}

func (c *checker) refs(refs []FileRef) {
	for i, ref := range refs {
		c.at(index("refs", i), func() {
			c.filled("ref", ref.Ref)
			c.count("size", ref.Size)
		})
	}
}

func (c *checker) file(ev File) {
	c.filled("ref", ev.Ref)
	c.filled("name", ev.Name)
	c.count("size", ev.Size)
	if ev.Image != nil {
		c.count("image.width", int64(ev.Image.Width))
		c.count("image.height", int64(ev.Image.Height))
	}
}

func (c *checker) turnEnd(ev TurnEnd) {
	enum(c, "status", ev.Status, turnStatuses())
	if ev.Usage != nil {
		c.at("usage", func() { c.usage(*ev.Usage) })
	}
}

func (c *checker) usage(u Usage) {
	c.count("inputTokens", u.InputTokens)
	c.count("outputTokens", u.OutputTokens)
	switch {
	case u.Cost == nil && c.strict:
		c.fault("profile", "cost", "number", "nothing")
	case u.Cost != nil && !(*u.Cost >= 0 && *u.Cost <= math.MaxFloat64): // NaN compares false
		c.fault("", "cost", "finite number >= 0", strconv.FormatFloat(*u.Cost, 'g', -1, 64))
	}
	c.count("reasoningTokens", u.ReasoningTokens)
	c.count("cacheReadTokens", u.CacheReadTokens)
	c.count("cacheWriteTokens", u.CacheWriteTokens)
}

func (c *checker) result(r ToolResult) {
	enum(c, "status", r.Status, toolStatuses())
	c.raw("output", r.Output)
	for i, f := range r.Files {
		c.at(index("files", i), func() {
			c.filled("path", f.Path)
			enum(c, "status", f.Status, changeStatuses())
			c.count("additions", int64(f.Additions))
			c.count("deletions", int64(f.Deletions))
		})
	}
}

func (c *checker) permissionRequest(ev PermissionRequest) {
	c.filled("call", ev.Call)
	c.toolName("toolName", ev.ToolName)
	c.filled("title", ev.Title)
	c.filled("description", ev.Description)
	c.object("args", ev.Args)
	for i, o := range ev.Options {
		c.at(index("options", i), func() {
			enum(c, "decision", o.Decision, decisions())
			c.filled("label", o.Label)
		})
	}
	if ev.Question != nil {
		c.at("question", func() { c.questions(ev.Question.Questions) })
	}
}

func (c *checker) questions(fields []QuestionField) {
	if len(fields) == 0 {
		c.fault("", "questions", "at least one question", "none")
	}
	seen := make(map[string]bool, len(fields))
	for i, f := range fields {
		c.at(index("questions", i), func() {
			c.filled("id", f.ID)
			if seen[f.ID] {
				c.fault("", "id", "id of one question", quoted(f.ID)+" again")
			}
			seen[f.ID] = true
			for j, o := range f.Options {
				c.at(index("options", j), func() { c.filled("label", o.Label) })
			}
			c.raw("schema", f.Schema)
		})
	}
}

func (c *checker) permissionResponse(ev PermissionResponse) {
	c.filled("call", ev.Call)
	enum(c, "decision", ev.Decision, decisions())
	if ev.By != nil {
		enum(c, "by.resolver", ev.By.Resolver, resolvers())
		optEnum(c, "by.clientType", ev.By.ClientType, clientTypes())
	}
	c.object("answers", ev.Answers)
	c.object("args", ev.Args)
}

func (c *checker) unknown(ev Unknown) {
	c.filled("t", string(ev.T))
	_, err := AppendEvent(nil, ev)
	faults, _ := errors.AsType[Faults](err)
	for _, f := range faults {
		c.fault("", f.Path, f.Want, f.Got)
	}
}

// onlyDraft compares e with what Strict makes of it: every member that is gone
// is one too many. Faults of members that are reported already are not repeated.
func (c *checker) onlyDraft(e Envelope) {
	whole, err := Encode(e)
	if err != nil {
		return // the reason is a fault by now
	}
	strict, ok := Strict(e)
	if !ok {
		c.fault("profile", "ev.t", listed(EventTypes()), quoted(string(e.Event.EventType())))
		return
	}
	left, err := Encode(strict)
	if err != nil {
		return
	}
	reported := len(c.faults)
	c.surplus("", whole, left, reported)
}

// surplus adds a fault for each member of whole that left lacks, and looks into
// the objects that both have.
func (c *checker) surplus(path string, whole, left []byte, reported int) {
	kept := make(map[string][]byte)
	for _, m := range members(nil, left) {
		kept[m.name(left)] = m.value(left)
	}
	for _, m := range members(nil, whole) {
		name := path + m.name(whole)
		value, ok := kept[m.name(whole)]
		switch had := m.value(whole); {
		case !ok && !c.faults[:reported].at(name):
			c.fault("profile", name, "nothing beyond the draft", kindOf(had))
		case ok && had[0] == '{' && string(value) != string(had):
			c.surplus(name+".", had, value, reported)
		}
	}
}

// at reports whether there is a fault at path.
func (f Faults) at(path string) bool {
	for _, e := range f {
		if e.Path == path {
			return true
		}
	}
	return false
}
