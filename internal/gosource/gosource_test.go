package gosource

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": `package a

// Colour is what
// it looks like.
type Colour string

const (
	Red  Colour = "red"
	Blue Colour = "blue"
	size int    = 3
)

// Thing has some.
type Thing struct {
	// Name is for people.
	Name string
	Size int // in bytes
}
`,
		"a_test.go": "package a\n\ntype Hidden struct{}\n",
		"b.txt":     "no Go",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Colour": "Colour is what it looks like.", "Thing": "Thing has some.", "Thing.Name": "Name is for people.", "Thing.Size": "in bytes", "Hidden": "",
	} {
		if got := s.Docs[name]; got != want {
			t.Errorf("the comment of %s is %q, want %q", name, got, want)
		}
	}
	if got := s.Enums["Colour"]; !slices.Equal(got, []any{"red", "blue"}) || len(s.Enums["int"]) != 0 {
		t.Errorf("the constants are %v", s.Enums)
	}
	if _, err := Read(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there is read")
	}
}
