package acp

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

func TestTextIsGrouped(t *testing.T) {
	b := plain(t)
	b.prompt()
	chunk := func(kind, message, text string) {
		b.update(`{"sessionUpdate":"` + kind + `","messageId":` + message + `,"content":{"type":"text","text":"` + text + `"}}`)
	}
	chunk("agent_thought_chunk", `null`, "hm ")
	chunk("agent_thought_chunk", `null`, "so")
	chunk("agent_message_chunk", `"m1"`, "one ")
	chunk("agent_message_chunk", `"m1"`, "message")
	chunk("agent_message_chunk", `"m2"`, "another")
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","kind":"execute","status":"in_progress","rawInput":{"command":"ls"}}`)
	chunk("agent_message_chunk", `"m2"`, "after")
	chunk("user_message_chunk", `"u"`, "an echo")
	chunk("agent_message_chunk", `null`, `\n\n`)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
	chunk("agent_message_chunk", `null`, `\n`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | thinking hm so | text one message | text another | start t bash {\"command\":\"ls\"} | text after\n\n | end t completed | turn-end completed")
	if d := b.drafts[2]; d.Origin != "m1" {
		t.Errorf("origin %q, want the message's id", d.Origin)
	}
	var live strings.Builder
	for _, d := range b.live {
		live.WriteString(d.Text)
	}
	if got := live.String(); got != "hm soone messageanotherafter\n\n\n" {
		t.Errorf("live %q", got)
	}
}

// TestCutCharacters: rule E9 of the contract.
func TestCutCharacters(t *testing.T) {
	b := plain(t)
	b.prompt()
	for _, text := range []string{`a\ud83d`, `\ude00b\ud83d`, ``, `\ude00`, `c\ud83d`} {
		b.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`)
	}
	b.update("{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":\"\xe2\x82\"}}")
	b.update("{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":\"\xac \xff\"}}")
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | text a😀b😀c\ufffd | thinking € \ufffd | turn-end completed")
}

// TestSurrogatesInArgs: case B015 of the bug log: also raw JSON that is passed on
// has no half of a surrogate pair, and no byte that is no UTF-8 (B017).
func TestSurrogatesInArgs(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update("{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"name\":\"odd\\ud83d\",\"kind\":\"execute\",\"status\":\"in_progress\",\"rawInput\":{\"command\":\"printf \\ud83d\",\"\xff\":\"\xfe\"}}")
	b.update("{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t\",\"status\":\"completed\",\"rawOutput\":{\"n\":\"high \\ud83d low \\ude00 ok \\ud83d\\ude00\"}}")
	start := b.drafts[1].Event.(contract.ToolCallStart)
	if got := string(start.Args); got != "{\"command\":\"printf \ufffd\",\"\ufffd\":\"\ufffd\"}" {
		t.Errorf("args %s", got)
	}
	end := b.drafts[2].Event.(contract.ToolCallEnd)
	if got := string(end.Result.Output); got != "{\"n\":\"high \ufffd low \ufffd ok 😀\"}" {
		t.Errorf("output %s", got)
	}
}

func TestLongTextIsCut(t *testing.T) {
	lines := strings.Repeat("ten bytes\n", MaxText/10*2)
	wide := strings.Repeat("€", MaxText)
	for name, text := range map[string]string{"lines": lines, "no break": wide, "words": strings.Repeat("word ", MaxText/2)} {
		b := plain(t)
		b.prompt()
		for i := 0; i < len(text); i += 3000 {
			b.chunk(text[i:min(i+3000, len(text))])
		}
		b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
		var got strings.Builder
		for _, d := range b.drafts {
			if e, ok := d.Event.(contract.Text); ok {
				got.WriteString(e.Text)
				if len(e.Text) > MaxText || strings.Contains(e.Text, "\ufffd") {
					t.Fatalf("%s: a text of %d bytes, want at most %d, cut between characters", name, len(e.Text), MaxText)
				}
				if name == "lines" && !strings.HasSuffix(e.Text, "\n") {
					t.Errorf("lines: cut in the middle of one")
				}
			}
		}
		if got.String() != text {
			t.Errorf("%s: %d bytes came out of %d, or others", name, got.Len(), len(text))
		}
	}
}

// TestManyUpdates: 100,000 updates flat out arrive in order, and memory does not
// grow with them.
func TestManyUpdates(t *testing.T) {
	b := plain(t)
	b.prompt()
	const n = 100_000
	next := 0
	var text strings.Builder
	take := func(s adapters.Step) {
		for _, d := range s.Emit {
			if e, ok := d.Event.(contract.Text); ok {
				text.WriteString(e.Text)
			}
		}
		for _, l := range s.Live {
			if want := fmt.Sprintf("%06d,", next); l.Text != want {
				t.Fatalf("live %q, want %q", l.Text, want)
			}
			next++
		}
	}
	before := heap()
	for i := range n {
		line := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%06d,"}}}}`, i)
		s, err := b.p.Receive(b.now, adapters.Frame{Data: line})
		if err != nil {
			t.Fatal(err)
		}
		take(s)
	}
	grown := heap() - before - int64(text.Cap())
	s, _ := b.p.Receive(b.now, adapters.Frame{Data: []byte(`{"id":` + string(b.last("session/prompt").ID) + `,"result":{"stopReason":"end_turn"}}`)})
	take(s)
	if next != n || text.Len() != 7*n {
		t.Fatalf("%d deltas and %d bytes, want %d and %d", next, text.Len(), n, 7*n)
	}
	for i := range n {
		if got := text.String()[7*i : 7*i+7]; got != fmt.Sprintf("%06d,", i) {
			t.Fatalf("text at %d is %q", i, got)
		}
	}
	if grown > 1<<20 {
		t.Errorf("memory grew by %d KiB, want less than 1 MiB", grown>>10)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyCalls: ended calls are forgotten in the end.
func TestManyCalls(t *testing.T) {
	b := plain(t)
	b.prompt()
	p := b.p.(*Protocol)
	for i := range 3 * maxEnded {
		line := fmt.Appendf(nil, `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t%d","status":"completed","title":"x"}}}`, i)
		if _, err := b.p.Receive(b.now, adapters.Frame{Data: line}); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.calls.list) != 0 || len(p.calls.ended) > maxEnded || len(p.calls.fifo) > maxEnded {
		t.Errorf("%d open, %d and %d remembered, want 0 and at most %d", len(p.calls.list), len(p.calls.ended), len(p.calls.fifo), maxEnded)
	}
}

func TestContentBlocks(t *testing.T) {
	b := plain(t)
	b.prompt()
	for _, c := range []string{
		`{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", 4096) + `"}`,
		`{"type":"resource_link","name":"a.txt","uri":"file:///w/a.txt"}`,
		`{"type":"resource","resource":{"uri":"file:///w/b","text":"inside"}}`,
		`{"type":"resource","resource":{"uri":"file:///w/c","mimeType":"application/pdf","blob":"AAAA"}}`,
	} {
		b.update(`{"sessionUpdate":"agent_message_chunk","messageId":"` + fmt.Sprint(len(b.live)) + `","content":` + c + `}`)
	}
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | text [image/png, 3 KiB] | text [a.txt](file:///w/a.txt) | text inside | text [application/pdf file:///w/c] | turn-end completed")
}

// TestChunkHook: what Gemini CLI says as text and is none.
func TestChunkHook(t *testing.T) {
	spec := fake
	spec.Quirks.Modes = map[contract.PermissionMode]string{contract.ModeAcceptEdits: "autoEdit"}
	spec.Hooks.Chunk = func(text string, thinking bool) Chunk {
		if mode, ok := strings.CutPrefix(text, "[MODE_UPDATE] "); ok && !thinking {
			return Chunk{Drop: true, Mode: mode}
		}
		return Chunk{}
	}
	b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1}`,
		`{"sessionId":"s","modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"Default"},{"id":"autoEdit","name":"Auto"}]}}`)
	b.prompt()
	b.chunk("[MODE_UPDATE] autoEdit")
	b.chunk("text")
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | config acceptEdits | text text | turn-end completed")
}

// BenchmarkChunk is the most frequent thing an agent says.
func BenchmarkChunk(b *testing.B) {
	p := New(fake).NewProtocol(adapters.SessionInfo{Dir: "/w"})
	feed := func(s string) {
		if _, err := p.Receive(start, adapters.Frame{Data: []byte(s)}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := p.Submit(start, adapters.Open{ID: "open"}); err != nil {
		b.Fatal(err)
	}
	feed(`{"id":1,"result":{"protocolVersion":1}}`)
	feed(`{"id":2,"result":{"sessionId":"s"}}`)
	if _, err := p.Submit(start, adapters.Prompt{ID: "p", Text: "x"}); err != nil {
		b.Fatal(err)
	}
	line := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"some words of the answer "}}}}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Receive(start, adapters.Frame{Data: line}); err != nil {
			b.Fatal(err)
		}
	}
}

// A chunk of many MB is taken apart as it comes: what is left of it is not moved
// with each piece, and not held.
func TestHugeChunk(t *testing.T) {
	b := plain(t)
	b.prompt()
	text := strings.Repeat("ten bytes\n", 400*MaxText/10)
	b.chunk(text)
	if n := cap(b.p.(*Protocol).text.text); n > 4*MaxText {
		t.Errorf("%d bytes are held for the next text, want at most %d", n, 4*MaxText)
	}
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	var got strings.Builder
	for _, d := range b.drafts {
		if e, ok := d.Event.(contract.Text); ok {
			got.WriteString(e.Text)
		}
	}
	if got.String() != text {
		t.Errorf("%d bytes came out of %d, or others", got.Len(), len(text))
	}
}
