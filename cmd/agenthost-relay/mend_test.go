package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A store that cannot be written to is opened anew once the disk has room, and not
// before; a sound one never.
func TestMendable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		since := func(d time.Duration, before, after error) func() error {
			return func() error {
				if time.Since(start) < d {
					return before
				}
				return after
			}
		}
		full := errors.New("no space left on device")
		var logged strings.Builder
		log := slog.New(slog.NewTextHandler(&logged, nil))
		if !mendable(t.Context(), since(time.Minute, nil, full), since(time.Hour, full, nil), log) {
			t.Error("a store is not opened anew though there is room")
		}
		if d := time.Since(start); d < time.Hour || d > time.Hour+2*storeEvery {
			t.Errorf("it took %v, want an hour, when there is room", d)
		}
		if n := strings.Count(logged.String(), "nothing can be stored"); n != 1 {
			t.Errorf("it was told %d times, want once: %s", n, logged.String())
		}
		for name, health := range map[string]func() error{"sound": func() error { return nil }, "unknown": nil} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if mendable(ctx, health, func() error { return nil }, log) {
				t.Errorf("%s: opened anew for no reason", name)
			}
			cancel()
		}
	})
}

func TestRoom(t *testing.T) {
	dir := t.TempDir()
	if err := room(dir); err != nil {
		t.Errorf("room = %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	if err := room(filepath.Join(dir, "none")); err == nil {
		t.Error("there is room in a directory that is not there")
	}
}
