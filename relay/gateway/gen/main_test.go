package main

import (
	"os"
	"testing"
)

// Whoever changes the routes or the types of the wire runs go generate ./relay/gateway.
func TestCommittedIsGenerated(t *testing.T) {
	want, err := document("../../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("openapi.json is not what the routes say: run go generate ./relay/gateway and read the diff")
	}
}
