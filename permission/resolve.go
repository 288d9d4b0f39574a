package permission

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/grant"
	"github.com/agenthost/agenthost/permission/policy"
)

// ErrDenied says that a deny rule forbids what a person wanted to allow: arguments
// they edited, or a file that leads elsewhere since. The ask stays open.
type ErrDenied struct{ Rule string }

// Error implements error.
func (e *ErrDenied) Error() string { return "a rule forbids it: " + e.Rule }

// Resolve gives a person's decision. It returns nil when the decision counts, or
// when the same envelope was taken before. Errors: *ErrResolved, ErrUnknown,
// ErrStale, ErrNotTaken, *ErrDenied; the ask is untouched by all of them, but for
// ErrStale, after which it is offered anew with another nonce when what it is
// about has changed.
func (m *Mediator) Resolve(ctx context.Context, id string, r Response) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.By.Resolver == "" {
		r.By.Resolver = contract.ByClient
	}
	for {
		o, err := m.lookUp(id, &r)
		if err != nil || o == nil {
			return err
		}
		ask, places := m.shown(o)
		if err := takes(&ask, &r); err != nil {
			return err
		}
		d, err := m.check(&ask, &r, places)
		if errors.Is(err, ErrStale) {
			return fmt.Errorf("%w; it is asked anew, with nonce %q", err, m.offerAnew(o, d))
		}
		if err != nil {
			return err
		}
		if m.take(o, &ask, &r, d) {
			return nil
		}
		// Somebody was faster, or the rules changed: see which.
	}
}

// lookUp finds the open ask that r is about. It is nil without an error when the
// same envelope was taken before.
func (m *Mediator) lookUp(id string, r *Response) (*open, error) {
	m.mu.Lock()
	o := m.asks[id]
	s, known := m.settled[id]
	closing := m.closing[id]
	m.mu.Unlock()
	switch {
	case o != nil:
		return o, nil
	case !known && closing != nil:
		<-closing.done
		return m.lookUp(id, r)
	case !known:
		return nil, fmt.Errorf("%w: %q", ErrUnknown, id)
	case r.EnvelopeID != "" && s.envelope == r.EnvelopeID:
		return nil, nil
	}
	return nil, &ErrResolved{ID: id, Decision: s.decision, By: s.by}
}

func (m *Mediator) shown(o *open) (Ask, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return o.ask, o.places
}

// takes checks r against what the ask takes.
func takes(ask *Ask, r *Response) error {
	switch r.Decision {
	case contract.AllowOnce, contract.AllowAlways, contract.RejectOnce, contract.RejectAlways:
	default:
		return fmt.Errorf("%w: want allow-once, allow-always, reject-once or reject-always, got %q", ErrNotTaken, r.Decision)
	}
	switch {
	case r.Nonce != "" && r.Nonce != ask.Nonce:
		return fmt.Errorf("%w: it was made for another showing of the ask, want nonce %q, got %q", ErrStale, ask.Nonce, r.Nonce)
	case r.Args != nil && !ask.CanEditArgs:
		return fmt.Errorf("%w: the agent does not take edited arguments", ErrNotTaken)
	case r.Args != nil && r.Args.Kind() != '{':
		return fmt.Errorf("%w: want arguments as an object, got %s", ErrNotTaken, r.Args.Kind())
	case r.Args != nil && !r.Decision.Allows():
		return fmt.Errorf("%w: want edited arguments with an allow only", ErrNotTaken)
	case r.Message != "" && !ask.CanMessage:
		return fmt.Errorf("%w: the agent does not take feedback", ErrNotTaken)
	case r.Answers != nil && ask.Question == nil:
		return fmt.Errorf("%w: it is no question, it takes no answers", ErrNotTaken)
	case r.TTL < 0:
		return fmt.Errorf("%w: want a time to remember of 0 or more, got %s", ErrNotTaken, r.TTL)
	}
	if _, err := grant.ParseScope(string(r.Scope)); err != nil {
		return fmt.Errorf("%w: %w", ErrNotTaken, err)
	}
	if ask.Question != nil && r.Decision.Allows() {
		return answered(ask.Question, r.Answers)
	}
	return nil
}

// answered checks that answers is an object with every field that is required.
func answered(q *contract.Question, answers jsontext.Value) error {
	if answers == nil {
		answers = jsontext.Value("{}")
	}
	if answers.Kind() != '{' {
		return fmt.Errorf("%w: want answers as an object, got %s", ErrNotTaken, answers.Kind())
	}
	given := map[string]bool{}
	if err := eachMember(answers, func(name string, v jsontext.Value) { given[name] = v.Kind() != 'n' }); err != nil {
		return fmt.Errorf("%w: reading the answers: %w", ErrNotTaken, err)
	}
	for _, f := range q.Questions {
		if f.Required && !given[f.ID] {
			return fmt.Errorf("%w: want an answer to %q", ErrNotTaken, f.ID)
		}
	}
	return nil
}

// checked is what an allow was held against.
type checked struct {
	policy *policy.Policy
	places string
	key    string
	covers []string
	// canRemember: a grant may be made.
	canRemember bool
}

// check holds an allow against the rules as they are now. The answer of a person
// beats everything but a deny rule.
func (m *Mediator) check(ask *Ask, r *Response, places string) (checked, error) {
	p, mode, _ := m.rules(ask.Session)
	d := checked{policy: p}
	if !r.Decision.Allows() {
		return d, nil
	}
	use := *ask
	if r.Args != nil {
		use.Args = r.Args
	}
	a := p.Analyse(request(&use))
	defer a.Release()
	d.places = a.Places()
	e := p.Judge(a, mode)
	if e.Verdict == policy.Deny && e.Stage == policy.ByRule {
		return d, &ErrDenied{Rule: e.Rule}
	}
	if r.Args == nil && d.places != places {
		return d, fmt.Errorf("%w: a file that it names leads elsewhere than when it was shown", ErrStale)
	}
	d.key, d.canRemember = rememberable(&use, a, e)
	d.covers = a.Covers()
	return d, nil
}

// offerAnew shows an ask again whose files lead elsewhere now, and returns its nonce.
func (m *Mediator) offerAnew(o *open, d checked) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asks[o.ask.ID] == o && o.places != d.places {
		o.places = d.places
		o.ask.Nonce = m.o.NewNonce()
		m.tellOpenLocked(o)
	}
	return o.ask.Nonce
}

// take settles o with r, and reports false when it is not open any more or was
// checked against rules that have changed.
func (m *Mediator) take(o *open, ask *Ask, r *Response, d checked) bool {
	m.mu.Lock()
	if m.asks[o.ask.ID] != o || o.ask.Nonce != ask.Nonce || m.rulesLocked(ask.Session) != d.policy {
		m.mu.Unlock()
		return false
	}
	m.claimLocked(o)
	o.envelope = r.EnvelopeID
	m.mu.Unlock()
	a := Answer{
		EnvelopeID: r.EnvelopeID, Decision: r.Decision, By: r.By, Message: r.Message, Args: r.Args,
		Answers: r.Answers, Recorded: recorded(ask.Question, r.Answers),
	}
	if !r.Decision.Allows() {
		a.Answers, a.Recorded = nil, nil
	}
	if r.Decision == contract.RejectAlways && !offers(ask, contract.RejectAlways) {
		a.AgentDecision = contract.RejectOnce
	}
	var remember func(Answer) Answer
	if r.Decision == contract.AllowAlways {
		remember = func(a Answer) Answer { return m.remember(ask, r, d, a) }
	}
	m.finish(o, a, remember)
	return true
}

func offers(ask *Ask, d contract.Decision) bool {
	return slices.ContainsFunc(ask.Options, func(o contract.PermissionOption) bool { return o.Decision == d })
}

// remember makes the grant of an allow-always. What cannot be remembered counts
// once.
func (m *Mediator) remember(ask *Ask, r *Response, d checked, a Answer) Answer {
	if d.policy.Remember == policy.RememberAgent {
		a.AgentDecision = contract.AllowAlways
		return a
	}
	a.AgentDecision = contract.AllowOnce
	if !d.canRemember || m.o.Grants == nil {
		a.Decision = contract.AllowOnce
		return a
	}
	g, err := m.o.Grants.Add(m.grantOf(ask, r, d))
	if err != nil {
		m.o.Logger.Error("remembering a decision", "session", ask.Session, "err", err)
		a.Decision = contract.AllowOnce
		return a
	}
	a.Grant = g.ID
	return a
}

func (m *Mediator) grantOf(ask *Ask, r *Response, d checked) grant.Grant {
	scope, _ := grant.ParseScope(string(r.Scope)) // checked by takes
	g := grant.Grant{
		Scope: scope, Tool: ask.Tool, Key: grantKey(ask, d.key), Covers: joinCovers(d.covers),
		Origin: grant.Origin{
			Session: ask.Session, Agent: ask.Agent, ClientType: string(r.By.ClientType), TokenID: r.By.TokenID, Cwd: ask.Cwd,
		},
	}
	switch scope {
	case grant.Session:
		g.In = ask.Session
	case grant.Project:
		g.In = ask.Project
	}
	if r.TTL > 0 {
		g.Expires = m.o.Now().Add(r.TTL).UTC().Round(time.Second)
	}
	return g
}

func joinCovers(list []string) string {
	const most = 2000
	var b bytes.Buffer
	for i, s := range list {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(s)
		if b.Len() > most {
			b.Truncate(most)
			return string(bytes.ToValidUTF8(b.Bytes(), nil)) + "…"
		}
	}
	return b.String()
}

// eachMember calls f for every member of a JSON object.
func eachMember(v jsontext.Value, f func(name string, v jsontext.Value)) error {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		val, err := d.ReadValue()
		if err != nil {
			return err
		}
		f(key, val)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return errors.New("want one object, got more")
	}
	return nil
}

// maskMembers copies an object with the members that keep refuses set to null.
func maskMembers(v jsontext.Value, keep func(name string) bool) jsontext.Value {
	var b bytes.Buffer
	e := jsontext.NewEncoder(&b)
	fail := e.WriteToken(jsontext.BeginObject)
	err := eachMember(v, func(name string, val jsontext.Value) {
		if !keep(name) {
			val = jsontext.Value("null")
		}
		fail = errors.Join(fail, e.WriteToken(jsontext.String(name)), e.WriteValue(val))
	})
	if errors.Join(err, fail, e.WriteToken(jsontext.EndObject)) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}
