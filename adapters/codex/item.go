package codex

import (
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// The types of items that are treated specially.
const (
	itemCommand = "commandExecution"
	itemFiles   = "fileChange"
	itemMCP     = "mcpToolCall"
	itemCollab  = "collabAgentToolCall"
	itemAgent   = "subAgentActivity"
)

// item takes the start or the end of an item.
func (p *protocol) item(th *thread, params rawjson.Value, done bool) error {
	turn, it := params.Get("turnId").Text(), params.Get("item")
	id := it.Get("id").Text()
	if id == "" {
		return fmt.Errorf("item of type %q: want an id", it.Get("type").Text())
	}
	if th != p.root && !th.started {
		if done && th.turn == "" {
			// What a stopped sub-agent left running ends now.
			p.lateCommand(th, it)
			return nil
		}
		p.startChild(th, "")
	}
	p.alive(th)
	switch kind := it.Get("type").Text(); kind {
	case "userMessage":
		if !done {
			p.userMessage(th, turn, it)
		}
	case "agentMessage", "plan", "reasoning":
		p.textItem(th, turn, it, kind, done)
	case "contextCompaction":
		p.compaction(th, done)
	case "enteredReviewMode", "exitedReviewMode", "hookPrompt":
		p.reviewItem(th, it, kind, done)
	case itemCommand, itemFiles, itemMCP, "dynamicToolCall", itemCollab, itemAgent, "webSearch", "imageView", "imageGeneration", "sleep":
		p.callItem(th, turn, it, kind, done)
	case "functionCallOutput":
		// The answer to a call that another client's tool gave; the model sees it.
	default:
		return fmt.Errorf("item of type %q: want one of the documented ones", kind)
	}
	return nil
}

// textItem takes a text. Of its start only the place is kept.
func (p *protocol) textItem(th *thread, turn string, it rawjson.Value, kind string, done bool) {
	id := it.Get("id").Text()
	if !done {
		if p.speaks(th) {
			th.begin(turn, id, kind == "reasoning")
		}
		return
	}
	if th == p.root && (!p.turn.open || turn != "" && !p.turn.is(turn)) {
		// A straggler of a turn that the stream has closed: what was streamed of it
		// has been kept.
		th.forget(id)
		return
	}
	if kind == "reasoning" {
		p.say(th, turn, it, reasoningText(it), true)
		return
	}
	text := it.Get("text").Text()
	if th == p.root && strings.TrimSpace(text) == p.turn.review {
		p.turn.review = ""
	}
	p.say(th, turn, it, text, false)
}

// compaction takes the conversation's compaction, asked for or not.
func (p *protocol) compaction(th *thread, done bool) {
	if th == p.root {
		p.turn.compacts = !done
	}
	if !done {
		return
	}
	if th == p.root {
		p.turn.compacted = true
	}
	p.noticeOf(th.agent, contract.ServiceCompaction, "", "The conversation was compacted.")
}

// reviewItem takes the borders of a review, and what a hook put into the prompt.
// The findings of a review come as a message after it; should that be missing, they
// are told at the end of the turn.
func (p *protocol) reviewItem(th *thread, it rawjson.Value, kind string, done bool) {
	switch {
	case kind == "enteredReviewMode" && !done:
		p.noticeOf(th.agent, contract.ServiceNotice, "", "A review began.")
	case kind == "exitedReviewMode" && done:
		p.noticeOf(th.agent, contract.ServiceNotice, "", "The review is over.")
		if th == p.root && p.turn.open {
			p.turn.review = strings.TrimSpace(it.Get("review").Text())
		}
	case kind == "hookPrompt" && done:
		p.noticeOf(th.agent, contract.ServiceNotice, "", "A hook added to the prompt.")
	}
}
