package adaptertest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/replay"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// greaseFaults replays with messages and members that no Protocol knows.
func greaseFaults(s Suite, rec recording) []string {
	var extra [][]byte
	if s.Wire != nil {
		extra = s.Wire.Grease()
	}
	plain := Play(s, rec.File)
	greased := played(s, rec, replay.Hooks{Before: func(f adapters.Frame) []adapters.Frame {
		if f.Source != adapters.Stdout || f.Dropped > 0 {
			return []adapters.Frame{f}
		}
		var out []adapters.Frame
		for _, g := range extra {
			out = append(out, adapters.Frame{Data: g})
		}
		f.Data = greaseMembers(f.Data)
		return append(out, f)
	}})
	return append(sameDrafts(plain, greased, "unknown messages and members"), greased.Faults...)
}

// greaseMembers adds members to a message and to the objects that carry it. Those
// further in may be a tool's input, which is passed on whole.
func greaseMembers(data []byte) []byte {
	v, err := rawjson.Parse(data)
	if err != nil || v.Kind() != rawjson.Object {
		return data
	}
	return appendGreased(nil, v)
}

func appendGreased(b []byte, v rawjson.Value) []byte {
	b = append(b, `{"greaseBefore":{"a":[null]}`...)
	for name, e := range v.Members() {
		b = append(rawjson.AppendString(append(b, ','), name), ':')
		carrier := slices.Contains([]string{"params", "result", "update", "message", "item", "turn"}, name)
		if carrier && e.Kind() == rawjson.Object {
			b = appendGreased(b, e)
		} else {
			b = append(b, e...)
		}
	}
	return append(b, `,"greaseAfter":"x"}`...)
}

// garbage are lines that are no messages of any agent.
func garbage() [][]byte {
	return [][]byte{
		[]byte("npm warn deprecated inflight@1.0.6: leaks memory"),
		[]byte(`{"torn":`), []byte(`}`), []byte(`[`), []byte(`{}`), []byte(`[1,2]`), []byte(`[]`), []byte(`"x"`),
		[]byte(`null`), []byte(`true`), []byte(`0`), []byte(`{"id":{"a":1},"method":7}`),
		[]byte("\xff\xfe\x00"), []byte("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"), []byte("\x1b[31merror\x1b[0m"),
		bytes.Repeat([]byte("["), 20000),
		{},
	}
}

func garbageFaults(s Suite, rec recording) []string {
	plain := Play(s, rec.File)
	var bad []string
	dirty := played(s, rec, replay.Hooks{Before: func(f adapters.Frame) []adapters.Frame {
		var out []adapters.Frame
		for _, g := range garbage() {
			out = append(out, adapters.Frame{Data: g})
		}
		out = append(out, adapters.Frame{Dropped: 1 << 30})
		return append(out, f)
	}})
	for _, c := range dirty.Calls {
		if string(c.Frame.Data) == `{"torn":` && c.Err == nil {
			bad = append(bad, "Receive of a torn line = nil error, want one")
		}
		if c.Frame.Dropped > 0 && c.Err == nil {
			bad = append(bad, "Receive of a dropped line = nil error, want one")
		}
	}
	return append(append(bad, sameDrafts(plain, dirty, "lines that are no messages")...), dirty.Faults...)
}

// sameDrafts compares what two replays said. Notices may differ, and where a text
// is cut into envelopes.
func sameDrafts(want, got replay.Result, cause string) []string {
	a, b := said(want), said(got)
	if !bytes.Equal(a, b) {
		return []string{fmt.Sprintf("%s change what is said: %s", cause, firstDiff(a, b))}
	}
	return nil
}

// said is what a replay's drafts say, one per line, texts joined.
func said(r replay.Result) []byte {
	var b bytes.Buffer
	var text *contract.Text
	from := ""
	flush := func() {
		if text != nil {
			b.Write(mustJSON(encodeDraft(adapters.Draft{Subagent: from, Event: *text})))
			b.WriteByte('\n')
			text = nil
		}
	}
	// Notices are envelopes too, so the ids that are given out after one differ.
	nth := map[string]string{}
	for _, c := range r.Calls {
		for _, d := range c.Step.Emit {
			d.Prompts = slices.Clone(d.Prompts)
			for i, id := range d.Prompts {
				if nth[id] == "" {
					nth[id] = fmt.Sprintf("prompt %d", len(nth)+1)
				}
				d.Prompts[i] = nth[id]
			}
			switch ev := d.Event.(type) {
			case contract.Service:
				continue
			case contract.Text:
				if text != nil && from == d.Subagent && text.Thinking == ev.Thinking {
					text.Text += ev.Text
					continue
				}
				flush()
				text, from = &ev, d.Subagent
				continue
			}
			flush()
			b.Write(mustJSON(encodeDraft(d)))
			b.WriteByte('\n')
		}
	}
	flush()
	return b.Bytes()
}
