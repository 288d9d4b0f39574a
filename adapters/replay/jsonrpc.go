package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// framing reads and writes the messages of a wire as JSON-RPC's three kinds.
type framing interface {
	parse(data []byte) (jsonrpc.Message, error)
	// readdress replaces the id of an answer.
	readdress(data []byte, from, to rawjson.Value) []byte
	// result and noMethod make an answer to a request, without a line end.
	result(id rawjson.Value, result string) []byte
	noMethod(id rawjson.Value, method string) []byte
}

// dialect is what is particular about one protocol on top of requests, answers
// and notifications.
type dialect interface {
	framing
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
	// mark is an id that the client made up and that the agent repeats in other
	// messages, empty when the message has none.
	mark(m jsonrpc.Message) string
	// silent reports whether a Protocol sends this notification by itself.
	silent(method string) bool
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
	// come.
	future []string

	sent  map[string]*theirs  // by the recorded id
	own   map[string]bool     // recorded ids of requests that a Protocol makes by itself, and has not
	wait  map[string][]string // recorded ids whose request the Protocol still has to make, by method
	early map[string][][]byte // ids of the Protocol's requests that the recorded client makes later, by method

	asked   map[string]jsonrpc.Message // open requests of the agent, by id
	askWait []string                   // ids of those that ask and have no Ask yet
	askKey  map[string]string          // their Asks
	answers map[string]adapters.Answer // answers that wait for their Ask
	fresh   []string                   // ids of requests since the last Step
	effects map[string]string          // Effect ids by request id

	marks   map[string][]string // marks of the recorded client's messages that the Protocol still has to send, by method
	renamed []string            // pairs of quoted marks: the recorded client's, ours

	notes []string
}

func newRPCMapper(d dialect, f transcript.File) *rpcMapper {
	m := &rpcMapper{
		dialect: d, sent: map[string]*theirs{}, own: map[string]bool{}, wait: map[string][]string{}, early: map[string][][]byte{},
		asked: map[string]jsonrpc.Message{}, askKey: map[string]string{},
		answers: map[string]adapters.Answer{}, effects: map[string]string{}, marks: map[string][]string{},
	}
	for _, r := range f.Records {
		if r.Dir != transcript.In {
			continue
		}
		if msg, err := d.parse(r.Data); err == nil && msg.Kind == jsonrpc.Request {
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
	msg, err := m.parse(bytes.Clone(data))
	if err != nil {
		m.note("the recorded client wrote %.60q, which no Protocol does", data)
		return nil
	}
	switch msg.Kind {
	case jsonrpc.Request:
		return m.saidRequest(msg)
	case jsonrpc.Notification:
		m.saidMark(msg)
		cmds := m.notification(msg)
		if cmds == nil && !m.silent(msg.Method) {
			m.note("the recorded notification %s has no command", msg.Method)
		}
		return cmds
	default:
		return m.saidAnswer(msg)
	}
}

// saidMark remembers a mark until the Protocol sends a message of that method.
func (m *rpcMapper) saidMark(msg jsonrpc.Message) {
	if mark := m.mark(msg); mark != "" {
		m.marks[msg.Method] = append(m.marks[msg.Method], mark)
	}
}

// wroteMark pairs the Protocol's mark with the recorded client's.
func (m *rpcMapper) wroteMark(msg jsonrpc.Message) {
	waiting := m.marks[msg.Method]
	if len(waiting) == 0 {
		return
	}
	if ours := m.mark(msg); ours != "" {
		m.renamed = append(m.renamed, strconv.Quote(waiting[0]), strconv.Quote(ours))
	}
	m.marks[msg.Method] = waiting[1:]
}

func (m *rpcMapper) saidRequest(msg jsonrpc.Message) []adapters.Command {
	if len(m.future) > 0 {
		m.future = m.future[1:]
	}
	id := string(msg.ID)
	s := &theirs{method: msg.Method}
	m.sent[id] = s
	m.saidMark(msg)
	if early := m.early[msg.Method]; len(early) > 0 {
		s.ours, m.early[msg.Method] = early[0], early[1:]
		return nil
	}
	cmds, own := m.request(msg)
	if own {
		m.own[id] = true
	}
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
	if len(m.renamed) > 0 {
		f.Data = []byte(strings.NewReplacer(m.renamed...).Replace(string(f.Data)))
		same[0] = f
	}
	msg, err := m.parse(bytes.Clone(f.Data))
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
	f.Data = m.readdress(f.Data, msg.ID, s.ours)
	return []adapters.Frame{f}
}

// Wrote implements Mapper.
func (m *rpcMapper) Wrote(data []byte) []adapters.Frame {
	msg, err := m.parse(bytes.Clone(data))
	if err != nil {
		return nil
	}
	id := string(msg.ID)
	if msg.Kind != jsonrpc.Response {
		m.wroteMark(msg)
	}
	switch msg.Kind {
	case jsonrpc.Response:
		m.askWait = slices.DeleteFunc(m.askWait, func(w string) bool { return w == id })
		return nil
	case jsonrpc.Notification:
		return nil
	}
	if wait := m.wait[msg.Method]; len(wait) > 0 {
		s := m.sent[wait[0]]
		delete(m.own, wait[0])
		m.wait[msg.Method] = wait[1:]
		s.ours = msg.ID
		var frames []adapters.Frame
		for _, held := range s.held {
			if answer, err := m.parse(held); err == nil {
				frames = append(frames, adapters.Frame{Data: m.readdress(held, answer.ID, msg.ID)})
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
	if result, ok := m.plain(msg.Method); ok {
		return []adapters.Frame{{Data: m.result(msg.ID, result)}}
	}
	return []adapters.Frame{{Data: m.noMethod(msg.ID, msg.Method)}}
}

// Behind implements Mapper.
func (m *rpcMapper) Behind() bool { return len(m.own) > 0 }

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

// rpcFraming is the framing of JSON-RPC itself.
type rpcFraming struct{}

func (rpcFraming) parse(data []byte) (jsonrpc.Message, error) { return jsonrpc.Parse(data) }

func (rpcFraming) readdress(data []byte, from, to rawjson.Value) []byte {
	return replaceMember(data, "id", from, to)
}

func (rpcFraming) result(id rawjson.Value, result string) []byte {
	return bytes.TrimSuffix(jsonrpc.AppendResult(nil, id, []byte(result)), []byte("\n"))
}

func (rpcFraming) noMethod(id rawjson.Value, method string) []byte {
	b := jsonrpc.AppendError(nil, id, jsonrpc.MethodNotFound, "Method not found: "+method, nil)
	return bytes.TrimSuffix(b, []byte("\n"))
}

// replaceMember replaces the value of an object's own member, where it is from.
func replaceMember(data []byte, member string, from, to rawjson.Value) []byte {
	v, err := rawjson.Parse(data)
	if err != nil || v.Kind() != rawjson.Object {
		return data
	}
	out := []byte{'{'}
	for name, value := range v.Members() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(rawjson.AppendString(out, name), ':')
		if name == member && bytes.Equal(value, from) {
			value = to
		}
		out = append(out, value...)
	}
	return append(out, '}')
}
