package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCommittedIsGenerated: whoever changes the contract runs make schema.
func TestCommittedIsGenerated(t *testing.T) {
	files, err := generate(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 {
		t.Errorf("%d schemas, want 3", len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what the types say: run make schema and read the diff", name)
		}
	}
}
