package codex

import (
	"slices"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
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

func failedTurn(e wireError) contract.TurnEnd {
	return contract.TurnEnd{Status: contract.TurnFailed, Error: e.contract()}
}

// turnError reads a TurnError: {message, codexErrorInfo, additionalDetails}.
func turnError(v rawjson.Value) wireError {
	text := v.Get("message").Text()
	// A refused request has the service's JSON for a message.
	if body, err := rawjson.Parse([]byte(text)); err == nil {
		if inner := body.Get("error", "message").Text(); inner != "" {
			text = inner
		}
	}
	if text == "" {
		text = "the turn failed"
	}
	return wireError{errorCode(v), text}
}

// errorCode maps what is known of a failure, the most telling first: the kind
// of error, the HTTP status with it, the wording.
func errorCode(v rawjson.Value) contract.ErrorCode {
	info := v.Get("codexErrorInfo")
	kind := info.Text()
	var status int64
	for name, detail := range info.Members() {
		kind = name
		status, _ = detail.Get("httpStatusCode").Int()
	}
	if code, ok := kindCode(kind); ok {
		return code
	}
	if code, ok := contract.CodeOfStatus(int(status)); ok {
		return code
	}
	message := v.Get("message").Text()
	if code, ok := wordingCode(message + "\n" + v.Get("additionalDetails").Text()); ok {
		return code
	}
	switch kind {
	case "httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected", "responseTooManyFailedAttempts":
		return contract.CodeNetwork
	case "other":
		if strings.HasPrefix(strings.TrimSpace(message), "{") {
			// The body of an HTTP 400 as it came.
			return contract.CodeInvalidRequest
		}
	}
	return contract.CodeAgentError
}

// kindCode maps CodexErrorInfo.
func kindCode(kind string) (contract.ErrorCode, bool) {
	switch kind {
	case "contextWindowExceeded":
		return contract.CodeContextFull, true
	case "usageLimitExceeded", "sessionBudgetExceeded":
		return contract.CodeQuotaExceeded, true
	case "rateLimitExceeded":
		return contract.CodeRateLimited, true
	case "serverOverloaded", "internalServerError", "flexUnavailable", "policyCapacityUnavailable":
		return contract.CodeOverloaded, true
	case "unauthorized":
		return contract.CodeAuthRequired, true
	case "badRequest", "modelNotFound":
		return contract.CodeInvalidRequest, true
	case "cyberPolicy", "bioPolicy", "misalignmentPolicyViolation":
		return contract.CodeRefusal, true
	}
	return "", false
}

// wording is a phrase of Codex, in lower case, and what it says.
type wording struct {
	code    contract.ErrorCode
	phrases []string
}

func wordings() []wording {
	return []wording{
		{contract.CodeSessionNotFound, []string{"no rollout found", "thread not found", "invalid session id", "invalid thread id", "turn not found"}},
		{contract.CodeUnsupported, []string{"unknown variant", "requires experimentalapi", "not supported", "only supports paginated"}},
		{contract.CodeContextFull, []string{"context window", "context_length"}},
		{contract.CodeMaxTokens, []string{"max_output_tokens"}},
		{contract.CodeRefusal, []string{"content_filter"}},
		{contract.CodeQuotaExceeded, []string{"usage limit", "quota exceeded", "insufficient_quota"}},
		{contract.CodeRateLimited, []string{"rate limit", "429 too many"}},
		{contract.CodeOverloaded, []string{"experiencing high demand", "503 service", "overloaded"}},
		{contract.CodeAuthRequired, []string{"401 unauthorized", "403 forbidden", "not logged in", "missing environment variable", "codex login"}},
		{contract.CodeTimeout, []string{"idle timeout", "timed out"}},
		{contract.CodeNetwork, []string{
			"connection refused", "error sending request", "stream disconnected", "waiting for network", "connection failed", "dns error",
		}},
	}
}

func wordingCode(text string) (contract.ErrorCode, bool) {
	lower := strings.ToLower(text)
	for _, w := range wordings() {
		if slices.ContainsFunc(w.phrases, func(phrase string) bool { return strings.Contains(lower, phrase) }) {
			return w.code, true
		}
	}
	return "", false
}
