package gemini

import (
	"strings"

	"github.com/agenthost/agenthost/adapters/acp"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// fault is the hook that corrects how an error is reported. Codes are HTTP
// statuses, and 500 is what Gemini CLI says when it knows none.
func fault(f acp.Fault, e *contract.Error) {
	for range 3 { // a service's JSON in a library's JSON in Gemini CLI's text
		inner := rawjson.Value(nil)
		if v, err := rawjson.Parse([]byte(e.Message)); err == nil {
			inner = v.Get("error", "message")
		}
		if inner.Text() == "" {
			break
		}
		e.Message = inner.Text()
	}
	text := strings.ToLower(e.Message)
	switch {
	case strings.Contains(text, "untrusted folder"):
		e.Code = contract.CodeUnsupported
		e.Message += " Trust it by running gemini there once, or set trust: yes for this agent."
	case f.Code == 500 && e.Code == contract.CodeOverloaded:
		e.Code = unknownStatus(text)
	}
}

// unknownStatus tells what broke on the way from a service that failed.
func unknownStatus(text string) contract.ErrorCode {
	for _, broken := range []string{
		"terminated", "unexpected end of json", "in json at position", "fetch failed", "socket hang up", "econn", "etimedout", "enotfound",
		"eai_again", "network", "incomplete json segment",
	} {
		if strings.Contains(text, broken) {
			return contract.CodeNetwork
		}
	}
	for _, failing := range []string{"internal server error", "internal error encountered", "unavailable", "overloaded", "bad gateway"} {
		if strings.Contains(text, failing) {
			return contract.CodeOverloaded
		}
	}
	return contract.CodeAgentError
}
