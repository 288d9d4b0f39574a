package acp

import (
	"encoding/json/jsontext"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// fault is what became of a request that did not get a result.
func (p *Protocol) fault(r reply, method string) contract.Error {
	switch {
	case r.gone:
		return *p.exitFault()
	case r.timeout:
		return contract.Error{Code: contract.CodeTimeout, Message: fmt.Sprintf("%s did not answer %s in time", p.name(), method)}
	case r.err == nil:
		return contract.Error{Code: contract.CodeAgentError, Message: p.name() + " failed"}
	}
	fault := faultOf(r.err.Code, r.err.Message, r.err.Data.Clean())
	if hook := p.spec.Hooks.Fault; hook != nil {
		hook(Fault{Code: r.err.Code, Message: r.err.Message, Data: r.err.Data.Clean()}, &fault)
	}
	return fault
}

// startFault is fault for requests without which there is no session. Whoever
// refuses the first ones as unknown is no agent.
func (p *Protocol) startFault(r reply, method string) contract.Error {
	fault := p.fault(r, method)
	first := method == "initialize"
	switch {
	case r.unknownMethod() && (first || method == "session/new"):
		fault = contract.Error{
			Code:    contract.CodeStartFailed,
			Message: fmt.Sprintf("%s does not speak the Agent Client Protocol: it knows no %s", p.name(), method),
		}
	case r.timeout, first && !r.gone && fault.Code != contract.CodeAuthRequired:
		fault.Code = contract.CodeStartFailed
	}
	if fault.Code == contract.CodeAuthRequired && !r.gone {
		fault.Message += p.loginHint()
	}
	return fault
}

// loginHint says how to log in, as far as it is known.
func (p *Protocol) loginHint() string {
	hint := ""
	if p.spec.Login != "" {
		hint = " (log in with: " + p.spec.Login + ")"
	}
	var ways []string
	for _, m := range p.opener.authMethods {
		way := m.ID
		if m.Name != "" {
			way += " (" + m.Name + ")"
		}
		ways = append(ways, way)
	}
	if len(ways) > 0 {
		hint += "; login methods: " + strings.Join(ways, ", ")
	}
	return hint
}

// exitFault says that and why the child is gone.
func (p *Protocol) exitFault() *contract.Error {
	s := adapters.ExitStatus{}
	if p.exit != nil {
		s = *p.exit
	}
	starting := p.phase == fresh || p.phase == opening
	fault := contract.Error{Code: contract.CodeAgentExited}
	switch {
	case s.Err != "" && (strings.Contains(s.Err, "not found") || strings.Contains(s.Err, "no such file")):
		fault.Code, fault.Message = contract.CodeNotInstalled, fmt.Sprintf("%s is not installed: %s", p.name(), s.Err)
		if p.spec.Install != "" {
			fault.Message += " (install it with: " + p.spec.Install + ")"
		}
		return &fault
	case s.Err != "":
		fault.Message = fmt.Sprintf("%s: %s", p.name(), s.Err)
	case s.Requested:
		fault.Code, fault.Message = contract.CodeHostStopped, fmt.Sprintf("%s was stopped", p.name())
		return &fault
	case s.Signal != "":
		fault.Message = fmt.Sprintf("%s was ended by %s", p.name(), s.Signal)
	default:
		fault.Message = fmt.Sprintf("%s exited with code %d", p.name(), s.Code)
	}
	if starting {
		fault.Code = contract.CodeStartFailed
	}
	if last := lastLine(s.Stderr); last != "" {
		fault.Message += ": " + last
		if c := codeOfText(last); c == contract.CodeAuthRequired {
			fault.Code = c
			if starting {
				fault.Message += p.loginHint()
			}
		}
	}
	return &fault
}

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	lines := strings.Split(present.Clean(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" {
			line, _ = present.CutBytes(line, maxError)
			return line
		}
	}
	return ""
}

// faultOf maps an error to the contract: by an HTTP status, which some agents give
// as the code and others at the head of the text, by what the data names, by
// JSON-RPC's and ACP's codes, and last by the words of the text.
func faultOf(code int64, message string, data jsontext.Value) contract.Error {
	text, status, inner := readable(message, rawjson.Value(data))
	if code >= 400 && code <= 599 {
		status = int(code)
	}
	fault := contract.Error{Code: contract.CodeAgentError, Message: text}
	word := codeOfText(text)
	kind := codeOfKind(rawjson.Value(data).Get("errorKind").Text())
	if kind == "" {
		kind = codeOfKind(inner)
	}
	switch {
	case code == jsonrpc.AuthRequired:
		fault.Code = contract.CodeAuthRequired
	case code == jsonrpc.NotFound:
		fault.Code = contract.CodeSessionNotFound
	case code == jsonrpc.MethodNotFound:
		fault.Code = contract.CodeUnsupported
	case kind != "":
		fault.Code = kind
	case status != 0:
		fault.Code = codeOfStatus(status)
		if word == contract.CodeQuotaExceeded || word == contract.CodeContextFull {
			fault.Code = word // tells more than 429 or 400
		}
	case word != "":
		fault.Code = word
	case code == jsonrpc.InvalidParams || code == jsonrpc.InvalidRequest:
		fault.Code = contract.CodeInvalidRequest
	}
	return fault
}

// readable finds the text for people in a message that may be JSON, or say
// nothing while the data does. kind is the type of the error in such a JSON.
func readable(message string, data rawjson.Value) (text string, status int, kind string) {
	text = strings.TrimSpace(message)
	for _, generic := range []string{"Internal error:", "Invalid params:"} {
		if rest, ok := strings.CutPrefix(text, generic); ok && strings.TrimSpace(rest) != "" {
			text = strings.TrimSpace(rest)
		}
	}
	if text == "" || text == "Internal error" || text == "Invalid params" {
		for _, v := range []rawjson.Value{data.Get("details"), data.Get("message"), data.Get("error", "message"), data.Get("error"), data} {
			if t := v.Text(); t != "" {
				text = t
				break
			}
		}
	}
	status = statusIn(text)
	if i := strings.IndexByte(text, '{'); i >= 0 {
		if v, err := rawjson.Parse([]byte(text[i:])); err == nil {
			if inner := innerMessage(v); inner != "" {
				text = strings.TrimSpace(text[:i]) + " " + inner
				kind = v.Get("error", "type").Text()
				if n, ok := v.Get("error", "code").Int(); ok && n >= 400 && n <= 599 {
					status = int(n)
				}
			}
		}
	}
	if text = strings.TrimSpace(text); text == "" {
		text = "unknown error"
	}
	text, _ = present.CutBytes(text, maxError)
	return text, status, kind
}

// innerMessage is the message of an error in the form that model services send.
func innerMessage(v rawjson.Value) string {
	for _, m := range []rawjson.Value{v.Get("error", "message"), v.Get("message"), v.Get("error")} {
		if t := m.Text(); t != "" {
			return t
		}
	}
	return ""
}

// statusPattern is compiled when it is first used: most runs of the program never
// do.
var statusPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:[a-z ]*error:?\s*)?(?:http\s*)?(?:status(?: code)?:?\s*)?([45]\d\d)\b`)
})

// statusIn is the HTTP status at the head of a text, 0 for none.
func statusIn(text string) int {
	if m := statusPattern().FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

func codeOfStatus(status int) contract.ErrorCode {
	switch {
	case status == 401 || status == 403:
		return contract.CodeAuthRequired
	case status == 402:
		return contract.CodeQuotaExceeded
	case status == 408:
		return contract.CodeNetwork
	case status == 413:
		return contract.CodeContextFull
	case status == 429:
		return contract.CodeRateLimited
	case status >= 500:
		return contract.CodeOverloaded
	}
	return contract.CodeInvalidRequest
}

// codeOfKind maps the errorKind of claude-agent-acp and the error types of the
// model services.
func codeOfKind(kind string) contract.ErrorCode {
	switch kind {
	case "authentication_failed", "oauth_org_not_allowed", "verification_required", "cloud_credential_error",
		"authentication_error", "permission_error":
		return contract.CodeAuthRequired
	case "rate_limit", "rate_limit_error":
		return contract.CodeRateLimited
	case "billing_error", "account_on_hold", "budget_exhausted", "insufficient_quota", "usage_limit_reached":
		return contract.CodeQuotaExceeded
	case "overloaded", "server_error", "overloaded_error", "api_error":
		return contract.CodeOverloaded
	case "invalid_request", "model_not_found", "invalid_request_error", "not_found_error":
		return contract.CodeInvalidRequest
	case "context_exhausted":
		return contract.CodeContextFull
	case "max_output_tokens":
		return contract.CodeMaxTokens
	case "transport_lost", "worker_shutdown":
		return contract.CodeAgentExited
	}
	return ""
}

// codeOfText guesses from the words, in the order of the table.
func codeOfText(text string) contract.ErrorCode {
	text = strings.ToLower(text)
	for _, row := range []struct {
		code  contract.ErrorCode
		words []string
	}{
		{contract.CodeContextFull, []string{"context length", "context window", "prompt is too long", "maximum context", "too many tokens", "input is too long"}},
		{contract.CodeQuotaExceeded, []string{"quota", "usage limit", "credit balance", "insufficient_quota", "billing", "out of credits"}},
		{contract.CodeRateLimited, []string{"rate limit", "rate_limit", "too many requests", "resource_exhausted", "resource exhausted"}},
		{contract.CodeAuthRequired, []string{"unauthorized", "unauthenticated", "authentication", "api key", "api_key", "not logged in", "log in", "login", "invalid token", "expired token", "auth method", "permission_denied"}},
		{contract.CodeOverloaded, []string{"overloaded", "service unavailable", "bad gateway", "internal server error", "gateway timeout"}},
		{contract.CodeNetwork, []string{"econnrefused", "econnreset", "enotfound", "etimedout", "eai_again", "socket hang up", "fetch failed", "network error", "connection error", "connection refused", "connection reset", "terminated", "unable to connect", "unexpected end of json input", "json parsing failed"}},
		{contract.CodeSessionNotFound, []string{"session not found", "no previous sessions", "unknown session"}},
	} {
		for _, w := range row.words {
			if strings.Contains(text, w) {
				return row.code
			}
		}
	}
	return ""
}
