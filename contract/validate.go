package contract

import (
	"encoding/json/jsontext"
	"strconv"
	"strings"
	"unicode"

	"github.com/nrednav/cuid2"
)

// maxTime is the last millisecond of the year 9999, beyond which RFC 3339, and
// so the session contract, has no times.
const maxTime = 253_402_300_799_999

// Validate checks one envelope by itself: the shape of ids, roles (E7), values of
// enumerations, ranges, what may and must carry a turn. With ProfileStrict any
// member beyond the draft's tables is a fault. The error is Faults.
//
// Ids have the shape of the CUID2 reference's isCuid: 2 to 32 lower-case letters
// and digits, a letter first. The readable ids with an underscore in the draft's
// examples do not; each such fault has Rule "id". Call ids are any text.
//
// An Unknown event passes in the extended profile. How envelopes follow each
// other is the Validator's job.
func Validate(e Envelope, p Profile) error {
	c := checker{strict: p == ProfileStrict}
	c.id("id", e.ID)
	if e.Time < 1 || e.Time > maxTime {
		c.fault("", "time", "Unix milliseconds from 1 to 253402300799999", strconv.FormatInt(e.Time, 10))
	}
	enum(&c, "role", e.Role, roles())
	c.optID("turn", e.Turn)
	c.optID("subagent", e.Subagent)
	if e.Event == nil {
		c.fault("", "ev", "event", "nothing")
		return c.faults.err()
	}
	c.placement(e)
	c.path = "ev."
	c.event(e.Event)
	if c.path = ""; c.strict {
		c.onlyDraft(e)
	}
	return c.faults.err()
}

// checker collects the faults of one envelope. path is put before every name.
type checker struct {
	strict bool
	path   string
	faults Faults
}

func (c *checker) fault(rule, name, want, got string) {
	path := strings.TrimSuffix(c.path+name, ".")
	c.faults = append(c.faults, &PathError{Path: path, Want: want, Got: got, Rule: rule})
}

// at runs check with a longer path.
func (c *checker) at(name string, check func()) {
	outer := c.path
	c.path += name + "."
	check()
	c.path = outer
}

func index(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

func (c *checker) id(name, s string) {
	if !cuid2.IsCuid(s) {
		c.fault("id", name, "cuid2", quoted(s))
	}
}

func (c *checker) optID(name, s string) {
	if s != "" {
		c.id(name, s)
	}
}

func (c *checker) filled(name, s string) {
	if s == "" {
		c.fault("", name, "text that is not empty", `""`)
	}
}

func (c *checker) count(name string, n int64) {
	if n < 0 {
		c.fault("", name, "integer >= 0", strconv.FormatInt(n, 10))
	}
}

func enum[S ~string](c *checker, name string, v S, values []S) {
	if !oneOf(v, values) {
		c.fault("", name, listed(values), quoted(string(v)))
	}
}

func optEnum[S ~string](c *checker, name string, v S, values []S) {
	if v != "" {
		enum(c, name, v, values)
	}
}

// object takes nil for the empty object, as Encode does.
func (c *checker) object(name string, v jsontext.Value) {
	if _, ok := repaired(v); v != nil && (!ok || v.Kind() != jsontext.KindBeginObject && v.Kind() != jsontext.KindNull) {
		c.fault("", name, "object", describe(v))
	}
}

func (c *checker) raw(name string, v jsontext.Value) {
	if _, ok := repaired(v); v != nil && !ok {
		c.fault("", name, "JSON value", describe(v))
	}
}

// toolName checks that a name is canonical: lower case with hyphens. The server
// and tool of an MCP name keep their own spelling.
func (c *checker) toolName(name, s string) {
	ok := s != "" && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	if !strings.HasPrefix(s, "mcp/") {
		ok = ok && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsUpper(r) || r == '_' })
	}
	if !ok {
		c.fault("", name, "name in lower case with hyphens", quoted(s))
	}
}

// placement checks who may say the event (E7), and what it hangs on (E3).
func (c *checker) placement(e Envelope) {
	c.speaker(e)
	switch need := turnNeed(e); {
	case need == required && e.Turn == "":
		c.fault("E3", "turn", "turn of the agent's "+string(e.Event.EventType()), "nothing")
	case need == forbidden && e.Turn != "":
		c.fault("E3", "turn", "nothing on the user's "+string(e.Event.EventType()), quoted(e.Turn))
	}
	if e.Subagent != "" && !mayCarrySubagent(e) {
		c.fault("E6", "subagent", "nothing on the "+string(e.Role)+"'s "+string(e.Event.EventType()), quoted(e.Subagent))
	}
}

// speaker checks who says the event. A text that is both thinking and a steer may be
// said by nobody.
func (c *checker) speaker(e Envelope) {
	switch ev := e.Event.(type) {
	case TurnStart, TurnEnd, ToolCallStart, ToolCallEnd, Service, SubagentStart, SubagentStop, PermissionRequest:
		c.saidBy(RoleAgent, string(ev.EventType()), e)
	case PermissionResponse, Abort:
		c.saidBy(RoleUser, string(ev.EventType()), e)
	case Text:
		if ev.Thinking {
			c.saidBy(RoleAgent, "thinking text", e)
		}
		if ev.Steer {
			c.saidBy(RoleUser, "steer text", e)
		}
	}
}

// saidBy checks that e, which is what, is said by a role. A role that is none is
// another fault.
func (c *checker) saidBy(role Role, what string, e Envelope) {
	if e.Role != role && oneOf(e.Role, roles()) {
		c.fault("E7", "role", string(role)+" for "+what, string(e.Role))
	}
}

type need int

const (
	optional need = iota
	required
	forbidden
)

// turnNeed says whether e carries a turn. What the agent does happens inside
// one; what is told about the session may stand outside.
func turnNeed(e Envelope) need {
	switch ev := e.Event.(type) {
	case Unknown, PermissionResponse, Abort:
		return optional
	case Service, SessionControlChanged, AgentConfigurationChanged:
		if e.Role == RoleAgent {
			return optional
		}
	case Text:
		if ev.Steer {
			return optional
		}
	}
	if e.Role == RoleAgent {
		return required
	}
	return forbidden
}

// mayCarrySubagent: turns and control are the session's, not a sub-agent's.
func mayCarrySubagent(e Envelope) bool {
	switch ev := e.Event.(type) {
	case Unknown, PermissionResponse:
		return true
	case TurnStart, TurnEnd, SessionControlChanged:
		return false
	case Text:
		return e.Role == RoleAgent || ev.Steer
	}
	return e.Role == RoleAgent
}
