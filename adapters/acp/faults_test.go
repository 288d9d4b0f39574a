package acp

import (
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// TestFaults: errors as real agents send them.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		code    int64
		message string
		data    string
		want    contract.ErrorCode
		text    string
	}{
		{-32000, "Gemini API key is missing or not configured.", ``, contract.CodeAuthRequired, "Gemini API key is missing or not configured."},
		{-32002, "Resource not found", `{"sessionId":"nope"}`, contract.CodeSessionNotFound, "Resource not found"},
		{-32601, `"Method not found": session/fork`, ``, contract.CodeUnsupported, `"Method not found": session/fork`},
		{-32602, "Invalid params: Unknown approval mode: bogus", ``, contract.CodeInvalidRequest, "Unknown approval mode: bogus"},
		{-32602, "Invalid params: session not found: x", ``, contract.CodeSessionNotFound, "session not found: x"},
		{-32603, "Internal error", `{"details":"400 bad"}`, contract.CodeInvalidRequest, "400 bad"},
		{-32603, "Internal error", `{"details":"401 key"}`, contract.CodeAuthRequired, "401 key"},
		{-32603, "Internal error", `{"details":"No previous sessions found for this project."}`, contract.CodeSessionNotFound, "No previous sessions found for this project."},
		{-32603, "Internal error", `{}`, contract.CodeAgentError, "Internal error"},
		{-32603, "Internal error", `[{"code":"invalid_union"}]`, contract.CodeAgentError, "Internal error"},
		{-32603, "Internal error: quota", `{"service":"session","errorName":"APIError"}`, contract.CodeQuotaExceeded, "quota"},
		{-32603, `Internal error: API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"fake 400"},"request_id":"r"}`, ``, contract.CodeInvalidRequest, "API Error: 400 fake 400"},
		{-32603, "Internal error: boom", `{"errorKind":"overloaded"}`, contract.CodeOverloaded, "boom"},
		{-32603, "Internal error: boom", `{"errorKind":"billing_error"}`, contract.CodeQuotaExceeded, "boom"},
		{-32603, `Internal error: JSON parsing failed: Text: {"choices": [ .`, ``, contract.CodeNetwork, `JSON parsing failed: Text: {"choices": [ .`},
		{400, `{"error":{"message":"bad","code":400}}`, ``, contract.CodeInvalidRequest, "bad"},
		{400, "The prompt is too long for the context window", ``, contract.CodeContextFull, "The prompt is too long for the context window"},
		{401, "API key not valid", ``, contract.CodeAuthRequired, "API key not valid"},
		{402, "pay", ``, contract.CodeQuotaExceeded, "pay"},
		{403, "no", ``, contract.CodeAuthRequired, "no"},
		{404, "no model", ``, contract.CodeInvalidRequest, "no model"},
		{429, "Rate limit exceeded. Try again later.", ``, contract.CodeRateLimited, "Rate limit exceeded. Try again later."},
		{429, "You exceeded your current quota", ``, contract.CodeQuotaExceeded, "You exceeded your current quota"},
		{500, "terminated", ``, contract.CodeOverloaded, "terminated"},
		{503, "", ``, contract.CodeOverloaded, "unknown error"},
		{0, `{"error":{"message":"slow down","type":"rate_limit_error"}}`, ``, contract.CodeRateLimited, "slow down"},
		{0, "fetch failed: ECONNREFUSED", ``, contract.CodeNetwork, "fetch failed: ECONNREFUSED"},
		{0, "Error: 529 overloaded", ``, contract.CodeOverloaded, "Error: 529 overloaded"},
		{0, "it has 400 lines", ``, contract.CodeAgentError, "it has 400 lines"},
	} {
		got := faultOf(c.code, c.message, []byte(c.data))
		if got.Code != c.want || got.Message != c.text {
			t.Errorf("faultOf(%d, %q, %s) = %s %q, want %s %q", c.code, c.message, c.data, got.Code, got.Message, c.want, c.text)
		}
	}
	if got := faultOf(1, strings.Repeat("€", maxError), nil); len(got.Message) > maxError {
		t.Errorf("message of %d bytes, want %d at most", len(got.Message), maxError)
	}
}

// TestExitFaults: why a child is gone, told from what it left.
func TestExitFaults(t *testing.T) {
	spec := AgentSpec{Name: "fake", Title: "Fake", Install: "npm i fake", Login: "fake login"}
	for _, c := range []struct {
		opened bool
		status adapters.ExitStatus
		want   contract.ErrorCode
		text   string
	}{
		{false, adapters.ExitStatus{Code: -1, Err: `exec: "fake": executable file not found in $PATH`}, contract.CodeNotInstalled, "npm i fake"},
		{false, adapters.ExitStatus{Code: 1, Stderr: "\nnpm ERR! x\n\n"}, contract.CodeStartFailed, "npm ERR! x"},
		{false, adapters.ExitStatus{Code: 52, Stderr: "Please set an Auth method"}, contract.CodeAuthRequired, "fake login"},
		{true, adapters.ExitStatus{Code: -1, Signal: "SIGKILL"}, contract.CodeAgentExited, "SIGKILL"},
		{true, adapters.ExitStatus{Code: 137}, contract.CodeAgentExited, "137"},
		{true, adapters.ExitStatus{Requested: true}, contract.CodeHostStopped, "stopped"},
		{true, adapters.ExitStatus{Code: 1, Stderr: "\x1b[31mError: invalid API key\x1b[0m"}, contract.CodeAuthRequired, "Error: invalid API key"},
	} {
		b := newBench(t, spec, adapters.Options{})
		b.submit(adapters.Open{ID: "open"})
		if c.opened {
			b.result(b.last("initialize"), `{"protocolVersion":1}`)
			b.result(b.last("session/new"), `{"sessionId":"s"}`)
			b.prompt()
		}
		b.exit(c.status)
		fault := b.done[len(b.done)-1].Err
		if c.opened {
			fault = b.drafts[len(b.drafts)-1].Event.(contract.TurnEnd).Error
		}
		if fault == nil || fault.Code != c.want || !strings.Contains(fault.Message, c.text) {
			t.Errorf("exit %+v: %+v, want %s with %q", c.status, fault, c.want, c.text)
		}
	}
}

func TestFaultHook(t *testing.T) {
	spec := fake
	spec.Hooks.Fault = func(f Fault, e *contract.Error) {
		if f.Code == 7 && string(f.Data) == `{"a":1}` {
			e.Code, e.Message = contract.CodeOverloaded, "hooked: "+f.Message
		}
	}
	b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	b.fail(b.last("session/prompt"), `{"code":7,"message":"x","data":{"a":1}}`)
	if e := b.drafts[len(b.drafts)-1].Event.(contract.TurnEnd).Error; e.Code != contract.CodeOverloaded || e.Message != "hooked: x" {
		t.Errorf("error %+v", e)
	}
}

// TestErrorsAsText: copilot and codex-acp call a failed turn completed.
func TestErrorsAsText(t *testing.T) {
	b := openBench(t, copilot(), adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	b.chunk("Error: 400 bad")
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.prompt()
	b.chunk("Error: the test you asked for fails") // the model's own words
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | text Error: 400 bad | service error | turn-end failed invalid-request | " +
		"turn-start p2 | text Error: the test you asked for fails | turn-end completed")

	b = openBench(t, codexACP(), adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	b.update(`{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}`)
	b.chunk(`{"error": {"message": "bad", "type": "invalid_request_error"}}`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn","usage":null}`)
	if e := b.drafts[len(b.drafts)-1].Event.(contract.TurnEnd); e.Status != contract.TurnFailed || e.Error.Code != contract.CodeInvalidRequest || e.Error.Message != "bad" {
		t.Errorf("turn-end %+v", e)
	}
}
