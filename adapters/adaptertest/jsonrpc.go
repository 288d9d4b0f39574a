package adaptertest

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strconv"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// dialect is what is particular about one protocol on top of JSON-RPC.
type dialect interface {
	// request turns a request of the recorded client into commands. own says that
	// a Protocol makes such a request by itself.
	request(m jsonrpc.Message) (cmds []adapters.Command, own bool)
	// prompts reports whether method starts a turn. Requests that the recorded
	// client makes before its first turn may be those that a Protocol makes by
	// itself to open the session.
	prompts(method string) bool
	// notification turns a notification of the recorded client into commands.
	notification(m jsonrpc.Message) []adapters.Command
	// asks reports whether a request of the agent asks a person.
	asks(method string) bool
	// answer turns the recorded client's answer to such a request into an Answer
	// without its Ask.
	answer(asked, got jsonrpc.Message) adapters.Answer
	// effect turns the recorded client's answer to a request that the Protocol
	// made an Effect of into its EffectDone, without its ID.
	effect(asked, got jsonrpc.Message) adapters.EffectDone
	// plain is the plainest result for a request of ours that the recording does
	// not answer; false for an error that there is no such method.
	plain(method string) (string, bool)
}

// theirs is a request of the recorded client.
type theirs struct {
	method string
	ours   rawjson.Value // the Protocol's id for it, nil while it made none
	held   [][]byte      // answers that came before the Protocol asked
}

// rpcMapper is the Mapper of a JSON-RPC wire.
type rpcMapper struct {
	dialect
	// future are the methods of the recorded client's requests that are still to
	// come, and positions of the prompts among them.
	future []string

	sent  map[string]*theirs  // by the recorded id
	wait  map[string][]string // recorded ids whose request the Protocol still has to make, by method
	early map[string][][]byte // ids of the Protocol's requests that the recorded client makes later, by method

	asked   map[string]jsonrpc.Message // open requests of the agent, by id
	askWait []string                   // ids of those that ask and have no Ask yet
	askKey  map[string]string          // their Asks
	answers map[string]adapters.Answer // answers that wait for their Ask
	fresh   []string                   // ids of requests since the last Step
	effects map[string]string          // Effect ids by request id

	notes []string
}

func newRPCMapper(d dialect, f transcript.File) *rpcMapper {
	m := &rpcMapper{
		dialect: d, sent: map[string]*theirs{}, wait: map[string][]string{}, early: map[string][][]byte{},
		asked: map[string]jsonrpc.Message{}, askKey: map[string]string{},
		answers: map[string]adapters.Answer{}, effects: map[string]string{},
	}
	for _, r := range f.Records {
		if r.Dir != transcript.In {
			continue
		}
		if msg, err := jsonrpc.Parse(r.Data); err == nil && msg.Kind == jsonrpc.Request {
			m.future = append(m.future, msg.Method)
		}
	}
	return m
}

func (m *rpcMapper) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// Notes implements Mapper.
func (m *rpcMapper) Notes() []string {
	notes := slices.Clone(m.notes)
	for _, s := range m.sent {
		if len(s.held) > 0 {
			notes = append(notes, fmt.Sprintf("the recorded answer to %s was not asked for", s.method))
		}
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// Said implements Mapper.
func (m *rpcMapper) Said(data []byte) []adapters.Command {
	msg, err := jsonrpc.Parse(bytes.Clone(data))
	if err != nil {
		m.note("the recorded client wrote %.60q, which no Protocol does", data)
		return nil
	}
	switch msg.Kind {
	case jsonrpc.Request:
		return m.saidRequest(msg)
	case jsonrpc.Notification:
		cmds := m.notification(msg)
		if cmds == nil && !m.quiet(msg.Method) {
			m.note("the recorded notification %s has no command", msg.Method)
		}
		return cmds
	default:
		return m.saidAnswer(msg)
	}
}

// quiet reports whether a notification is one that a Protocol sends by itself.
func (m *rpcMapper) quiet(method string) bool { return method == "initialized" }

func (m *rpcMapper) saidRequest(msg jsonrpc.Message) []adapters.Command {
	if len(m.future) > 0 {
		m.future = m.future[1:]
	}
	id := string(msg.ID)
	s := &theirs{method: msg.Method}
	m.sent[id] = s
	if early := m.early[msg.Method]; len(early) > 0 {
		s.ours, m.early[msg.Method] = early[0], early[1:]
		return nil
	}
	cmds, own := m.request(msg)
	if own || len(cmds) > 0 {
		m.wait[msg.Method] = append(m.wait[msg.Method], id)
	} else {
		m.note("the recorded request %s has no command", msg.Method)
	}
	return cmds
}

func (m *rpcMapper) saidAnswer(msg jsonrpc.Message) []adapters.Command {
	id := string(msg.ID)
	asked, ok := m.asked[id]
	if !ok {
		return nil
	}
	delete(m.asked, id)
	if effect, ok := m.effects[id]; ok {
		done := m.effect(asked, msg)
		done.ID = effect
		return []adapters.Command{done}
	}
	if !m.asks(asked.Method) {
		return nil // the Protocol answered it itself
	}
	ans := m.answer(asked, msg)
	key, ok := m.askKey[id]
	if !ok {
		m.answers[id] = ans
		return nil
	}
	ans.Ask = key
	return []adapters.Command{ans}
}

// Heard implements Mapper.
func (m *rpcMapper) Heard(f adapters.Frame) []adapters.Frame {
	same := []adapters.Frame{f}
	if f.Source != adapters.Stdout && f.Source != adapters.Socket || f.Dropped > 0 {
		return same
	}
	msg, err := jsonrpc.Parse(bytes.Clone(f.Data))
	switch {
	case err != nil:
		return same
	case msg.Kind == jsonrpc.Request:
		id := string(msg.ID)
		m.asked[id] = msg
		m.fresh = append(m.fresh, id)
		if m.asks(msg.Method) {
			m.askWait = append(m.askWait, id)
		}
		return same
	case msg.Kind != jsonrpc.Response:
		return same
	}
	s := m.sent[string(msg.ID)]
	switch {
	case s == nil:
		return same // to nothing the recorded client asked: the Protocol must cope
	case s.ours == nil:
		s.held = append(s.held, bytes.Clone(f.Data))
		return nil
	}
	f.Data = readdress(f.Data, msg.ID, s.ours)
	return []adapters.Frame{f}
}

// readdress replaces the top-level id of a message. from aliases a copy of data.
func readdress(data []byte, from, to rawjson.Value) []byte {
	v, err := rawjson.Parse(data)
	if err != nil {
		return data
	}
	out := []byte{'{'}
	for name, value := range v.Members() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(rawjson.AppendString(out, name), ':')
		if name == "id" && bytes.Equal(value, from) {
			value = to
		}
		out = append(out, value...)
	}
	return append(out, '}')
}

// Wrote implements Mapper.
func (m *rpcMapper) Wrote(data []byte) []adapters.Frame {
	msg, err := jsonrpc.Parse(bytes.Clone(data))
	if err != nil {
		return nil
	}
	id := string(msg.ID)
	switch msg.Kind {
	case jsonrpc.Response:
		m.askWait = slices.DeleteFunc(m.askWait, func(w string) bool { return w == id })
		return nil
	case jsonrpc.Notification:
		return nil
	}
	if wait := m.wait[msg.Method]; len(wait) > 0 {
		s := m.sent[wait[0]]
		m.wait[msg.Method] = wait[1:]
		s.ours = msg.ID
		var frames []adapters.Frame
		for _, held := range s.held {
			if answer, err := jsonrpc.Parse(held); err == nil {
				frames = append(frames, adapters.Frame{Data: readdress(held, answer.ID, msg.ID)})
			}
		}
		s.held = nil
		return frames
	}
	if m.comes(msg.Method) {
		m.early[msg.Method] = append(m.early[msg.Method], msg.ID)
		return nil
	}
	m.note("the recording does not answer %s", msg.Method)
	result, ok := m.plain(msg.Method)
	if !ok {
		data := jsonrpc.AppendError(nil, msg.ID, jsonrpc.MethodNotFound, "Method not found: "+msg.Method, nil)
		return []adapters.Frame{{Data: bytes.TrimSuffix(data, []byte("\n"))}}
	}
	return []adapters.Frame{{Data: bytes.TrimSuffix(jsonrpc.AppendResult(nil, msg.ID, []byte(result)), []byte("\n"))}}
}

// comes reports whether the recorded client makes a request of method before its
// next prompt.
func (m *rpcMapper) comes(method string) bool {
	for _, f := range m.future {
		if f == method {
			return true
		}
		if m.prompts(f) {
			return false
		}
	}
	return false
}

// Stepped implements Mapper.
func (m *rpcMapper) Stepped(s adapters.Step) []adapters.Command {
	for i, e := range s.Effects {
		if i < len(m.fresh) {
			m.effects[m.fresh[i]] = e.EffectID()
		}
	}
	m.fresh = nil
	var cmds []adapters.Command
	for _, d := range s.Emit {
		if d.Ask == "" || len(m.askWait) == 0 {
			continue
		}
		id := m.askWait[0]
		m.askWait = m.askWait[1:]
		m.askKey[id] = d.Ask
		if ans, ok := m.answers[id]; ok {
			delete(m.answers, id)
			ans.Ask = d.Ask
			cmds = append(cmds, ans)
		}
	}
	return cmds
}

// object writes a small JSON object of raw values.
func object(members ...string) jsontext.Value {
	out := []byte{'{'}
	for i := 0; i+1 < len(members); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strconv.AppendQuote(out, members[i]), ':')
		out = append(out, members[i+1]...)
	}
	return append(out, '}')
}
