package host

import (
	"fmt"
	"iter"
	"slices"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/journal"
)

// conversation is what the agent remembers of a session, as far as its stream and
// its rewinds tell: where each message of the user stands among the answers.
type conversation struct {
	// items are the messages of the user (id) and the answers (origin), in order.
	items []item
	// base is the origin that lies before the first item, empty when not known.
	base string
	// at has for each envelope of the agent the origin of the last answer then.
	at map[string]string
	// texts has the messages of the user, also those that were rewound away.
	texts map[string]string

	pending []string // messages that no turn took up
	rewinds []Rewind // to come
}

// item is a message of the user or an answer: one of its fields is set.
type item struct{ id, origin string }

// readConversation reads a stream. base is what a branch starts with.
func readConversation(records iter.Seq2[journal.Record, error], rewinds []Rewind, base string) (*conversation, error) {
	c := &conversation{base: base, at: map[string]string{}, texts: map[string]string{}, rewinds: rewinds}
	for r, err := range records {
		if err != nil {
			return nil, fmt.Errorf("reading the session's journal: %w", err)
		}
		c.rewind(r.Position)
		c.take(r.Envelope)
	}
	c.rewind(-1)
	return c, nil
}

// rewind takes out what was rewound before a position; all that is left for -1.
func (c *conversation) rewind(p journal.Position) {
	for len(c.rewinds) > 0 && (p < 0 || c.rewinds[0].Position <= p) {
		c.cut(c.rewinds[0].Origin)
		c.rewinds = c.rewinds[1:]
	}
}

// cut takes out what comes after an answer; everything when the answer is older
// than the stream.
func (c *conversation) cut(origin string) {
	for i := len(c.items) - 1; i >= 0; i-- {
		if c.items[i].origin == origin {
			c.items = slices.Clip(c.items[:i+1])
			return
		}
	}
	c.items, c.base = nil, origin
}

func (c *conversation) take(e contract.Envelope) {
	switch ev := e.Event.(type) {
	case contract.Text:
		if e.Role != contract.RoleUser {
			c.answer(e)
			return
		}
		c.texts[e.ID] = ev.Text
		if ev.Steer {
			c.items = append(c.items, item{id: e.ID})
		} else {
			c.pending = append(c.pending, e.ID)
		}
		return
	case contract.ToolCallStart:
		c.answer(e)
		return
	case contract.TurnStart:
		for _, id := range ev.Prompts {
			c.items = append(c.items, item{id: id})
			c.pending = slices.DeleteFunc(c.pending, func(p string) bool { return p == id })
		}
	case contract.Service:
		if ev.Code == contract.CodeHostStopped {
			c.pending = nil
		}
	}
	if e.Role != contract.RoleUser {
		c.at[e.ID] = c.last()
	}
}

// answer takes an envelope of the agent that can be a point to go back to.
func (c *conversation) answer(e contract.Envelope) {
	if e.Origin != "" && e.Subagent == "" {
		c.items = append(c.items, item{origin: e.Origin})
	}
	c.at[e.ID] = c.last()
}

// last is the origin of the last answer, empty when there is none.
func (c *conversation) last() string { return c.before(len(c.items)) }

func (c *conversation) before(i int) string {
	for i--; i >= 0; i-- {
		if c.items[i].origin != "" {
			return c.items[i].origin
		}
	}
	return c.base
}

// point fills in where a rewind or fork goes: "at" of an envelope becomes its
// origin, and "to" gives an "at" when none was named. Ids that are none of the
// stream's are the agent's own and stay.
func (c *conversation) point(p opParams) (opParams, error) {
	if origin, ok := c.at[p.At]; ok && p.At != "" {
		if origin == "" {
			return p, fmt.Errorf("params.at: before %q there is no answer to go back to", p.At)
		}
		p.At = origin
		return p, nil
	}
	if _, message := c.texts[p.At]; message && p.To == "" {
		p.To, p.At = p.At, ""
	}
	if _, message := c.texts[p.To]; !message || p.At != "" {
		return p, nil
	}
	i := slices.IndexFunc(c.items, func(it item) bool { return it.id == p.To })
	if i < 0 && !slices.Contains(c.pending, p.To) {
		return p, fmt.Errorf("params.to: the message %q is not part of the agent's conversation: it was rewound or never sent", p.To)
	}
	if i < 0 {
		i = len(c.items)
	}
	p.At = c.before(i)
	return p, nil
}

// conversation reads the session's own.
func (s *Session) conversation() (*conversation, error) {
	return readConversation(s.journal.Read(s.journal.Oldest(), s.journal.End()), s.meta.Rewinds, s.meta.Origin)
}
