package contract_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/contracttest"
)

// TestStreamsAreValidInBothProfiles: generated streams have no fault, and what
// Strict leaves of them has none in the strict profile.
func TestStreamsAreValidInBothProfiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		extended, strict := contract.NewValidator(contract.ProfileExtended), contract.NewValidator(contract.ProfileStrict)
		stream := contracttest.Stream().Draw(t, "stream")
		for i, e := range stream {
			for _, f := range extended.Check(i+1, e) {
				t.Errorf("extended: %v", f)
			}
			s, ok := contract.Strict(e)
			if _, unknown := e.Event.(contract.Unknown); ok == unknown {
				t.Fatalf("Strict(%T) = %t", e.Event, ok)
			}
			if !ok {
				continue
			}
			for _, f := range strict.Check(i+1, s) {
				t.Errorf("strict: %v", f)
			}
			if again, _ := contract.Strict(s); !sameEnvelope(t, again, s) {
				t.Errorf("Strict is not a fix point: %+v, then %+v", s, again)
			}
		}
		for _, f := range append(extended.Finish(len(stream)+1), strict.Finish(len(stream)+1)...) {
			t.Errorf("finish: %v", f)
		}
	})
}

// TestBrokenStreamsAreNoticed: a valid stream with one envelope left out or
// written twice has faults.
func TestBrokenStreamsAreNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := contracttest.Stream().Draw(t, "stream")
		var places []int
		for i, e := range stream {
			switch e.Event.(type) {
			case contract.TurnStart, contract.TurnEnd, contract.ToolCallStart, contract.ToolCallEnd, contract.PermissionRequest,
				contract.PermissionResponse, contract.SubagentStart, contract.SubagentStop:
				places = append(places, i)
			}
		}
		if len(places) == 0 {
			return
		}
		i := rapid.SampledFrom(places).Draw(t, "place")
		if without := slices.Delete(slices.Clone(stream), i, i+1); faults(without) == 0 {
			t.Errorf("no fault without envelope %d, %+v", i, stream[i])
		}
		if twice := slices.Insert(slices.Clone(stream), i, stream[i]); faults(twice) == 0 {
			t.Errorf("no fault with envelope %d twice, %+v", i, stream[i])
		}
	})
}

// faults counts the faults of a stream.
func faults(stream []contract.Envelope) (n int) {
	v := contract.NewValidator(contract.ProfileExtended)
	for i, e := range stream {
		n += len(v.Check(i+1, e))
	}
	return n + len(v.Finish(len(stream)+1))
}

func sameEnvelope(t *rapid.T, a, b contract.Envelope) bool {
	t.Helper()
	x, errX := contract.Encode(a)
	y, errY := contract.Encode(b)
	if errX != nil || errY != nil {
		t.Fatalf("Encode = %v, %v", errX, errY)
	}
	return string(x) == string(y)
}
