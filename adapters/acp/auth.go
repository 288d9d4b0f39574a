package acp

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// openCall sends a request that opens a session. When the agent wants a login and
// one is configured, it is done once and the request sent again.
func (p *Protocol) openCall(method string, params any, then func(reply)) {
	p.call(method, params, OpenWait, func(r reply) {
		method0, login := method, p.setting("auth")
		if r.err != nil && r.err.Code == jsonrpc.AuthRequired && login != "" && !p.opener.authTried {
			p.authenticate(login, func() { p.openCall(method0, params, then) })
			return
		}
		then(r)
	})
}

// authenticate logs in by the configured method. It may open a browser or change
// the agent's settings, so it happens only when a person configured it.
func (p *Protocol) authenticate(methodID string, then func()) {
	p.opener.authTried, p.opener.authRunning = true, true
	params := struct {
		MethodID string `json:"methodId"`
	}{methodID}
	p.call("authenticate", params, AuthWait, func(r reply) {
		p.opener.authRunning = false
		if !r.ok() {
			fault := p.startFault(r, "authenticate")
			if !r.gone {
				fault.Code = contract.CodeAuthRequired
			}
			p.openFailed(fault)
			return
		}
		then()
	})
}

// urlPattern is compiled when it is first used: most runs of the program never do.
var urlPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`https?://[^\s"'<>]+`)
})

// stderr surfaces the address of a login page; everything else there is the
// host's to keep.
func (p *Protocol) stderr(line []byte) {
	if !p.opener.authRunning || p.opener.urls >= 3 {
		return
	}
	if url := urlPattern().Find(line); url != nil {
		p.opener.urls++
		p.emit(contract.Service{
			Text: fmt.Sprintf("%s asks you to log in: %s", p.name(), rawjson.Repair(string(url))),
			Kind: contract.ServiceNotice, Code: contract.CodeAuthRequired,
		})
	}
}
