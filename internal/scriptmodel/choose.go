package scriptmodel

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// Kind says why a request was answered as it was.
type Kind string

const (
	KindScript  Kind = "script"  // a step of a script
	KindEcho    Kind = "echo"    // no script, or a used-up one
	KindChore   Kind = "chore"   // a request of the agent's own
	KindBroken  Kind = "broken"  // a script that could not be read or played
	KindCount   Kind = "count"   // token counting
	KindModels  Kind = "models"  // a list of models
	KindUnknown Kind = "unknown" // anything else, answered with 404 or 400
)

// defaultTokens is the usage of an answer whose script names none.
const defaultIn, defaultOut = 100, 10

// choose decides what a request is answered with.
func (s *Server) choose(p protocol, r *request, body []byte) *answer {
	a := s.pick(p, r)
	a.model = r.model
	a.serial = s.serial.Add(1)
	a.sum = crc32.ChecksumIEEE(body)
	if a.finish == "" {
		a.finish = "stop"
	}
	if !a.usage.explicitZero {
		a.usage = tokens{in: defaultIn, out: defaultOut}
	}
	n := 0
	for i := range a.beats {
		if b := &a.beats[i]; b.op == beatCall {
			if b.call.id == "" && p.callPrefix != "" {
				b.call.id = a.callID(p.callPrefix, n)
			}
			n++
		}
	}
	return a
}

func (s *Server) pick(p protocol, r *request) *answer {
	if c := chore(p, r); c != nil {
		return c
	}
	at := r.locate()
	if at.script == "" {
		return plainText(KindEcho, "You said: "+brief(at.later))
	}
	sc, err := parseScript(at.script)
	if err != nil {
		return broken(at, err)
	}
	if at.next >= len(sc.steps) {
		a := plainText(KindEcho, "done.")
		if at.later != "" {
			a = plainText(KindEcho, "You said: "+brief(at.later))
		}
		a.script, a.step = at.script, at.next
		return a
	}
	st, err := sc.steps[at.next].refer(r)
	if err != nil {
		return broken(at, err)
	}
	a, err := st.compose(r.tools, func(i, limit int) bool {
		return s.take(fmt.Sprintf("%d/%d/%d/%s", at.round, at.next, i, at.script), limit)
	})
	if err != nil {
		return broken(at, err)
	}
	a.script, a.step = at.script, at.next
	return a
}

func broken(at position, err error) *answer {
	a := plainText(KindBroken, "scriptmodel: "+err.Error())
	a.script, a.step = at.script, at.next
	return a
}

// briefLimit is how much of a prompt is repeated to it.
const briefLimit = 200

// brief is the text on one line, cut.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return slicesOf(text, briefLimit)[0]
}

// take counts one attempt at the failure that key names and reports whether it
// still happens.
func (s *Server) take(key string, limit int) bool {
	if limit == always {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[key]++
	return s.attempts[key] <= limit
}
