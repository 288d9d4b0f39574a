package claude

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agenthost/agenthost/contract"
)

// status takes a change of what the CLI does.
func (p *protocol) status(m message) {
	p.modeSeen(m.text("permissionMode"))
	if m.text("compact_result") == "failed" {
		why := m.text("compact_error")
		if why == "" {
			why = "no reason was given"
		}
		p.notice(contract.ServiceError, contract.CodeAgentError, "The conversation could not be compacted: "+why)
		p.compactFailed(why)
	}
}

// compactBoundary takes the end of a compaction. It is told once: neither the
// status lines around it nor the summary that follows are.
func (p *protocol) compactBoundary(m message) {
	p.turn.compacted = true
	meta := m.Get("compact_metadata")
	text := "The conversation was compacted"
	if meta.Get("trigger").Text() == "auto" {
		text += " because the context was full"
	}
	if before := integer(meta.Get("pre_tokens")); before > 0 {
		text += fmt.Sprintf(": %d tokens", before)
		if after := integer(meta.Get("post_tokens")); after > 0 {
			text += fmt.Sprintf(" became %d", after)
			p.meter.context = after
		}
	}
	p.notice(contract.ServiceCompaction, "", text+".")
}

// apiRetry takes a failed request that the CLI repeats. What was streamed of it is
// void: the next message has another id.
func (p *protocol) apiRetry(m message) {
	status := int(integer(m.Get("error_status")))
	code := errorCode("", m.text("error"), status, "")
	if status == 0 && (code == contract.CodeAgentError || code == contract.CodeOverloaded) {
		code = contract.CodeNetwork
	}
	why := strings.ReplaceAll(m.text("error"), "_", " ")
	if status != 0 {
		why = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
	}
	if why == "" || why == "unknown" {
		why = "no answer"
	}
	delay := time.Duration(integer(m.Get("retry_delay_ms"))) * time.Millisecond
	p.notice(contract.ServiceRetry, code, fmt.Sprintf("The model's service failed (%s). Attempt %d of %d in %s.",
		why, integer(m.Get("attempt")), integer(m.Get("max_retries")), delay.Round(100*time.Millisecond)))
}

// permissionDenied takes a refusal that the CLI decided itself.
func (p *protocol) permissionDenied(m message) {
	why := m.text("decision_reason")
	if why == "" {
		why = m.text("message")
	}
	agent := ""
	if m.agent != "" {
		agent = p.agentOf(m)
	}
	text := fmt.Sprintf("The agent refused %s without asking: %s", toolName(m.text("tool_name")), why)
	p.noticeOf(agent, contract.ServiceNotice, "", text)
}

// systemNotice takes what the CLI tells its user in words. Hints of the lowest
// level are left out: the CLI itself shows them in its debug view only.
func (p *protocol) systemNotice(m message) {
	kind, code, text := contract.ServiceNotice, contract.ErrorCode(""), m.text("content")
	switch m.subtype {
	case "informational":
		if m.text("level") == "info" || m.Get("level").Kind() == 0 {
			return
		}
	case "notification":
		text = m.text("text")
		if priority := m.text("priority"); priority == "low" {
			return
		}
	case "local_command_output":
		if p.turn.open {
			p.turn.local = strings.TrimSpace(text)
			return
		}
	case "model_refusal_fallback", "model_refusal_no_fallback":
		kind, code = contract.ServiceError, contract.CodeRefusal
	case "session_writes_lost":
		kind, code = contract.ServiceError, contract.CodeAgentError
		text = "The agent could not save its session (" + m.text("error_code") + "): resuming it may miss a part."
	case "mirror_error":
		kind, code, text = contract.ServiceError, contract.CodeAgentError, m.text("error")
	case "worker_shutting_down":
		text = "The agent is shutting down: " + m.text("reason")
	}
	if text != "" {
		p.notice(kind, code, text)
	}
}

// rateLimit takes the state of a subscription's limits. Only one that is nearly
// or quite used up concerns people.
func (p *protocol) rateLimit(m message) {
	info := m.Get("rate_limit_info")
	switch info.Get("status").Text() {
	case "rejected":
		p.notice(contract.ServiceError, contract.CodeQuotaExceeded, "A usage limit is used up."+resets(integer(info.Get("resetsAt"))))
	case "allowed_warning":
		p.notice(contract.ServiceNotice, contract.CodeQuotaExceeded, "A usage limit is nearly used up."+resets(integer(info.Get("resetsAt"))))
	}
}

// resets says when a limit starts anew; at is Unix time in seconds.
func resets(at int64) string {
	if at <= 0 {
		return ""
	}
	return " It starts anew at " + time.Unix(at, 0).UTC().Format("2006-01-02 15:04 UTC") + "."
}

// authStatus takes the progress of a login.
func (p *protocol) authStatus(m message) {
	if why := m.text("error"); why != "" {
		p.notice(contract.ServiceError, contract.CodeAuthRequired, why)
		return
	}
	if out := texts(m.Get("output")); len(out) > 0 {
		p.notice(contract.ServiceNotice, contract.CodeAuthRequired, strings.Join(out, "\n"))
	}
}
