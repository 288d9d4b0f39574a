package claude

import (
	"strings"

	"github.com/agenthost/agenthost/contract"
)

// wireError is a failure on its way to the stream.
type wireError struct {
	code    contract.ErrorCode
	message string
}

func (e wireError) contract() *contract.Error {
	if e.message == "" {
		e.message = string(e.code)
	}
	return &contract.Error{Code: e.code, Message: e.message}
}

func (e wireError) Error() string { return e.message }

// failure is an API error as the CLI words it in a synthetic message.
type failure struct {
	kind   string // SDKAssistantMessageError
	status int    // HTTP, 0 when none
	text   string
}

func (f *failure) code() contract.ErrorCode { return errorCode("", f.kind, f.status, f.text) }

// resultError is why a turn failed.
func (p *protocol) resultError(m message) wireError {
	status := int(integer(m.Get("api_error_status")))
	kind, text := "", resultMessage(m)
	if f := p.turn.failure; f != nil {
		kind = f.kind
		if status == 0 {
			status = f.status
		}
		if text == "" {
			text = f.text
		}
	}
	reason := m.text("terminal_reason")
	if reason == "" || reason == "api_error" {
		reason = reasonOf(m.subtype, reason)
	}
	if m.text("stop_reason") == "refusal" {
		return wireError{contract.CodeRefusal, text}
	}
	return wireError{errorCode(reason, kind, status, text), text}
}

// reasonOf gives the terminal reason that a subtype stands for.
func reasonOf(subtype, reason string) string {
	switch subtype {
	case "error_max_turns":
		return "max_turns"
	case "error_max_budget_usd":
		return "budget_exhausted"
	}
	return reason
}

// errorCode maps what is known of a failure, the most telling first: the
// terminal reason, the kind of API error, the HTTP status, the wording.
func errorCode(reason, kind string, status int, text string) contract.ErrorCode {
	if code, ok := reasonCode(reason); ok {
		return code
	}
	if code, ok := wordingCode(text, status); ok {
		return code
	}
	if code, ok := kindCode(kind); ok {
		return code
	}
	if code, ok := contract.CodeOfStatus(status); ok {
		return code
	}
	return contract.CodeAgentError
}

// reasonCode maps TerminalReason of the SDK.
func reasonCode(reason string) (contract.ErrorCode, bool) {
	switch reason {
	case "max_turns":
		return contract.CodeMaxTurns, true
	case "budget_exhausted":
		return contract.CodeQuotaExceeded, true
	case "prompt_too_long", "blocking_limit", "rapid_refill_breaker":
		return contract.CodeContextFull, true
	case "image_error":
		return contract.CodeInvalidRequest, true
	}
	return "", false
}

// kindCode maps SDKAssistantMessageError of the SDK.
func kindCode(kind string) (contract.ErrorCode, bool) {
	switch kind {
	case "authentication_failed", "oauth_org_not_allowed", "account_on_hold", "verification_required", "cloud_credential_error":
		return contract.CodeAuthRequired, true
	case "billing_error":
		return contract.CodeQuotaExceeded, true
	case "rate_limit":
		return contract.CodeRateLimited, true
	case "overloaded", "server_error":
		return contract.CodeOverloaded, true
	case "invalid_request", "model_not_found":
		return contract.CodeInvalidRequest, true
	case "max_output_tokens":
		return contract.CodeMaxTokens, true
	}
	return "", false
}

// wording is a phrase of the CLI, in lower case, that says more than a status.
type wording struct {
	code    contract.ErrorCode
	phrases []string
	// bare says that it counts only without an HTTP status: a status comes with
	// the service's own text, which may hold anything.
	bare bool
}

func wordings() []wording {
	return []wording{
		{contract.CodeContextFull, []string{"prompt is too long", "context limit", "context window", "conversation is too long"}, false},
		{contract.CodeQuotaExceeded, []string{
			"credit balance", "usage limit", "hit your limit", "5-hour limit", "weekly limit", "spending limit", "out of extra usage",
		}, false},
		{contract.CodeAuthRequired, []string{
			"not logged in", "run /login", "invalid api key", "invalid authentication", "oauth token", "authentication_error",
			"failed to authenticate", "set an auth method", "please log in",
		}, true},
		{contract.CodeNetwork, []string{
			"unable to connect", "connection error", "econnrefused", "enotfound", "eai_again", "econnreset", "fetch failed",
			"connection refused", "network error", "socket hang up", "connection closed", "connection lost", "connectionrefused",
		}, true},
		{contract.CodeTimeout, []string{"request timed out"}, true},
	}
}

func wordingCode(text string, status int) (contract.ErrorCode, bool) {
	lower := strings.ToLower(text)
	for _, w := range wordings() {
		if w.bare && status != 0 {
			continue
		}
		for _, phrase := range w.phrases {
			if strings.Contains(lower, phrase) {
				return w.code, true
			}
		}
	}
	return "", false
}

// startFailure is why the CLI would not open a session.
func startFailure(text string) wireError {
	text = strings.TrimSpace(text)
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "no conversation found"):
		return wireError{contract.CodeSessionNotFound, text}
	case strings.Contains(lower, "no message found with"):
		return wireError{contract.CodeSessionNotFound, text}
	}
	if code, ok := wordingCode(text, 0); ok {
		return wireError{code, text}
	}
	return wireError{contract.CodeStartFailed, text}
}
