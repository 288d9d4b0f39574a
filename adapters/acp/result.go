package acp

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// maxError bounds an error's text, in bytes; the whole is in the output then.
const maxError = 2000

// result is how a call ended: its output as a string where it is text, else as
// the agent's JSON.
func (p *Protocol) result(c *call) *contract.ToolResult {
	r := contract.ToolResult{Status: contract.ToolCompleted, Truncated: c.overflow}
	text, raw := c.outputText()
	if code := c.exit(); code != nil {
		r.Extra = jsontext.Value(fmt.Sprintf(`{"exitCode":%d}`, *code))
	}
	switch c.status {
	case "cancelled":
		r.Status = contract.ToolCancelled
	case "failed":
		r.Status = contract.ToolError
		r.Error, text = c.errorText(text)
	default:
		r.Files = p.files(c)
	}
	switch {
	case text != "":
		r.Output = rawjson.AppendString(nil, text)
	case raw != nil && len(r.Files) == 0 && c.status != "failed":
		r.Output = raw.Clean()
	}
	t := Tool{ID: c.id, Native: c.native, Kind: c.kind, NativeTitle: c.title, Paths: c.paths, Ended: true, Result: r}
	if hook := p.spec.Hooks.Tool; hook != nil {
		t.Name, t.Args = p.canonical(c), p.args(c)
		hook(&t)
	}
	return &t.Result
}

// errorText splits the text of a failed call into its error and what is left as
// output.
func (c *call) errorText(text string) (reason, output string) {
	for _, v := range []rawjson.Value{c.output.Get("error", "message"), c.output.Get("error"), c.output.Get("message")} {
		if t := v.Text(); t != "" {
			reason = t
			break
		}
	}
	switch code := c.exit(); {
	case reason != "" && reason != text:
	case code != nil:
		return fmt.Sprintf("exit code %d", *code), text
	case reason == "":
		reason = text
	}
	if reason == "" {
		reason = "the tool failed"
	}
	if text == reason {
		text = ""
	}
	if short, cut := present.CutBytes(reason, maxError); cut {
		if text == "" {
			text = reason
		}
		reason = short + "…"
	}
	return reason, text
}

// exit is the exit code of a shell call, nil when the agent did not tell.
func (c *call) exit() *int64 {
	if c.exitCode != nil {
		return c.exitCode
	}
	for _, v := range []rawjson.Value{
		c.output.Get("exitCode"), c.output.Get("exit_code"), c.output.Get("metadata", "exit"),
	} {
		if v.Kind() == rawjson.Number {
			if n, ok := v.Int(); ok {
				return &n
			}
		}
	}
	for b := range c.output.Get("contents").Elements() { // copilot
		if n, ok := b.Get("exitCode").Int(); ok {
			return &n
		}
	}
	return nil
}

// outputText is the output as text. What is no text comes back as raw.
func (c *call) outputText() (text string, raw rawjson.Value) {
	if len(c.streamed) > 0 {
		return string(c.streamed), nil
	}
	switch o := c.output; o.Kind() {
	case rawjson.String:
		text = o.Text()
	case rawjson.Array:
		if text = plainBlocks(o); text == "" && !o.Empty() {
			raw = o
		}
	case rawjson.Object:
		told := false
		for _, name := range []string{"output", "content", "text", "formatted_output", "aggregated_output", "stdout"} {
			v := o.Get(name)
			if told = told || v.Kind() == rawjson.String; !v.Empty() && v.Kind() == rawjson.String {
				text = v.Text()
				break
			}
		}
		if told && text == "" && c.kind == "execute" {
			return "", nil // the command printed nothing
		}
		if text == "" {
			raw = o
		}
	case rawjson.Number, rawjson.Bool:
		raw = o
	}
	// What a file holds is cleaner in the content than in opencode's text for the model.
	if c.resulting && (text == "" || c.kind == "read" && c.output.Kind() == rawjson.Object) {
		if t := blocksText(c.content); t != "" {
			text = t
		}
	}
	return text, raw
}

// plainBlocks is the text of a bare list of content blocks, empty when something
// else is in it.
func plainBlocks(list rawjson.Value) string {
	var parts []string
	for b := range list.Elements() {
		if b.Get("type").Text() != "text" {
			return ""
		}
		parts = append(parts, b.Get("text").Text())
	}
	return strings.Join(parts, "\n")
}
