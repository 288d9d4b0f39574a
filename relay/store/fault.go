package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	of     map[string]fault // by stream, guarded by mu
	total  int              // writes that failed since the start, guarded by mu
	probed time.Time        // guarded by mu
	probe  error            // of the last write that was only to see, guarded by mu
}

// fault is why a stream took no bytes.
type fault struct {
	err error
	at  time.Time // when it last took none
}

// probeEvery is how often a write is made only to see whether it goes.
const probeEvery = 5 * time.Second

// againAfter is after how long a stream that took no bytes is tried again, since nobody
// else may have something to write to it: its sessions have ended.
const againAfter = 15 * time.Second

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
	_, had := f.of[stream]
	switch {
	case err == nil && had:
		delete(f.of, stream)
		s.opt.Logger.Info("a stream can be written to again", "stream", stream)
	case err != nil:
		f.total++
		if !had {
			s.opt.Logger.Error("a stream cannot be written to; hosts keep what they have to say until it can", "stream", stream, "err", err)
		}
		if f.of == nil {
			f.of = map[string]fault{}
		}
		f.of[stream] = fault{err, time.Now()}
	}
}

// Failures is how many writes failed since the start.
func (s *Store) Failures() int {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return s.faults.total
}

// Ready reports why the store cannot be written to: that JetStream does not answer, that
// it takes no bytes, or the stream that took none when it was written to last. Such a
// stream is tried again from time to time, so that it is ready by itself once it can be.
func (s *Store) Ready(ctx context.Context) error {
	if _, err := s.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("JetStream does not answer: %w", err)
	}
	if err := s.tryWrite(ctx); err != nil {
		return fmt.Errorf("JetStream takes no bytes: %w", err)
	}
	for _, stream := range s.faults.streams() {
		if err := s.tryAgain(ctx, stream); err != nil {
			return fmt.Errorf("stream %s takes no bytes: %w", stream, err)
		}
	}
	return nil
}

// streams are those with a fault.
func (f *faults) streams() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.of))
}

// tryAgain reports the fault of a stream, if it still has one.
func (s *Store) tryAgain(ctx context.Context, stream string) error {
	f := &s.faults
	f.mu.Lock()
	had := f.of[stream]
	f.mu.Unlock()
	if had.err == nil || time.Since(had.at) < againAfter {
		return had.err
	}
	err := s.writeTo(ctx, stream)
	if errors.Is(ctx.Err(), context.Canceled) {
		return had.err // who asked has left
	}
	if err == nil {
		s.wrote(stream, nil)
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[stream] = fault{err, time.Now()}
	return err
}

// writeTo writes to a stream of a tenant where nobody looks at it, and takes that away
// again.
func (s *Store) writeTo(ctx context.Context, stream string) error {
	kind, tenant, _ := strings.Cut(stream, "_")
	subject := kind + "." + tenant + ".~ready" // no session, host or file has this name
	if kind == "kv" {                          // a bucket
		subject, stream = "$KV."+stream+".ready", "KV_"+stream
	}
	if _, err := s.js.Publish(ctx, subject, []byte("?")); err != nil && !isFull(err) {
		return err
	}
	st, err := s.js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	return st.Purge(ctx, jetstream.WithPurgeSubject(subject))
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
