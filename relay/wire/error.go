package wire

import (
	"encoding/json/jsontext"
	"fmt"
	"net/http"
)

// Code says what kind of error a call got. Clients act on it; the message is for
// people.
type Code string

// The codes.
const (
	CodeInvalid       Code = "invalid"         // the params: the message says where and what is wanted
	CodeUnauthorized  Code = "unauthorized"    // no token, or one that does not count
	CodeForbidden     Code = "forbidden"       // the token's scope is too small, or the mediator refuses
	CodeNotFound      Code = "not_found"       // no such session, host, call, upload
	CodeAmbiguous     Code = "ambiguous"       // a prefix that several sessions have, or no host named
	CodeConflict      Code = "conflict"        // the version is not the current one; data: the metadata
	CodeStale         Code = "stale"           // the decision is about an earlier showing; data: the Ask
	CodeResolved      Code = "resolved"        // the ask was settled before; data: Resolved
	CodeUnsupported   Code = "unsupported"     // the agent cannot; the message says why
	CodeBusy          Code = "busy"            // not now: a turn runs, or a limit of sessions is reached
	CodeOver          Code = "over"            // the session has ended or is being stopped
	CodeGap           Code = "gap"             // append or input beyond what is known; data: AppendResult or TerminalInputResult
	CodeEpoch         Code = "epoch"           // input for an agent's screen that is not there by now; data: TerminalInputResult
	CodeControl       Code = "control"         // another one holds control, or nobody does; data: HolderInfo
	CodeHostOffline   Code = "host_offline"    // data: Host with lastSeen
	CodeUnknown       Code = "unknown_outcome" // the connection was lost after the call went out
	CodeTimeout       Code = "timeout"         // no answer in time; the outcome is unknown
	CodeTooLarge      Code = "too_large"       // over a limit, which the message names
	CodeRateLimited   Code = "rate_limited"    // data: RetryAfter
	CodeAgent         Code = "agent"           // the agent failed or would not start; data: contract.Error
	CodeUnknownMethod Code = "unknown_method"  // no such method here
	CodeBadType       Code = "bad_type"        // HTTP: the body's Content-Type is another one
	CodeInternal      Code = "internal"        // a fault of ours; the log has more
)

// Error is the error of a call: on the wire the error of a JSON-RPC answer whose
// data has Code, over HTTP a body of the same shape.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Data depends on Code; null for none.
	Data jsontext.Value `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Errorf makes an error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Is reports whether target is an *Error of the same code, so that
// errors.Is(err, &Error{Code: CodeStale}) asks for a kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

// Resolved says who settled an ask.
type Resolved struct {
	Decision string `json:"decision"`
	// By is contract.DecisionBy.
	By jsontext.Value `json:"by,omitempty"`
}

// RetryAfter says when to try again.
type RetryAfter struct {
	MS int64 `json:"ms"`
}

// statuses are the HTTP status and the JSON-RPC code of each Code. Numbers from
// -32000 to -32099 are the server's own; the rest is JSON-RPC's.
var statuses = map[Code]struct {
	http int
	rpc  int64
}{
	CodeInvalid:       {http.StatusBadRequest, -32602},
	CodeUnauthorized:  {http.StatusUnauthorized, -32001},
	CodeForbidden:     {http.StatusForbidden, -32003},
	CodeNotFound:      {http.StatusNotFound, -32004},
	CodeAmbiguous:     {http.StatusConflict, -32005},
	CodeConflict:      {http.StatusConflict, -32009},
	CodeStale:         {http.StatusConflict, -32010},
	CodeResolved:      {http.StatusConflict, -32011},
	CodeUnsupported:   {http.StatusNotImplemented, -32012},
	CodeBusy:          {http.StatusConflict, -32013},
	CodeOver:          {http.StatusGone, -32014},
	CodeGap:           {http.StatusConflict, -32015},
	CodeControl:       {http.StatusConflict, -32016},
	CodeEpoch:         {http.StatusConflict, -32017},
	CodeHostOffline:   {http.StatusServiceUnavailable, -32020},
	CodeUnknown:       {http.StatusBadGateway, -32021},
	CodeTimeout:       {http.StatusGatewayTimeout, -32022},
	CodeTooLarge:      {http.StatusRequestEntityTooLarge, -32023},
	CodeRateLimited:   {http.StatusTooManyRequests, -32029},
	CodeAgent:         {http.StatusBadGateway, -32030},
	CodeUnknownMethod: {http.StatusNotFound, -32601},
	CodeBadType:       {http.StatusUnsupportedMediaType, -32024},
	CodeInternal:      {http.StatusInternalServerError, -32603},
}

// Codes lists the codes.
func Codes() []Code {
	return []Code{
		CodeInvalid, CodeUnauthorized, CodeForbidden, CodeNotFound, CodeAmbiguous, CodeConflict, CodeStale, CodeResolved,
		CodeUnsupported, CodeBusy, CodeOver, CodeGap, CodeEpoch, CodeControl, CodeHostOffline, CodeUnknown, CodeTimeout, CodeTooLarge,
		CodeRateLimited, CodeAgent, CodeUnknownMethod, CodeBadType, CodeInternal,
	}
}

// HTTPStatus is the status of an HTTP answer with this code.
func (c Code) HTTPStatus() int {
	if s, ok := statuses[c]; ok {
		return s.http
	}
	return http.StatusInternalServerError
}

// RPCCode is the code member of a JSON-RPC error.
func (c Code) RPCCode() int64 {
	if s, ok := statuses[c]; ok {
		return s.rpc
	}
	return statuses[CodeInternal].rpc
}
