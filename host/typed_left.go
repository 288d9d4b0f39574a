package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// A message that was typed at the agent's own screen is the agent's: it stands in its own
// conversation, and a second one would be another message. What it had not come to when it
// ended is lost with it, though: that has a key, and is run by the next one, unless the
// session ended too.

// typedFile has the ids of messages without a key, one a line. The stream alone does not
// tell them from prompts that wait here.
const typedFile = "typed"

// belongs notes, before the stream has it, that a message is the agent's alone.
func (s *Session) belongs(d adapters.Draft, envs []contract.Envelope) {
	text, ok := d.Event.(contract.Text)
	if !ok || d.Role != contract.RoleUser || d.Key != "" || text.Steer {
		return
	}
	for _, e := range envs {
		if _, ok := e.Event.(contract.Text); !ok {
			continue
		}
		f, err := os.OpenFile(filepath.Join(s.dir, typedFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err == nil {
			_, err = f.WriteString(e.ID + "\n")
			_ = f.Close()
		}
		if err != nil {
			s.log.Warn("noting what was typed at the agent's screen", "session", s.cfg.ID, "err", err)
		}
	}
}

// readTyped are the ids of the messages of a session that are the agent's alone, given the
// session's own directory.
func readTyped(session string) map[string]bool {
	theirs := map[string]bool{}
	data, _ := os.ReadFile(filepath.Join(session, typedFile)) // there are none, mostly
	for line := range strings.Lines(string(data)) {
		theirs[strings.TrimSpace(line)] = true
	}
	return theirs
}

// typedLeft is about messages that were typed into a child that is gone, and that no turn
// took up. When the session goes on they wait as prompts: they stood before those that
// wait here. When it ends with the child people are told.
func (s *Session) typedLeft(ends bool) {
	left := s.typed
	s.typed = nil
	if len(left) == 0 {
		return
	}
	if !ends {
		var back []adapters.Prompt
		for _, t := range left {
			back = append(back, adapters.Prompt{ID: t.id, Text: t.text})
		}
		s.queue = append(back, s.queue...)
		return
	}
	var each []string
	for _, t := range left {
		each = append(each, quoted(t.text, t.id))
	}
	s.service(contract.ServiceNotice, contract.CodeHostStopped, fmt.Sprintf(
		"The agent ended before it came to what was typed at its screen, which only its own conversation has: %s.", strings.Join(each, ", ")))
}
