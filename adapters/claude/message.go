package claude

import (
	"slices"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// message is one line of the CLI. Its members are asked for by name and type:
// what has an unexpected type is absent, what is unknown is ignored.
type message struct {
	rawjson.Value
	kind    string // "type"
	subtype string
	uuid    string
	session string
	parent  string // parent_tool_use_id: the call that spawned the sub-agent
	agent   string // agent_id: the sub-agent's task id
}

func newMessage(v rawjson.Value) message {
	m := message{Value: v}
	for name, member := range v.Members() {
		switch name {
		case "type":
			m.kind = member.Text()
		case "subtype":
			m.subtype = member.Text()
		case "uuid":
			m.uuid = member.Text()
		case "session_id":
			m.session = member.Text()
		case "parent_tool_use_id":
			m.parent = member.Text()
		case "agent_id":
			m.agent = member.Text()
		}
	}
	return m
}

// text is the text of a member.
func (m message) text(path ...string) string { return m.Get(path...).Text() }

// userUUIDs are the messages that this line answers, nil when it names none.
func (m message) userUUIDs() []string {
	var list []string
	for e := range m.Get("user_message_uuids").Elements() {
		list = append(list, e.Text())
	}
	if one := m.text("user_message_uuid"); one != "" && !slices.Contains(list, one) {
		list = append(list, one)
	}
	return list
}

// texts are the strings of an array.
func texts(v rawjson.Value) []string {
	var list []string
	for e := range v.Elements() {
		if s := e.Text(); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// clone copies a value out of the frame, which the caller owns.
func clone(v rawjson.Value) rawjson.Value { return slices.Clone(v) }

// integer is a count, 0 when there is none.
func integer(v rawjson.Value) int64 {
	n, _ := v.Int()
	return n
}
