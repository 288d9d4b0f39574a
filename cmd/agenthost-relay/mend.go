package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"
)

// errAgain asks for the relay to be started anew, in this process.
var errAgain = errors.New("the store can be written to again")

// Waits before it is started anew, when that did not help for long.
const (
	againWait    = 5 * time.Second
	maxAgainWait = 5 * time.Minute
	againWorked  = 10 * time.Minute
)

// again runs serve, anew as often as it asks for that: at once, but when that has not
// helped later each time.
func again(ctx context.Context, serve func() error) error {
	wait := time.Duration(0)
	for {
		begin := time.Now()
		err := serve()
		if !errors.Is(err, errAgain) || ctx.Err() != nil {
			return err
		}
		if time.Since(begin) > againWorked {
			wait = 0
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		wait = min(max(2*wait, againWait), maxAgainWait)
	}
}

// storeEvery is how often the store is asked for its health.
const storeEvery = 5 * time.Second

// mendable waits until a store that could not be written to, because the disk was full
// as a rule, would work when it is opened anew, and reports true; false when ctx ends.
// Until then what is there can be read, and hosts keep what they have to say. Without
// health it only waits.
func mendable(ctx context.Context, health, room func() error, log *slog.Logger) bool {
	tick := time.NewTicker(storeEvery)
	defer tick.Stop()
	told := false
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if health == nil {
			continue
		}
		err := health()
		if err == nil {
			told = false
			continue
		}
		if !told {
			log.Error("nothing can be stored: make room, and it goes on by itself", "err", err)
			told = true
		}
		if room() == nil {
			log.Info("the disk takes bytes again: opening the store anew")
			return true
		}
	}
}

// roomBytes is how much a disk must take before the store is opened anew.
const roomBytes = 4 << 20

// room reports why a directory takes no bytes.
func room(dir string) error {
	f, err := os.CreateTemp(dir, "room.*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, roomBytes))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
