package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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

// It is started anew at once, then less and less often while that does not help.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		over := errors.New("over")
		err := again(t.Context(), func() error {
			at = append(at, time.Since(start).Round(time.Second))
			switch len(at) {
			case 4:
				time.Sleep(time.Hour) // this time it helped
			case 6:
				return over
			}
			return errAgain
		})
		want := []time.Duration{0, 0, 5 * time.Second, 15 * time.Second, time.Hour + 15*time.Second, time.Hour + 20*time.Second}
		if !errors.Is(err, over) || !slices.Equal(at, want) {
			t.Errorf("it began at %v and ended with %v, want %v", at, err, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = again(ctx, func() error { cancel(); return errAgain })
		if !errors.Is(err, errAgain) {
			t.Errorf("stopped while it starts anew: %v", err)
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
