package claude

import (
	"testing"

	"github.com/agenthost/agenthost/contract"
)

func TestErrorCode(t *testing.T) {
	for _, c := range []struct {
		reason, kind string
		status       int
		text         string
		want         contract.ErrorCode
	}{
		{"max_turns", "", 0, "", contract.CodeMaxTurns},
		{"budget_exhausted", "", 0, "", contract.CodeQuotaExceeded},
		{"prompt_too_long", "", 0, "", contract.CodeContextFull},
		{"blocking_limit", "", 0, "", contract.CodeContextFull},
		{"image_error", "invalid_request", 413, "", contract.CodeInvalidRequest},
		{"api_error", "authentication_failed", 0, "Not logged in · Please run /login", contract.CodeAuthRequired},
		{"api_error", "authentication_failed", 401, "Failed to authenticate. API Error: 401", contract.CodeAuthRequired},
		{"api_error", "oauth_org_not_allowed", 403, "Your organization has disabled access", contract.CodeAuthRequired},
		{"api_error", "billing_error", 400, "Credit balance is too low", contract.CodeQuotaExceeded},
		{"api_error", "rate_limit", 429, "API Error: Request rejected (429)", contract.CodeRateLimited},
		{"api_error", "rate_limit", 429, "You've hit your limit · resets 3pm", contract.CodeQuotaExceeded},
		{"api_error", "overloaded", 529, "", contract.CodeOverloaded},
		{"api_error", "server_error", 500, "", contract.CodeOverloaded},
		{"api_error", "unknown", 0, "API Error: Unable to connect to API (ConnectionRefused)", contract.CodeNetwork},
		{"api_error", "server_error", 0, "API Error: Connection error.", contract.CodeNetwork},
		{"api_error", "invalid_request", 400, "API Error: 400 connection refused by policy", contract.CodeInvalidRequest},
		{"api_error", "invalid_request", 400, "Prompt is too long", contract.CodeContextFull},
		{"api_error", "max_output_tokens", 0, "", contract.CodeMaxTokens},
		{"api_error", "model_not_found", 404, "", contract.CodeInvalidRequest},
		{"api_error", "", 402, "", contract.CodeQuotaExceeded},
		{"api_error", "", 408, "", contract.CodeTimeout},
		{"api_error", "", 418, "", contract.CodeInvalidRequest},
		{"api_error", "unknown", 0, "Request timed out.", contract.CodeTimeout},
		{"model_error", "unknown", 0, "odd", contract.CodeAgentError},
		{"", "", 0, "", contract.CodeAgentError},
	} {
		if got := errorCode(c.reason, c.kind, c.status, c.text); got != c.want {
			t.Errorf("errorCode(%q, %q, %d, %q) = %s, want %s", c.reason, c.kind, c.status, c.text, got, c.want)
		}
	}
}

func TestStartFailure(t *testing.T) {
	for text, want := range map[string]contract.ErrorCode{
		"No conversation found with session ID: x":        contract.CodeSessionNotFound,
		"Error: Session ID x is already in use.":          contract.CodeStartFailed,
		"Invalid API key · Please run /login":             contract.CodeAuthRequired,
		"TypeError: Cannot read properties of undefined":  contract.CodeStartFailed,
		"Sandbox required but unavailable: bwrap missing": contract.CodeStartFailed,
		"": contract.CodeStartFailed,
	} {
		if got := startFailure(text).code; got != want {
			t.Errorf("startFailure(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestUUID(t *testing.T) {
	if a, b := MessageUUID("x"), SessionUUID("x"); a == b || !looksLikeUUID(a) || !looksLikeUUID(b) || a[14] != '5' {
		t.Errorf("UUIDs %s and %s: want two different ones of version 5", a, b)
	}
	if looksLikeUUID("zky5y28y4389jias7s3g0xqzzky5y28y4389") {
		t.Error("36 characters are not a UUID")
	}
}
