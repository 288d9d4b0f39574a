package codex

import (
	"errors"
	"fmt"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// fork branches the session off. One process serves one session, so the result
// says what to launch: {"newProcess":true,"fork":thread,"forkAt":turn}.
//
// Params: {"at": origin of the last answer to keep, none for the end}. Codex
// divides a conversation between turns: all of the answer's turn is kept.
func (p *protocol) fork(id string, params rawjson.Value) error {
	at := turnOf(orElse(params.Get("at").Text(), params.Get("lastTurnId").Text()))
	if to := params.Get("to").Text(); to != "" && at == "" {
		return fmt.Errorf("codex: fork: params.to: there is no answer before %q to go on from", to)
	}
	p.succeed(id, new(object).flag("newProcess", true).str("fork", p.root.id).text("forkAt", at).value())
	return nil
}

// cutPoint is where a conversation is cut.
type cutPoint struct {
	// to is the message that begins the first turn to drop: its envelope id, or the
	// native id of the turn. at is the turn of the last answer to keep.
	to, at string
	// dry says that only the point is wanted.
	dry bool
	// newer is the turn that was looked at last, the oldest of those to drop.
	newer string
	pages int
}

// rewind takes the conversation back to where a turn began. Files stay as they
// are: Codex keeps no copies.
//
// Params: {"to": envelope id of the message of the user that began the turn, or
// the turn's native id; "at": origin of the last answer to keep, all of whose turn
// is kept, for when "to" is not given or no turn took it up; "what": "conversation"
// (default); "dryRun": bool}. Result: {"conversation":true,"files":false,"turn":the
// first that is dropped, left out when there is none}.
func (p *protocol) rewind(id string, params rawjson.Value) error {
	if what := params.Get("what").Text(); what != "" && what != "conversation" {
		return fmt.Errorf("codex: rewind: params.what: want conversation, got %q: Codex keeps no copies of files", what)
	}
	c := &cutPoint{
		to: orElse(params.Get("to").Text(), params.Get("beforeTurnId").Text()), at: turnOf(params.Get("at").Text()),
		dry: params.Get("dryRun").True(),
	}
	switch {
	case c.to == "" && c.at == "":
		return errors.New("codex: rewind: params.to: want the id of a message of the user")
	case p.turn.open:
		return errors.New("codex: rewind: a turn runs: stop it first")
	}
	p.findTurn(id, c, "")
	return nil
}

// maxPages bounds how far back a message is looked for, pageSize turns at a time.
const (
	maxPages = 50
	pageSize = 50
)

// findTurn looks a point up in the thread's history, page by page, the newest turn
// first.
func (p *protocol) findTurn(id string, c *cutPoint, cursor string) {
	params := new(object).str("threadId", p.root.id).str("itemsView", "full").num("limit", pageSize).text("cursor", cursor)
	p.request("thread/turns/list", params.value(), func(r reply) {
		if r.err != nil {
			p.fail(id, *r.err)
			return
		}
		for t := range r.result.Get("data").Elements() {
			turn := t.Get("id").Text()
			switch begins, in := c.holds(t); {
			case begins:
				p.revert(id, turn, c.dry)
				return
			case in:
				p.fail(id, wireError{contract.CodeInvalidRequest, "the message " + c.to +
					" went to a turn that ran already, and Codex takes a conversation back by whole turns"})
				return
			case turn == c.at && turn != "":
				p.revert(id, c.newer, c.dry)
				return
			}
			c.newer = turn
		}
		next := r.result.Get("nextCursor").Text()
		if c.pages++; next == "" || c.pages >= maxPages {
			p.fail(id, wireError{contract.CodeInvalidRequest, "the conversation has no message " + orElse(c.to, c.at)})
			return
		}
		p.findTurn(id, c, next)
	})
}

// holds reports whether the message of a point begins a turn, and whether it is in
// the turn at all.
func (c *cutPoint) holds(turn rawjson.Value) (begins, in bool) {
	if c.to == "" {
		return false, false
	}
	if turn.Get("id").Text() == turnOf(c.to) {
		return true, true
	}
	first := true
	for it := range turn.Get("items").Elements() {
		if it.Get("type").Text() == "userMessage" && it.Get("clientId").Text() == c.to {
			return first, true
		}
		first = false
	}
	return false, false
}

// revert drops a turn and those after it; none when there is no turn.
func (p *protocol) revert(id, turn string, dry bool) {
	result := new(object).flag("conversation", true).flag("files", false).text("turn", turn).value()
	if turn == "" || dry {
		p.succeed(id, result)
		return
	}
	p.reverts++
	params := new(object).str("threadId", p.root.id).str("beforeTurnId", turn).value()
	p.request("thread/revert", params, func(r reply) {
		if r.err != nil {
			p.reverts--
			p.fail(id, *r.err)
			return
		}
		// The server has read the thread anew, without what was changed meanwhile.
		p.facts.resend = true
		p.succeed(id, result)
	})
}
