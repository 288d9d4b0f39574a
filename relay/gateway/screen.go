package gateway

import (
	"io"
	"net/http"
	"strings"

	"github.com/agenthost/agenthost/relay/wire"
)

// screenRoute is terminal.screen, whose answer is text for those who ask for no JSON:
// it is for eyes.
func screenRoute() route {
	rt := command("GET", "/v1/sessions/{session}/screen", wire.TerminalSnapshot, "The agent's own screen; text, or JSON if that is accepted", http.StatusOK)
	rt.Text = true
	asJSON := rt.handle
	rt.handle = func(g *Gateway, w http.ResponseWriter, r *http.Request, p Principal) error {
		if headerHas(r.Header, "Accept", "application/json") {
			return asJSON(g, w, r, p)
		}
		params, err := g.params(w, r, nil, shapeOf(wire.TerminalSnapshot), false)
		if err != nil {
			return err
		}
		result, err := g.command(r.Context(), p.Backend, p.Caller, wire.TerminalSnapshot, params)
		if err != nil {
			return err
		}
		var s wire.TerminalScreen
		if err := wire.UnmarshalStream(result, &s); err != nil {
			return err
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, strings.Join(s.Lines, "\n")+"\n") // what goes wrong now is the line's
		return nil
	}
	return rt
}
