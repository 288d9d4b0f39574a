package codex

import (
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// notification takes a notification. What belongs to a thread that is not ours is
// left out: the server also tells of threads that others opened.
func (p *protocol) notification(method string, params rawjson.Value) error {
	if global(method) {
		p.globalNotification(method, params)
		return nil
	}
	id := orElse(params.Get("threadId").Text(), params.Get("thread", "id").Text())
	th := p.threadOf(id)
	if th == nil && method == "turn/started" {
		th = p.adopt(params)
	}
	if th == nil && p.tui != nil && p.elsewhere(id, method, params) {
		return nil
	}
	if !known(method) {
		return fmt.Errorf("notification %q: want one of the documented ones", method)
	}
	if th == nil {
		return nil
	}
	return p.threadNotification(th, method, params)
}

// threadNotification takes a notification about one of our threads.
func (p *protocol) threadNotification(th *thread, method string, params rawjson.Value) error {
	turn := params.Get("turnId").Text()
	switch method {
	case "turn/started":
		p.turnStarted(th, params.Get("turn"))
	case "turn/completed":
		p.turnCompleted(th, params.Get("turn"))
	case "turn/plan/updated":
		p.planUpdated(th, params.Get("plan"))
	case "item/started":
		return p.item(th, params, false)
	case "item/completed":
		return p.item(th, params, true)
	case "item/agentMessage/delta", "item/plan/delta":
		p.textDelta(th, params, false, "")
	case "item/reasoning/summaryTextDelta":
		p.textDelta(th, params, true, "summaryIndex")
	case "item/reasoning/textDelta":
		p.textDelta(th, params, true, "contentIndex")
	case "item/commandExecution/outputDelta", "item/fileChange/outputDelta":
		p.outputDelta(th, params)
	case "item/commandExecution/terminalInteraction":
		p.typed(th, turn, params)
	case "turn/diff/updated":
		if th == p.root {
			p.diff = turnDiff{turn, params.Get("diff").Text()}
		}
	case "rawResponseItem/completed":
		p.settledByOutput(th, params.Get("item"))
		p.rawItem(th, turn, params.Get("item"))
	case "serverRequest/resolved":
		p.resolved(params)
	case "error":
		p.errorSeen(th, params)
	case "thread/tokenUsage/updated":
		p.tokenUsage(th, params)
	case "thread/settings/updated":
		if th == p.root {
			p.settingsUpdated(params)
		}
	case "thread/name/updated":
		if title := orElse(params.Get("threadName").Text(), params.Get("name").Text()); th == p.root && title != "" {
			p.learn().Title = title
		}
	default:
		p.threadNotice(th, method, params)
	}
	return nil
}

// threadNotice takes what the server tells people about a thread.
func (p *protocol) threadNotice(th *thread, method string, params rawjson.Value) {
	switch method {
	case "thread/closed":
		if p.tui != nil && th == p.root {
			return // the screen left it, and comes back with resume
		}
		if th != p.root {
			p.childStopped(th)
			return
		}
		p.notice(contract.ServiceError, contract.CodeAgentError, "The agent closed the session.")
	case "thread/reverted":
		if p.reverts > 0 {
			p.reverts-- // its outcome tells
			return
		}
		p.notice(contract.ServiceNotice, "", "The conversation was taken back to an earlier point. Files stay as they are.")
	case "model/rerouted":
		p.noticeOf(th.agent, contract.ServiceNotice, "", "The request went to the model "+params.Get("toModel").Text()+
			" instead of "+params.Get("fromModel").Text()+".")
	case "item/autoApprovalReview/completed":
		p.noticeOf(th.agent, contract.ServiceNotice, "", "Codex's own reviewer decided about a request: "+
			orElse(params.Get("review", "status").Text(), "unknown")+reason(params.Get("review", "rationale").Text()))
	case "guardianWarning":
		p.noticeOf(th.agent, contract.ServiceNotice, "", params.Get("message").Text())
	case "thread/goal/updated":
		if params.Get("goal", "status").Text() == "active" && integer(params.Get("goal", "tokensUsed")) == 0 {
			p.notice(contract.ServiceNotice, "", "The agent works on a goal of its own until it is done: "+params.Get("goal", "objective").Text())
		}
	}
}

func reason(why string) string {
	if why == "" {
		return "."
	}
	return ": " + why
}

// known are the notifications about threads that are understood, those that need
// nothing included.
func known(method string) bool {
	switch method {
	case "turn/started", "turn/completed", "turn/plan/updated", "item/started", "item/completed", "item/agentMessage/delta", "item/plan/delta",
		"item/reasoning/summaryTextDelta", "item/reasoning/textDelta", "item/commandExecution/outputDelta", "item/fileChange/outputDelta",
		"item/commandExecution/terminalInteraction", "turn/diff/updated", "rawResponseItem/completed", "serverRequest/resolved", "error", "thread/tokenUsage/updated", "thread/settings/updated",
		"thread/name/updated", "thread/closed", "thread/reverted", "model/rerouted", "item/autoApprovalReview/completed", "guardianWarning",
		"thread/goal/updated":
		return true
	}
	return quiet(method)
}

// quiet are the notifications that say nothing a stream needs: the state of the
// server's own interface, of other clients' tools, and what items say as well.
func quiet(method string) bool {
	switch method {
	case "thread/started", "thread/status/changed", "thread/readState/changed", "thread/archived", "thread/deleted", "thread/unarchived",
		"thread/section/changed", "thread/attachment/updated", "thread/prediction/updated", "thread/goal/cleared", "thread/queue/changed",
		"thread/project/updated", "thread/environment/connected", "thread/environment/disconnected", "thread/compacted", "thread/search/partial",
		"hook/started", "hook/completed", "turn/moderationMetadata", "item/autoApprovalReview/started",
		"autoApprovalReview/strictReviewRequired", "item/fileChange/patchUpdated",
		"item/mcpToolCall/progress", "item/reasoning/summaryPartAdded", "rawResponse/completed", "model/verification",
		"model/safetyBuffering/updated", "thread/realtime/started", "thread/realtime/itemAdded", "thread/realtime/item/started",
		"thread/realtime/item/transcript/delta", "thread/realtime/item/completed", "thread/realtime/transcript/delta",
		"thread/realtime/transcript/done", "thread/realtime/outputAudio/delta", "thread/realtime/sdp", "thread/realtime/error",
		"thread/realtime/closed":
		return true
	}
	return false
}

// global are the notifications that belong to no thread, or may.
func global(method string) bool {
	switch method {
	case "warning", "configWarning", "deprecationNotice", "account/rateLimits/updated", "mcpServer/startupStatus/updated",
		"windows/worldWritableWarning":
		return true
	case "skills/changed", "project/changed", "command/exec/outputDelta", "process/outputDelta", "process/exited",
		"mcpServer/oauthLogin/completed", "mcpServer/event/stream/notification", "account/updated", "account/gatewayOAuth/changed",
		"app/list/updated", "remoteControl/status/changed", "externalAgentConfig/import/progress",
		"externalAgentConfig/import/completed", "fs/changed", "modelProvider/authRecoveryStarted", "modelProvider/authRecoveryCompleted",
		"fuzzyFileSearch/sessionUpdated", "fuzzyFileSearch/sessionCompleted", "windowsSandbox/setupCompleted", "account/login/completed":
		return true
	}
	return false
}

func (p *protocol) globalNotification(method string, params rawjson.Value) {
	if id := params.Get("threadId").Text(); id != "" && p.root.id != "" && p.threadOf(id) == nil {
		return
	}
	if p.tui != nil && p.tui.again && (method == "configWarning" || method == "deprecationNotice") {
		return // it is told on each connection
	}
	switch method {
	case "warning":
		p.notice(contract.ServiceNotice, "", params.Get("message").Text())
	case "configWarning", "deprecationNotice":
		text := params.Get("summary").Text()
		if more := params.Get("details").Text(); more != "" {
			text += "\n" + more
		}
		p.notice(contract.ServiceNotice, "", text)
	case "mcpServer/startupStatus/updated":
		if params.Get("status").Text() == "failed" {
			p.notice(contract.ServiceError, contract.CodeAgentError, "The MCP server "+params.Get("name").Text()+" did not start"+
				reason(params.Get("error").Text()))
		}
	case "account/rateLimits/updated":
		p.rateLimits(params.Get("rateLimits"))
	}
}

// rateLimits takes the state of a subscription's limits. Only one that is used up
// concerns people, once.
func (p *protocol) rateLimits(v rawjson.Value) {
	kind := v.Get("rateLimitReachedType").Text()
	if kind == p.facts.limited {
		return
	}
	p.facts.limited = kind
	if kind == "" {
		return
	}
	text := "A usage limit is used up (" + strings.ReplaceAll(kind, "_", " ") + ")."
	if at := integer(v.Get("primary", "resetsAt")); at > 0 {
		text += " It starts anew at " + time.Unix(at, 0).UTC().Format("2006-01-02 15:04 UTC") + "."
	}
	p.notice(contract.ServiceError, contract.CodeQuotaExceeded, text)
}

// planUpdated takes the agent's plan.
func (p *protocol) planUpdated(th *thread, plan rawjson.Value) {
	if th != p.root || plan.Kind() != rawjson.Array {
		return
	}
	list := []adapters.PlanEntry{}
	for e := range plan.Elements() {
		status := "pending"
		switch e.Get("status").Text() {
		case "inProgress":
			status = "in_progress"
		case "completed":
			status = "completed"
		}
		list = append(list, adapters.PlanEntry{Content: e.Get("step").Text(), Status: status})
	}
	p.learn().Plan = list
}
