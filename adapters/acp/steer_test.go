package acp

import (
	"errors"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

const canSteer = `{"protocolVersion":1,"agentCapabilities":{},"_meta":{"steering":{"supported":true}}}`

func TestSteerByPrompt(t *testing.T) {
	b := openBench(t, opencode(), adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	first := b.last("session/prompt")
	b.submit(adapters.Steer{ID: "x", Text: "left"})
	second := b.last("session/prompt")
	b.chunk("going left")
	b.result(first, `{"stopReason":"end_turn"}`)
	if !b.turn {
		t.Fatal("the turn ended with a message unanswered")
	}
	b.result(second, `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | text going left | turn-end completed")
	if o := b.done[len(b.done)-1]; o.ID != "x" || o.Err != nil {
		t.Errorf("outcome %+v", o)
	}
}

func TestSteerByExtension(t *testing.T) {
	b := openBench(t, fake, adapters.Options{}, canSteer, `{"sessionId":"s"}`)
	b.prompt()
	b.submit(adapters.Steer{ID: "x", Text: "left"})
	m := b.last("_session/steering")
	if got := string(m.Params); got != `{"sessionId":"s","prompt":[{"type":"text","text":"left"}],"_meta":{"steering":{"idleBehavior":"promptRequired"}}}` {
		t.Errorf("sent %s", got)
	}
	b.result(m, `{"outcome":"injected"}`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	if o := b.done[len(b.done)-1]; o.ID != "x" || o.Err != nil {
		t.Errorf("outcome %+v", o)
	}
	b.want("turn-start p1 | turn-end completed")
}

// TestSteerTooLate: the message is not lost when the turn is over before it comes.
func TestSteerTooLate(t *testing.T) {
	b := openBench(t, fake, adapters.Options{}, canSteer, `{"sessionId":"s"}`)
	b.prompt()
	b.submit(adapters.Steer{ID: "x", Text: "left"})
	m := b.last("_session/steering")
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.result(m, `{"outcome":"promptRequired","reason":"noRunningTurn"}`)
	p := b.last("session/prompt")
	if got := string(p.Params.Get("prompt")); got != `[{"type":"text","text":"left"}]` {
		t.Errorf("prompt %s", got)
	}
	b.result(p, `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | turn-end completed | turn-start x | turn-end completed")
	if o := b.done[len(b.done)-1]; o.ID != "x" || o.Err != nil {
		t.Errorf("outcome %+v", o)
	}
}

func TestSteerByDrain(t *testing.T) {
	spec := qwen()
	spec.Quirks.Since = ""
	b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	b.request("0", "craft/drainMidTurnQueue", `{"sessionId":"s"}`)
	if m, _ := b.reply("0"); string(m.Result) != `{"messages":[],"hasQueuedPrompt":false}` {
		t.Errorf("nothing to drain: %s", m.Result)
	}
	b.submit(adapters.Steer{ID: "x", Text: "left"})
	b.submit(adapters.Steer{ID: "y", Text: "then right"})
	b.request("1", "craft/drainMidTurnQueue", `{"sessionId":"s"}`)
	if m, _ := b.reply("1"); string(m.Result) != `{"messages":["left","then right"],"hasQueuedPrompt":false}` {
		t.Errorf("drained %s", m.Result)
	}
	if len(b.done) != 3 || b.done[1].ID != "x" || b.done[2].ID != "y" {
		t.Errorf("outcomes %+v", b.done)
	}
	if err := b.try(adapters.Steer{ID: "z", Text: "look", Files: []adapters.Attachment{{Name: "a", Path: "/w/a"}}}); !errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("a file: %v, want ErrUnsupported", err)
	}
	// Not drained before the end: it begins the next turn.
	b.submit(adapters.Steer{ID: "w", Text: "and stop"})
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | turn-end completed | turn-start w | turn-end completed")
}

// TestSteerAndStop: who stops does not want more work begun.
func TestSteerAndStop(t *testing.T) {
	spec := qwen()
	spec.Quirks.Since = ""
	b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	b.submit(adapters.Steer{ID: "x", Text: "left"})
	b.submit(adapters.Abort{})
	if o := b.done[len(b.done)-1]; o.ID != "x" || o.Err == nil {
		t.Errorf("outcome %+v, want an error", o)
	}
	b.submit(adapters.Steer{ID: "y", Text: "after the stop"}) // that is a new wish
	b.result(b.last("session/prompt"), `{"stopReason":"cancelled"}`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | turn-end cancelled | turn-start y | turn-end completed")
}

func TestSteerRefused(t *testing.T) {
	b := plain(t)
	b.prompt()
	if err := b.try(adapters.Steer{ID: "x", Text: "left"}); !errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("Steer = %v, want ErrUnsupported", err)
	}
	b = openBench(t, opencode(), adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	if err := b.try(adapters.Steer{ID: "x", Text: "left"}); err == nil || errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("Steer without a turn = %v, want an error that is not ErrUnsupported", err)
	}
	b.prompt()
	if err := b.try(adapters.Steer{ID: "x", Text: "  "}); err == nil {
		t.Error("an empty Steer was taken")
	}
}

// TestPromptInAutonomousTurn: a prompt ends the agent's own turn and begins one.
func TestPromptInAutonomousTurn(t *testing.T) {
	b := plain(t)
	b.chunk("I was thinking")
	b.prompt()
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start | text I was thinking | turn-end completed | turn-start p1 | turn-end completed")
	b.chunk("again")
	b.submit(adapters.Abort{})
	if b.turn || b.count("session/cancel") != 1 {
		t.Error("an abort did not end the agent's own turn")
	}
}

func TestQwenTurns(t *testing.T) {
	b := plain(t)
	b.request("0", "_qwencode/start_turn", `{"sessionId":"s"}`)
	b.chunk("in the background")
	b.line(`{"jsonrpc":"2.0","method":"_qwencode/end_turn","params":{"sessionId":"s"}}`)
	b.want("turn-start | text in the background | turn-end completed")
}

func TestPromptBlocks(t *testing.T) {
	file := adapters.Attachment{Name: "a b.txt", MIME: "text/plain", Path: "/w/a b.txt", Data: []byte("text")}
	image := adapters.Attachment{Name: "i.png", MIME: "image/png", Data: []byte{1, 2, 3}}
	for _, c := range []struct {
		caps  string
		files []adapters.Attachment
		want  string
	}{
		{
			`{"image":true,"embeddedContext":true}`,
			[]adapters.Attachment{file, image},
			`[{"type":"text","text":"see"},{"type":"resource","resource":{"uri":"file:///w/a%20b.txt","mimeType":"text/plain","text":"text"}},{"type":"image","mimeType":"image/png","data":"AQID"}]`,
		},
		{`{}`, []adapters.Attachment{file}, `[{"type":"text","text":"see"},{"type":"resource_link","uri":"file:///w/a%20b.txt","name":"a b.txt","mimeType":"text/plain","size":4}]`},
		{`{}`, []adapters.Attachment{{Path: "/w/x"}}, `[{"type":"text","text":"see"},{"type":"resource_link","uri":"file:///w/x","name":"x"}]`},
		{`{}`, []adapters.Attachment{image}, ``},
	} {
		b := openBench(t, fake, adapters.Options{}, `{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":`+c.caps+`}}`, `{"sessionId":"s"}`)
		err := b.try(adapters.Prompt{ID: "p", Text: "see", Files: c.files})
		if c.want == "" {
			if !errors.Is(err, adapters.ErrUnsupported) {
				t.Errorf("%s: %v, want ErrUnsupported", c.caps, err)
			}
			continue
		}
		if got := string(b.last("session/prompt").Params.Get("prompt")); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.caps, got, c.want)
		}
	}
	spec := fake
	spec.Quirks.ImagesAlone = true
	b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"image":true}}}`, `{"sessionId":"s"}`)
	if err := b.try(adapters.Prompt{ID: "p", Text: "see", Files: []adapters.Attachment{file, image}}); !errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("an image beside a file: %v, want ErrUnsupported: it would be lost", err)
	}
}

func TestStopReasons(t *testing.T) {
	for stop, want := range map[string]string{
		"max_tokens": "service notice | turn-end completed", "max_turn_requests": "service notice | turn-end completed",
		"refusal": "service notice | turn-end completed", "end_turn": "turn-end completed", "cancelled": "turn-end cancelled",
		"error": "service error | turn-end failed agent-error",
	} {
		b := plain(t)
		b.prompt()
		b.result(b.last("session/prompt"), `{"stopReason":"`+stop+`"}`)
		b.want("turn-start p1 | " + want)
		if e, ok := b.drafts[1].Event.(contract.Service); ok && strings.HasPrefix(want, "service notice") && e.Code == "" {
			t.Errorf("%s: no code", stop)
		}
	}
}
