package codex

import (
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Exit implements adapters.Protocol.
func (p *protocol) Exit(now time.Time, s adapters.ExitStatus) adapters.Step {
	p.begin(now)
	p.gone = true
	cause := exitError(s)
	if p.open.sent && !p.open.over {
		e := cause
		if e.code == contract.CodeAgentExited {
			e.code = contract.CodeStartFailed
		}
		p.openFailed(e)
	}
	p.stopChildren()
	if p.turn.open {
		p.keepPartials(p.root)
		p.closeTurn(p.exitTurn(s, cause))
	}
	p.closeAsks(p.root)
	p.leaveThere()
	p.endCalls(p.root, &contract.ToolResult{Status: contract.ToolError, Error: "the agent ended before this call did"})
	for _, in := range p.inputs {
		p.lost(in, s, cause)
	}
	p.inputs = nil
	p.compacted(cause)
	for _, w := range p.requests.Drain() {
		w.Value.got(reply{err: &cause})
	}
	return p.end()
}

// exitTurn is how a turn ends that the process did not live to end.
func (p *protocol) exitTurn(s adapters.ExitStatus, cause wireError) contract.TurnEnd {
	switch {
	case p.turn.aborted, p.tui != nil && s.Code == 0 && s.Signal == "" && s.Err == "" && !s.Requested:
		// The person who quits the screen leaves its turn.
		return contract.TurnEnd{Status: contract.TurnCancelled}
	case s.Requested:
		return failedTurn(wireError{contract.CodeHostStopped, "the agent was stopped"})
	case p.turn.failure != nil && p.turn.retryBy.IsZero(): // one that is retried is no end
		return failedTurn(*p.turn.failure)
	}
	return failedTurn(cause)
}

// lost ends an input that the process never took up.
func (p *protocol) lost(in *input, s adapters.ExitStatus, cause wireError) {
	if in.steer {
		p.fail(in.id, cause)
		return
	}
	end := failedTurn(cause)
	switch {
	case p.abortNext:
		end = contract.TurnEnd{Status: contract.TurnCancelled}
	case s.Requested:
		end = failedTurn(wireError{contract.CodeHostStopped, "the agent was stopped"})
	}
	p.emit(adapters.Draft{Event: contract.TurnStart{}, Prompts: []string{in.id}})
	p.emit(adapters.Draft{Event: end})
}

// exitError is why the process ended, from what it wrote on stderr when that says
// more than "it ended".
func exitError(s adapters.ExitStatus) wireError {
	e := wireError{contract.CodeAgentExited, exitText(s)}
	if strings.Contains(s.Err, "executable file not found") || strings.Contains(s.Err, "no such file or directory") {
		e.code = contract.CodeNotInstalled
		return e
	}
	if code, ok := wordingCode(s.Stderr); ok {
		e.code = code
	}
	return e
}

// exitText says how a process ended, with the end of its stderr.
func exitText(s adapters.ExitStatus) string {
	text := fmt.Sprintf("the agent ended without a result (exit status %d)", s.Code)
	switch {
	case s.Err != "":
		text = "the agent could not run: " + s.Err
	case s.Signal != "":
		text = "the agent was ended by " + s.Signal
	}
	if tail := logText(s.Stderr); tail != "" {
		text += ": " + tail
	}
	return text
}

// logText takes the messages out of stderr, whose lines are JSON records of a log
// or plain text.
func logText(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if v, err := rawjson.Parse([]byte(line)); err == nil && v.Kind() == rawjson.Object {
			line = orElse(v.Get("fields", "message").Text(), line)
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
