package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agenthost/agenthost/relay/wire"
)

// faults are the streams that could not be written to when they were last, as after a
// disk was full: the server of a stream whose file it could not write may refuse it
// until that server starts again.
type faults struct {
	mu     sync.Mutex
	of     map[string]error // by stream, guarded by mu
	total  int              // writes that failed since the start, guarded by mu
	probed time.Time        // guarded by mu
	probe  error            // of the last write that was only to see, guarded by mu
}

// probeEvery is how often a write is made only to see whether it goes.
const probeEvery = 5 * time.Second

// wrote takes what became of a write to a stream. An answer that is about the writer and
// not about the stream, and a writer that left, say nothing.
func (s *Store) wrote(stream string, err error) {
	var refused *wire.Error
	if errors.Is(err, context.Canceled) || errors.As(err, &refused) || isWrongSequence(err) || errors.Is(err, jetstream.ErrKeyExists) {
		return
	}
	f := &s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	had := f.of[stream]
	switch {
	case err == nil && had != nil:
		delete(f.of, stream)
		s.opt.Logger.Info("a stream can be written to again", "stream", stream)
	case err != nil:
		f.total++
		if had == nil {
			s.opt.Logger.Error("a stream cannot be written to; hosts keep what they have to say until it can", "stream", stream, "err", err)
		}
		if f.of == nil {
			f.of = map[string]error{}
		}
		f.of[stream] = err
	}
}

// Failures is how many writes failed since the start.
func (s *Store) Failures() int {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return s.faults.total
}

// Ready reports why the store cannot be written to: that JetStream does not answer, that
// it takes no bytes, or the stream that took none when it was written to last.
func (s *Store) Ready(ctx context.Context) error {
	if _, err := s.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("JetStream does not answer: %w", err)
	}
	if err := s.tryWrite(ctx); err != nil {
		return fmt.Errorf("JetStream takes no bytes: %w", err)
	}
	f := &s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, stream := range slices.Sorted(maps.Keys(f.of)) {
		return fmt.Errorf("stream %s takes no bytes: %w", stream, f.of[stream])
	}
	return nil
}

// tryWrite writes to the bucket of tokens, where nobody looks at it.
func (s *Store) tryWrite(ctx context.Context) error {
	f := &s.faults
	f.mu.Lock()
	if time.Since(f.probed) < probeEvery {
		defer f.mu.Unlock()
		return f.probe
	}
	f.mu.Unlock()
	_, err := s.auth.Put(ctx, "ready", []byte("?"))
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // who asked has left
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probed, f.probe = time.Now(), err
	return err
}
