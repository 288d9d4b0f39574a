package gemini

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// startWait is how long a person may take for the questions at the start; it is
// shorter than what acp waits for a session.
const startWait = 4*time.Minute + 30*time.Second

// bareWait is how long the input line stands before a start without hooks counts as
// one: the hook of a start comes soon after it. loadWait is the same where a session is
// resumed of which nothing says that it was loaded.
const (
	bareWait = 5 * time.Second
	loadWait = 30 * time.Second
)

// starting is the opening of the session.
type starting struct {
	id      string        // the agent's session, empty while it is not known
	wire    string        // what acp was told it is
	request rawjson.Value // acp's, that waits for the session
	done    bool
	until   time.Time // when to give up
	shown   time.Time // since when the input line stands
	hooked  time.Time // when a hook was first heard, zero before
	loaded  time.Time // when the resumed session was seen to be loaded, zero before
	at      time.Time // when to look again
	told    string    // the gate that was told
	native  bool      // a conversation exists, so that its id is worth keeping
	named   bool      // and was told
}

// begin follows the opening.
func (t *terminal) begin() {
	t.open.until = t.now.Add(startWait)
	if t.info.Options.Resume != "" {
		t.open.id = t.info.Options.Resume
		t.open.native = true
	} else if !t.info.Options.Continue {
		t.open.id = startedAs(t.info.Launch)
	}
	if chats := chatsOf(t.info); chats != "" {
		from := int64(0)
		if t.info.Options.Resume != "" {
			from = -1
		}
		t.follow(chats, from)
	}
}

// startedAs is the id that a new session was given.
func startedAs(l adapters.Launch) string {
	if i := slices.Index(l.Argv, sessionArg); i >= 0 && i+1 < len(l.Argv) {
		return l.Argv[i+1]
	}
	return ""
}

// chatsOf is the pattern that Launch found.
func chatsOf(info adapters.TerminalInfo) string {
	for _, e := range info.Launch.Env {
		if e.Name == chatsVar {
			return e.Value
		}
	}
	return ""
}

// start goes on with the opening.
func (t *terminal) start() {
	o := &t.open
	o.at = time.Time{}
	if o.done || o.request == nil {
		return
	}
	if gate := t.view.gate; gate != "" && o.told != gate {
		o.told = gate
		t.notice(fmt.Sprintf("Gemini CLI asks at its terminal %s. It goes on when that is answered there.", gate), "")
	}
	if !t.view.composer {
		o.shown = time.Time{}
	} else if o.shown.IsZero() {
		o.shown = t.now
	}
	free := o.free(t)
	switch {
	case t.due(free):
		t.ready()
	case t.due(o.until):
		why := "its input line did not appear"
		if t.view.gate != "" {
			why = "it asks at its terminal " + t.view.gate
		}
		t.say(jsonrpc.AppendError(nil, o.request, jsonrpc.InternalError, "Gemini CLI is not ready: "+why+".", nil))
		o.request, o.done = nil, true
		t.drain()
	default:
		o.at = o.until
		if !free.IsZero() && free.Before(o.at) {
			o.at = free
		}
	}
}

// free is when the input line that stands is the one of the session, zero while none is.
//
// Of a session that is resumed Gemini CLI shows an input line before the session is
// loaded. It takes what is typed there, and loses it or what was said before.
func (o *starting) free(t *terminal) time.Time {
	resumed := t.info.Options.Resume != "" || t.info.Options.Continue
	switch {
	case !t.view.composer:
		return time.Time{}
	case !resumed && !o.hooked.IsZero(), resumed && !o.loaded.IsZero() && t.viewT.After(o.loaded):
		return t.now
	case !resumed:
		return o.shown.Add(bareWait)
	case !o.loaded.IsZero() || !o.hooked.IsZero(): // that its screen is not new is unlikely
		return later(o.shown, later(o.hooked, o.loaded)).Add(bareWait)
	}
	return o.shown.Add(loadWait)
}

// ready answers acp's request for a session.
func (t *terminal) ready() {
	o := &t.open
	if o.done || o.request == nil {
		return
	}
	if o.id == "" { // the newest one, and no hook to name it
		o.id = "unknown"
	}
	o.wire = o.id
	id := rawjson.AppendString(nil, o.wire)
	request := o.request
	o.request, o.done = nil, true
	t.answer(request, `{"sessionId":`+string(id)+`}`)
	t.drain()
	t.step = joined(t.step, adapters.Step{Facts: &adapters.Facts{Mode: t.mode()}})
}

// mode is the permission mode of the start.
func (t *terminal) mode() string {
	if m := t.info.Options.Mode; m != "" {
		return m
	}
	return string(contract.ModeDefault)
}

// facts keeps back the id of a session in which nothing was said: there is no file
// that it could be resumed from.
func (o *starting) facts(f *adapters.Facts) {
	if f.NativeSession != "" {
		f.NativeSession = ""
		if o.native {
			f.NativeSession, o.named = o.id, true
		}
	}
	f.AgentVersion = ""
}

// conversed notes that the session has a conversation.
func (t *terminal) conversed() {
	t.open.native = true
	if !t.open.named && t.open.id != "" {
		t.open.named = true
		t.step = joined(t.step, adapters.Step{Facts: &adapters.Facts{NativeSession: t.open.id}})
	}
}

// sessionIs takes the session that a hook names: another one after /clear, or when
// an earlier one was opened at the terminal.
func (t *terminal) sessionIs(id, path, source string) {
	o := &t.open
	if id == "" || !sessionID().MatchString(id) {
		return
	}
	if path != "" && path != t.chat.path {
		t.chat.path = path
		if known, err := filepath.Match(chatsOf(t.info), path); err != nil || !known {
			t.follow(path, -1)
		}
	}
	if id == o.id {
		return
	}
	was := o.id
	o.id = id
	if !o.done {
		return
	}
	o.native, o.named = source == "resume", false
	switch source {
	case "resume":
		t.notice("An earlier session was opened at the terminal.", "")
		t.conversed()
	case "clear":
		t.notice("The conversation was cleared at the terminal: the model knows nothing of what is above.", "")
	default:
		t.notice(fmt.Sprintf("Gemini CLI went on with session %s in place of %s.", id, strings.TrimSpace(was)), "")
	}
}

// screen takes a screen that has come to rest.
func (t *terminal) screen(data []byte) {
	s, err := adapters.ParseScreen(data)
	if err != nil {
		t.errs = append(t.errs, fmt.Errorf("decoding a screen: %w", err))
		return
	}
	t.view, t.viewT = look(s), t.now
	if t.view.resuming {
		t.open.loaded = t.now
	}
	t.turn.looked(t.view, t.now)
	t.gate.looked(t.view)
}
