package main

import (
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// Whoever is asked reads text, not the markdown of the stream.
func TestAskLine(t *testing.T) {
	for want, req := range map[string]contract.PermissionRequest{
		"Allow read_file [y/n]: grep 'a\\*b'": {Title: "Allow read\\_file \\[y/n\\]: `grep 'a\\*b'`"},
		"Which? colour: Red or blue_":         {Title: "Question\\_", Question: &contract.Question{Message: "Which?", Questions: []contract.QuestionField{{ID: "colour", Question: "Red or blue_"}}}},
	} {
		if got := askLine(req); got != want {
			t.Errorf("askLine = %q, want %q", got, want)
		}
	}
}
