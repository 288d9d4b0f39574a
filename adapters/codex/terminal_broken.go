package codex

import (
	"slices"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// What follows mends a connection to the server that broke: the server drops a
// client that does not read for long. What was said meanwhile is in the thread's
// history, and what it waits for is asked anew.

// maxMissed is how many turns may pass while the connection is down without one
// being lost, which is told.
const maxMissed = 20

// newestTurn asks for the newest turn of a thread without what it holds.
func newestTurn() []byte {
	return []byte(`{"limit":1,"itemsView":"full","sortDirection":"desc"}`)
}

func brokenReply() reply {
	return reply{err: &wireError{contract.CodeNetwork, "the connection to the agent broke before it answered"}, broken: true}
}

// reconnected takes a new connection: the server knows nothing of us on it.
func (p *protocol) reconnected() {
	p.tui.down = true
	for _, w := range p.requests.Drain() {
		w.Value.got(brokenReply())
	}
	p.tui.down = false
	p.tui.again = true
	if !p.open.ok {
		return // the start has failed
	}
	for _, a := range p.asks {
		a.stale = true
	}
	p.initialize(func(r reply) {
		if r.err != nil {
			p.giveUp(r)
			return
		}
		p.write(initializedLine())
		params := new(object).str("threadId", p.root.id).flag("excludeTurns", true).
			raw("initialTurnsPage", new(object).num("limit", maxMissed).str("itemsView", "full").str("sortDirection", "desc").value()).value()
		p.request("thread/resume", params, p.rejoined)
		for _, id := range p.tui.order {
			p.request("thread/resume", joinParams(id), func(reply) {})
		}
	})
}

// giveUp ends a child that does not take us back.
func (p *protocol) giveUp(r reply) {
	if !r.broken && !p.gone {
		p.step.Stop = "it does not take the host back after the connection broke: " + r.err.message
	}
}

// rejoined takes the session's thread as it is now.
func (p *protocol) rejoined(r reply) {
	p.tui.again = false
	if r.err != nil {
		p.giveUp(r)
		return
	}
	p.notice(contract.ServiceReconnect, "", "The connection to the agent broke and stands again.")
	p.toldSettings(r.result)
	p.catchUp(p.missed(r.result))
	for _, in := range p.inputs {
		if in.turn == "" {
			in.sent = false // it has not come to the thread
		}
	}
	if p.turn.open && p.turn.aborted {
		p.interrupt(p.root.id, p.turn.id)
	}
	p.sendNext()
	// The server repeats what it waits for right behind its answer, so that all of it
	// is here when it answers once more.
	p.request("thread/loaded/list", nil, func(r reply) {
		if r.broken || p.gone {
			return
		}
		p.asks = slices.DeleteFunc(p.asks, func(a *ask) bool {
			if a.stale {
				p.answeredThere(a)
			}
			return a.stale
		})
	})
}

// turnsOf are the turns of an answer to thread/resume, the oldest first.
func turnsOf(result rawjson.Value) []rawjson.Value {
	list := slices.Collect(result.Get("initialTurnsPage", "data").Elements())
	slices.Reverse(list)
	return list
}

// seenTurns notes the newest turn of a thread that is over: it is not the stream's.
func (p *protocol) seenTurns(result rawjson.Value) {
	for _, t := range turnsOf(result) {
		if t.Get("status").Text() != "inProgress" {
			p.lastTurn = t.Get("id").Text()
		}
	}
}

// missed are the turns that the stream lacks, wholly or in part.
func (p *protocol) missed(result rawjson.Value) []rawjson.Value {
	list := turnsOf(result)
	if p.turn.open {
		i := slices.IndexFunc(list, func(t rawjson.Value) bool { return p.turn.is(t.Get("id").Text()) })
		if i >= 0 {
			return list[i:]
		}
		if result.Get("thread", "status", "type").Text() == "active" {
			return nil // it has only just begun
		}
		p.closeTurn(failedTurn(wireError{contract.CodeNetwork, "the end of the turn was lost with the connection"}))
	}
	i := slices.IndexFunc(list, func(t rawjson.Value) bool { return t.Get("id").Text() == p.lastTurn })
	if i < 0 && p.lastTurn != "" && len(list) > 0 {
		p.notice(contract.ServiceError, contract.CodeNetwork, "Turns before these were lost with the connection.")
	}
	return list[i+1:]
}

// catchUp tells turns from the thread's history.
func (p *protocol) catchUp(turns []rawjson.Value) {
	for _, t := range turns {
		id := t.Get("id").Text()
		for it := range t.Get("items").Elements() {
			for _, in := range p.inputs {
				if in.sent && in.turn == "" && in.id == it.Get("clientId").Text() {
					in.turn = id
				}
			}
		}
		p.turnStarted(p.root, t)
		for it := range t.Get("items").Elements() {
			p.caught(id, it)
		}
		if status := t.Get("status").Text(); status != "inProgress" {
			p.turnCompleted(p.root, t)
		}
	}
}

// caught takes an item of the history that the stream may have.
func (p *protocol) caught(turn string, it rawjson.Value) {
	th := p.root
	id := it.Get("id").Text()
	switch kind := it.Get("type").Text(); kind {
	case "userMessage":
		if !p.turn.said[id] {
			p.userMessage(th, turn, it)
		}
	case "agentMessage", "plan", "reasoning":
		if !p.turn.said[id] {
			p.textItem(th, turn, it, kind, true)
		}
	case "contextCompaction":
		if !p.turn.compacted {
			p.compaction(th, true)
		}
	case itemCommand, itemFiles, itemMCP, "dynamicToolCall", itemCollab, itemAgent, "webSearch", "imageView", "imageGeneration", "sleep":
		if c := th.calls[id]; id == "" || th.finished[id] || c != nil && c.ended {
			return
		}
		p.callItem(th, turn, it, kind, it.Get("status").Text() != "inProgress")
	}
}
