package main

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/redact"
)

// reported prints events a second apart as a report, and reads it again.
func reported(t *testing.T, events ...contract.Envelope) (junitSuite, string) {
	t.Helper()
	var out bytes.Buffer
	s := newJUnitSink(&out, "fake", "s1", redact.New("geheim-0001"))
	for i, e := range events {
		e.Time = 1796025600000 + 1000*int64(i)
		if e.ID == "" {
			e.ID = "e"
		}
		if err := s.envelope(host.Item{Envelope: e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	var r junitReport
	if err := xml.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	return r.Suite, out.String()
}

func ofUser(id string, ev contract.Event) contract.Envelope {
	return contract.Envelope{ID: id, Role: contract.RoleUser, Event: ev}
}

func ofAgent(ev contract.Event) contract.Envelope {
	return contract.Envelope{Role: contract.RoleAgent, Event: ev}
}

func TestJUnit(t *testing.T) {
	failed := &contract.Error{Code: contract.CodeAgentError, Message: "no <luck> \x1b[1m\nwith geheim-0001"}
	suite, whole := reported(t,
		ofUser("a", contract.Text{Text: "fix\nthe tests"}),
		ofAgent(contract.TurnStart{Prompts: []string{"a"}}),
		ofAgent(contract.ToolCallStart{Call: "c", Name: "bash", Title: "Run `npm test`", Description: "d"}),
		ofAgent(contract.ToolCallEnd{Call: "c", Result: &contract.ToolResult{Status: contract.ToolError, Error: "exit status 1"}}),
		ofAgent(contract.Text{Text: "They fail & that is that."}),
		ofAgent(contract.TurnEnd{Status: contract.TurnCompleted}),
		ofUser("b", contract.Text{Text: "again"}),
		ofAgent(contract.TurnStart{Prompts: []string{"b"}}),
		ofAgent(contract.TurnEnd{Status: contract.TurnFailed, Error: failed}),
		ofAgent(contract.TurnStart{}),
		ofUser("x", contract.Abort{}),
		ofAgent(contract.TurnEnd{Status: contract.TurnCancelled}),
		ofAgent(contract.TurnStart{}),
		ofAgent(contract.TurnEnd{Status: contract.TurnCancelled}),
	)
	if suite.Tests != 4 || suite.Failures != 2 || suite.Errors != 0 || suite.Skipped != 1 || suite.Time != "13.000" || suite.Timestamp != "2026-11-30T08:00:00" {
		t.Errorf("the suite is %+v", suite)
	}
	c := suite.Cases[0]
	if c.Name != "turn 1: fix the tests" || c.Time != "4.000" || c.Failure != nil || c.Skipped != nil {
		t.Errorf("the first turn is %+v", c)
	}
	for _, want := range []string{"npm test", "exit status 1", "They fail & that is that."} {
		if !strings.Contains(c.Out, want) {
			t.Errorf("what the first turn did is %q, want %q in it", c.Out, want)
		}
	}
	if f := suite.Cases[1].Failure; f == nil || f.Type != "agent-error" || !strings.HasPrefix(f.Message, "no <luck>") || !strings.Contains(f.Text, "with ***") {
		t.Errorf("the second turn failed with %+v", f)
	}
	if strings.Contains(suite.Cases[1].Out, "npm") {
		t.Errorf("the second turn has what the first did: %q", suite.Cases[1].Out)
	}
	if suite.Cases[2].Skipped == nil || suite.Cases[3].Failure == nil {
		t.Errorf("a turn that a person aborted is skipped, one that was cancelled else failed; got %+v", suite.Cases[2:])
	}
	if strings.Contains(whole, "geheim") {
		t.Errorf("a secret is in\n%s", whole)
	}
}

// A session that did not even open does not pass.
func TestJUnitOfNoTurn(t *testing.T) {
	suite, _ := reported(t, ofAgent(contract.Service{Kind: contract.ServiceError, Text: "could not be opened"}))
	if suite.Tests != 1 || suite.Errors != 1 || suite.Cases[0].Error == nil || suite.Cases[0].Error.Message != "could not be opened" {
		t.Errorf("the suite is %+v", suite)
	}
	if suite, _ := reported(t); suite.Tests != 0 || suite.Time != "0.000" {
		t.Errorf("the suite of nothing is %+v", suite)
	}
}
