package main

import (
	"os"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

// Whoever changes a type runs go generate ./client/ts.
func TestCommittedIsGenerated(t *testing.T) {
	want, err := types("../../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../agenthost.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("agenthost.d.ts is not what the types say: run go generate ./client/ts and read the diff")
	}
}

// All there is has a type: the fourteen events, every method of a viewer, every push.
func TestComplete(t *testing.T) {
	text, err := types("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range contract.EventTypes() {
		if !strings.Contains(string(text), "t: \""+string(e)+"\";") {
			t.Errorf("no event %s", e)
		}
	}
	for _, m := range wire.Methods() {
		if has := strings.Contains(string(text), "\""+m.Name+"\": { params"); has != (m.From == wire.PartyViewer) {
			t.Errorf("%s is there: %t", m.Name, has)
		}
	}
	for _, p := range wire.Pushes() {
		if !strings.Contains(string(text), "\""+p.Name+"\": ") {
			t.Errorf("no push %s", p.Name)
		}
	}
	if n := strings.Count(string(text), "{") - strings.Count(string(text), "}"); n != 0 {
		t.Errorf("%d braces stay open", n)
	}
}
