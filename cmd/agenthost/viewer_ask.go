package main

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/render"
	"github.com/agenthost/agenthost/relay/wire"
)

// requestOf reads what an ask is about.
func requestOf(a wire.Ask) (contract.PermissionRequest, error) {
	ev, err := contract.DecodeEvent(a.Request)
	if err != nil {
		return contract.PermissionRequest{}, err
	}
	req, ok := ev.(contract.PermissionRequest)
	if !ok {
		return contract.PermissionRequest{}, fmt.Errorf("the ask is about a %s", ev.EventType())
	}
	return req, nil
}

func newAsks(st *streams) *cobra.Command {
	var asJSON bool
	cmd, _ := viewerCommand("asks [SESSION]", "List what waits for somebody's decision, of all sessions without one",
		"  agenthost asks\n  agenthost asks last", cobra.MaximumNArgs(1),
		func(ctx context.Context, c *link, args []string) error {
			asks, err := asksOf(ctx, c, args)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(st.out, asks)
			}
			tw := tabwriter.NewWriter(st.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "SESSION\tCALL\tSINCE\tTOOL\tWHAT")
			for _, a := range asks {
				req, err := requestOf(a)
				if err != nil {
					return err
				}
				fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", a.Session, a.Call, ago(a.Opened), req.ToolName, oneLine(askLine(req)))
			}
			return tw.Flush()
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// askLine says in a line what an ask is about.
func askLine(req contract.PermissionRequest) string {
	if req.Question != nil {
		return questionLine(req.Question)
	}
	return render.Plain(req.Title)
}

// asksOf are the open asks of a session, or of all.
func asksOf(ctx context.Context, c *link, args []string) ([]wire.Ask, error) {
	if len(args) > 0 {
		return c.Asks(ctx, args[0])
	}
	sessions, err := c.Sessions(ctx, wire.SessionsParams{})
	if err != nil {
		return nil, err
	}
	all := []wire.Ask{}
	for _, s := range sessions {
		if s.Asks == 0 {
			continue
		}
		asks, err := c.Asks(ctx, s.ID)
		switch client.Code(err) {
		case wire.CodeNotFound, wire.CodeHostOffline: // it went meanwhile, or nobody can answer now
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, asks...)
	}
	return all, nil
}

// questionLine names the fields of a question, as answer takes them.
func questionLine(q *contract.Question) string {
	var fields []string
	for _, f := range q.Questions {
		fields = append(fields, f.ID+": "+f.Question)
	}
	return strings.TrimSpace(q.Message + " " + strings.Join(fields, "; "))
}

// pick is the ask that a person means: that of a call, or the only one.
func pick(ctx context.Context, c *link, ref, call string) (wire.Ask, error) {
	asks, err := c.Asks(ctx, ref)
	if err != nil {
		return wire.Ask{}, err
	}
	var calls []string
	for _, a := range asks {
		if a.Call == call {
			return a, nil
		}
		calls = append(calls, a.Call)
	}
	switch {
	case call != "":
		// The other side knows who was faster.
		return wire.Ask{Session: ref, Call: call}, nil
	case len(asks) == 1:
		return asks[0], nil
	case len(asks) == 0:
		return wire.Ask{}, &problem{code: exitFailed, what: "nothing waits for a decision"}
	}
	return wire.Ask{}, usage("name one: agenthost asks "+ref+" shows them", "several things wait for a decision: %s", strings.Join(calls, ", "))
}

func newApprove(*streams) *cobra.Command {
	var always bool
	var scope string
	var ttl time.Duration
	var args string
	cmd, _ := viewerCommand("approve SESSION [CALL]", "Allow what an agent asks for",
		"  agenthost approve last\n  agenthost approve last --always --scope project --ttl 24h", cobra.RangeArgs(1, 2),
		func(ctx context.Context, c *link, a []string) error {
			p := wire.DecideParams{Decision: contract.AllowOnce}
			if always {
				p.Decision, p.Scope, p.TTLMS = contract.AllowAlways, scope, ttl.Milliseconds()
			} else if scope != "" || ttl != 0 {
				return usage("add --always", "--scope and --ttl say what is remembered")
			}
			if args != "" {
				p.Args = jsontext.Value(args)
				if !p.Args.IsValid() {
					return usage("write it as a JSON object", "--args: want JSON")
				}
			}
			return decide(ctx, c, a, p)
		})
	cmd.Flags().BoolVar(&always, "always", false, "and remember it")
	cmd.Flags().StringVar(&scope, "scope", "", "remember it for `SCOPE`: session, project or user")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "remember it for this `TIME`; for ever without")
	cmd.Flags().StringVar(&args, "args", "", "other arguments for the tool, as `JSON`, where the agent takes them")
	return cmd
}

func newDeny(*streams) *cobra.Command {
	var message string
	cmd, _ := viewerCommand("deny SESSION [CALL]", "Refuse what an agent asks for",
		"  agenthost deny last --message 'use the staging server'", cobra.RangeArgs(1, 2),
		func(ctx context.Context, c *link, args []string) error {
			return decide(ctx, c, args, wire.DecideParams{Decision: contract.RejectOnce, Message: message})
		})
	cmd.Flags().StringVarP(&message, "message", "m", "", "tell the agent `WHY`, where it takes that")
	return cmd
}

// decide answers the ask that args name: SESSION [CALL].
func decide(ctx context.Context, c *link, args []string, p wire.DecideParams) error {
	call := ""
	if len(args) > 1 {
		call = args[1]
	}
	a, err := pick(ctx, c, args[0], call)
	if err != nil {
		return err
	}
	p.Session, p.Call, p.Nonce = a.Session, a.Call, a.Nonce
	_, err = c.Decide(ctx, p)
	return err
}

func newAnswer(*streams) *cobra.Command {
	var call, raw string
	cmd, _ := viewerCommand("answer SESSION [FIELD=VALUE...]", "Answer a question of an agent",
		"  agenthost answer last colour=blue\n  agenthost answer last yes", cobra.MinimumNArgs(1),
		func(ctx context.Context, c *link, args []string) error {
			a, err := pick(ctx, c, args[0], call)
			if err != nil {
				return err
			}
			answers := jsontext.Value(raw)
			if raw == "" {
				if answers, err = answersOf(a, args[1:]); err != nil {
					return err
				}
			} else if !answers.IsValid() {
				return usage("write it as a JSON object", "--json: want JSON")
			}
			_, err = c.Decide(ctx, wire.DecideParams{
				Session: a.Session, Call: a.Call, Nonce: a.Nonce, Decision: contract.AllowOnce, Answers: answers,
			})
			return err
		})
	cmd.Flags().StringVar(&call, "call", "", "the question of `CALL`, when there are several")
	cmd.Flags().StringVar(&raw, "json", "", "the answers as a `JSON` object, by field")
	return cmd
}

// answersOf makes answers of FIELD=VALUE; a question with one field takes a VALUE
// alone. One that takes several gets a list.
func answersOf(a wire.Ask, words []string) (jsontext.Value, error) {
	req, err := requestOf(a)
	if err != nil {
		return nil, err
	}
	if req.Question == nil {
		return nil, usage("agenthost approve or deny it", "%s is no question", a.Call)
	}
	fields := req.Question.Questions
	given := map[string][]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || !hasField(fields, name) {
			if len(fields) != 1 {
				return nil, usage("write FIELD=VALUE; the fields are "+fieldNames(fields), "want the answer to a field, got %q", w)
			}
			name, value = fields[0].ID, w
		}
		given[name] = append(given[name], value)
	}
	var b bytes.Buffer
	e := jsontext.NewEncoder(&b)
	_ = e.WriteToken(jsontext.BeginObject) // a buffer takes all
	for _, f := range fields {
		values := given[f.ID]
		switch {
		case len(values) == 0:
			continue
		case len(values) > 1 && !f.Multiple:
			return nil, usage("give one; --call CALL says which question is meant", "%s takes one answer, got %d: %q", f.ID, len(values), values)
		}
		_ = e.WriteToken(jsontext.String(f.ID))
		var v any = values[0]
		if f.Multiple {
			v = values
		}
		if err := json.MarshalEncode(e, v); err != nil {
			return nil, err
		}
	}
	if err := e.WriteToken(jsontext.EndObject); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func hasField(fields []contract.QuestionField, name string) bool {
	for _, f := range fields {
		if f.ID == name {
			return true
		}
	}
	return false
}

func fieldNames(fields []contract.QuestionField) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.ID)
	}
	return strings.Join(names, ", ")
}
