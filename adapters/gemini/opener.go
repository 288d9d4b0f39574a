package gemini

import (
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// opener follows the opening of the session.
type opener struct {
	id   string // of the Open command
	done bool   // its outcome is there
	// request is our id of the request that opens the session, nil before it.
	request rawjson.Value
	loadAt  time.Time // when an earlier session may be loaded
	told    bool      // that it is waited for
	pages   int       // login pages that were told
}

// replays reports whether what comes is history: an earlier session is being
// opened. Texts in it are passed on as they are; none of them becomes an envelope.
func (o *opener) replays(info adapters.SessionInfo) bool {
	return !o.done && info.Options.Resume != ""
}

// wrote finds the request that opens the session.
func (o *opener) wrote(messages [][]byte) {
	if o.done {
		return
	}
	for _, m := range messages {
		msg, err := jsonrpc.Parse(m)
		if err == nil && msg.Kind == jsonrpc.Request && strings.HasPrefix(msg.Method, "session/") {
			o.request = rawjson.Value(msg.ID.Clean())
		}
	}
}

// waiting tells once that a load is put off.
func (p *Protocol) waiting(now time.Time) {
	const bearable = 2 * time.Second
	wait := p.opener.loadAt.Sub(now)
	if p.opener.told || wait <= bearable {
		return
	}
	p.opener.told = true
	p.notice(fmt.Sprintf("Resuming in %v: Gemini CLI loses a session that is loaded in the minute in which it was last opened.",
		wait.Round(time.Second)), "")
}

// loginPrompt ends the start when Gemini CLI wants a login code typed in: it would
// read it from the protocol's own channel. The request that opens the session is
// answered in its place.
func (p *Protocol) loginPrompt(now time.Time, line []byte) bool {
	text := string(line)
	if p.opener.done || p.opener.request == nil ||
		!strings.Contains(text, "Please visit the following URL to authorize") && !strings.Contains(text, "Enter the authorization code") {
		return false
	}
	answer := jsonrpc.AppendError(nil, p.opener.request, jsonrpc.AuthRequired, "Gemini CLI is not logged in: it asks for an authorization code.", nil)
	p.opener.request = nil
	p.pass(now, adapters.Frame{Data: answer[:len(answer)-1]})
	return true
}

var loginURL = pattern(`https://accounts\.google\.com/[^\s"'<>]+`)

// maxPages bounds how many login pages are told.
const maxPages = 3

// loginPage tells the address at which Gemini CLI wants a person to log in.
func (p *Protocol) loginPage(line []byte) {
	if p.opener.done || p.opener.id == "" || p.opener.pages >= maxPages {
		return
	}
	if url := loginURL().Find(line); url != nil {
		p.opener.pages++
		p.notice("Gemini CLI asks you to log in: "+rawjson.Repair(string(url)), contract.CodeAuthRequired)
	}
}
