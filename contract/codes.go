package contract

// ErrorCode names a failure in turn-end.error.code and service.code. The list
// is closed for what agenthost writes; readers must accept others.
type ErrorCode string

// The codes, by what a person can do about them.
const (
	// CodeNotInstalled: the agent's command was not found.
	CodeNotInstalled ErrorCode = "not-installed"
	// CodeStartFailed: the agent ended or stayed silent before its handshake was over.
	CodeStartFailed ErrorCode = "start-failed"
	// CodeAuthRequired: not logged in, or the credentials were refused (HTTP 401, 403).
	CodeAuthRequired ErrorCode = "auth-required"
	// CodeRateLimited: HTTP 429 after the agent's own retries.
	CodeRateLimited ErrorCode = "rate-limited"
	// CodeQuotaExceeded: a usage limit, budget or quota is used up.
	CodeQuotaExceeded ErrorCode = "quota-exceeded"
	// CodeOverloaded: the model's service is overloaded or failing (HTTP 5xx, 529).
	CodeOverloaded ErrorCode = "overloaded"
	// CodeNetwork: the model's service could not be reached, or the connection broke.
	CodeNetwork ErrorCode = "network"
	// CodeInvalidRequest: the model's service refused the request (HTTP 4xx).
	CodeInvalidRequest ErrorCode = "invalid-request"
	// CodeContextFull: the conversation does not fit the model.
	CodeContextFull ErrorCode = "context-full"
	// CodeMaxTurns: the agent's own limit of steps was reached.
	CodeMaxTurns ErrorCode = "max-turns"
	// CodeMaxTokens: the answer was cut by the output limit.
	CodeMaxTokens ErrorCode = "max-tokens"
	// CodeRefusal: the model declined.
	CodeRefusal ErrorCode = "refusal"
	// CodeSessionNotFound: the session to resume, load or fork does not exist.
	CodeSessionNotFound ErrorCode = "session-not-found"
	// CodeUnsupported: the agent cannot do what was asked.
	CodeUnsupported ErrorCode = "unsupported"
	// CodeTimeout: no answer in time.
	CodeTimeout ErrorCode = "timeout"
	// CodeAgentExited: the agent's process ended in the middle of a turn.
	CodeAgentExited ErrorCode = "agent-exited"
	// CodeProtocol: the agent said something that cannot be understood.
	CodeProtocol ErrorCode = "protocol"
	// CodeHostStopped: agenthost was stopped or died during the turn.
	CodeHostStopped ErrorCode = "host-stopped"
	// CodeAskRefused: a permission was refused and the run was told to fail then.
	CodeAskRefused ErrorCode = "ask-refused"
	// CodeAgentError: the agent reported an error of no other kind.
	CodeAgentError ErrorCode = "agent-error"
)

// CodeOfStatus maps an HTTP status of a model's service; false when it is no
// failure. The numbers are RFC 9110's and 429 of RFC 6585.
func CodeOfStatus(status int) (ErrorCode, bool) {
	switch {
	case status == 401, status == 403:
		return CodeAuthRequired, true
	case status == 402:
		return CodeQuotaExceeded, true
	case status == 408:
		return CodeTimeout, true
	case status == 429:
		return CodeRateLimited, true
	case status >= 500:
		return CodeOverloaded, true
	case status >= 400:
		return CodeInvalidRequest, true
	}
	return "", false
}
