package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{"a long note", "short"} {
		if err := first.Note(note); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != note {
			t.Errorf("note = %q, %v; want %q", got, err, note)
		}
	}
	if _, err := Try(path); !errors.Is(err, ErrHeld) {
		t.Errorf("Try of a lock that is held = %v, want ErrHeld", err)
	}
	if held, err := Held(path); !held || err != nil {
		t.Errorf("Held of a lock that is held = %v, %v", held, err)
	}
	first.Unlock()
	if held, err := Held(path); held || err != nil {
		t.Errorf("Held after Unlock = %v, %v", held, err)
	}
	if held, err := Held(path + "-not-there"); held || err != nil {
		t.Errorf("Held of no file = %v, %v", held, err)
	}
	second, err := Try(path)
	if err != nil {
		t.Fatalf("Try after Unlock = %v", err)
	}
	second.Unlock()
	if _, err := Try(filepath.Join(path, "no")); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("Try in a directory that is not there = %v, want another error", err)
	}
}
