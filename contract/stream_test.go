package contract_test

import (
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

// TestStrictOfAnything: what Strict makes of any envelope has the draft's members
// alone, whatever else is wrong with it.
func TestStrictOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := contracttest.Arbitrary().Draw(t, "envelope")
		before, err := contract.Encode(e)
		if err != nil {
			t.Fatalf("Encode = %v", err)
		}
		s, ok := contract.Strict(e)
		if !ok {
			return
		}
		faults, _ := contract.Validate(s, contract.ProfileStrict).(contract.Faults)
		for _, f := range faults {
			if f.Rule == "profile" {
				t.Errorf("Strict leaves: %v", f)
			}
		}
		if after, err := contract.Encode(e); err != nil || string(after) != string(before) {
			t.Errorf("Strict changed its argument: %s, then %s, %v", before, after, err)
		}
	})
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
