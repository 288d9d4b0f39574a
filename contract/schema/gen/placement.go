package main

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agenthost/agenthost/contract"
)

// placement says who may say what, and what carries a turn or a sub-agent: the
// rules E3, E6 and E7 as far as they concern one envelope. That it agrees with
// contract.Validate is tested.
func placement() []*jsonschema.Schema {
	var (
		agent    = member("role", constant(contract.RoleAgent))
		user     = member("role", constant(contract.RoleUser))
		thinking = event(all(member("t", constant(contract.TypeText)), member("thinking", constant(true))))
		steer    = event(all(member("t", constant(contract.TypeText)), member("steer", constant(true))))
		talk     = ofType(contract.TypeText, contract.TypeFile)
		settings = ofType(contract.TypeSessionControlChanged, contract.TypeAgentConfigurationChanged)
		work     = ofType(contract.TypeTurnStart, contract.TypeTurnEnd, contract.TypeToolCallStart, contract.TypeToolCallEnd,
			contract.TypeSubagentStart, contract.TypeSubagentStop, contract.TypePermissionRequest)
		sessions = ofType(contract.TypeTurnStart, contract.TypeTurnEnd, contract.TypeSessionControlChanged)
		asides   = ofType(contract.TypeFile, contract.TypeAgentConfigurationChanged, contract.TypeAbort)
	)
	return []*jsonschema.Schema{
		when(either(work, ofType(contract.TypeService), thinking), agent),
		when(either(ofType(contract.TypePermissionResponse, contract.TypeAbort), steer), user),
		when(all(agent, either(work, all(talk, not(steer)))), &jsonschema.Schema{Required: []string{"turn"}}),
		when(all(user, either(settings, all(talk, not(steer)))), without("turn")),
		when(either(sessions, all(user, either(asides, all(ofType(contract.TypeText), not(steer))))), without("subagent")),
	}
}

func constant[T any](v T) *jsonschema.Schema {
	var value any = v
	return &jsonschema.Schema{Const: &value}
}

// member says that an object has a member like s.
func member(name string, s *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Required: []string{name}, Properties: map[string]*jsonschema.Schema{name: s}}
}

// event says that the envelope's event is like s.
func event(s *jsonschema.Schema) *jsonschema.Schema { return member("ev", s) }

func ofType(types ...contract.EventType) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, t := range types {
		s.Enum = append(s.Enum, string(t))
	}
	return event(member("t", s))
}

func without(name string) *jsonschema.Schema {
	return not(&jsonschema.Schema{Required: []string{name}})
}

func when(condition, then *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{If: condition, Then: then}
}

func all(list ...*jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{AllOf: list} }

func either(list ...*jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{AnyOf: list} }

func not(s *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{Not: s} }

// never is what no value is.
func never() *jsonschema.Schema { return not(&jsonschema.Schema{}) }
