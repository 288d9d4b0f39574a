package gemini

import (
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Gemini CLI tells a change of its mode as a chunk of text. A model that says just
// these words cannot be told from it; nothing but a display depends on it.
const modePrefix = "[MODE_UPDATE] "

var modeName = pattern(`^\w+$`)

// holdWait is how long a chunk that may be the first part of a mode update waits
// for the rest.
const holdWait = time.Second

// modeText holds chunks that may be the beginning of a mode update.
type modeText struct {
	frames [][]byte
	text   string
	until  time.Time
}

func (m *modeText) held() bool { return len(m.frames) > 0 }

// chunk handles a chunk of text and reports whether it was taken.
func (p *Protocol) chunk(now time.Time, f adapters.Frame, params rawjson.Value) bool {
	content := params.Get("update", "content")
	if content.Get("type").Text() != "text" || p.opener.replays(p.info) {
		return false
	}
	text := p.mode.text + content.Get("text").Text()
	mode, update := strings.CutPrefix(text, modePrefix)
	switch {
	case update && modeName().MatchString(mode) && !partOfMode(text):
		p.mode = modeText{}
		data := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`)
		data = rawjson.AppendString(data, params.Get("sessionId").Text())
		data = append(data, `,"update":{"sessionUpdate":"current_mode_update","currentModeId":`...)
		data = append(rawjson.AppendString(data, mode), '}', '}', '}')
		p.pass(now, adapters.Frame{Data: data})
		return true
	case partOfMode(text):
		p.mode.frames = append(p.mode.frames, append([]byte(nil), f.Data...))
		p.mode.text = text
		if p.mode.until.IsZero() {
			p.mode.until = now.Add(holdWait)
		}
		return true
	}
	return false
}

// partOfMode reports whether text is the beginning of a known mode's update.
func partOfMode(text string) bool {
	for _, mode := range []string{"default", "autoEdit", "yolo", "plan"} {
		if whole := modePrefix + mode; text != "" && len(text) < len(whole) && strings.HasPrefix(whole, text) {
			return true
		}
	}
	return false
}

// release passes on the chunks that were held: they were text.
func (p *Protocol) release(now time.Time) {
	held := p.mode.frames
	p.mode = modeText{}
	for _, data := range held {
		p.pass(now, adapters.Frame{Data: data})
	}
}
