package cuid2

import (
	"fmt"
	"sync/atomic"
)

// Config is what the options of Init fill in. The zero value of a field means
// the default; only options write it.
type Config struct {
	// RandomFunc returns numbers in [0, 1). Nil means the operating system's
	// cryptographic source.
	RandomFunc func() float64
	// SessionCounter counts the identifiers of this generator. Nil means a
	// SessionCounter with a random start below MaxSessionCount.
	SessionCounter Counter
	// Length is the number of characters of an identifier.
	Length int
	// Fingerprint tells this process from others. Empty means one made from
	// the process, its host and fresh entropy.
	Fingerprint string
}

// Option sets one part of a generator's configuration.
type Option func(*Config) error

// Counter yields the session count that goes into an identifier. A generator
// that is used concurrently calls Increment concurrently.
type Counter interface {
	// Increment raises the count and returns it.
	Increment() int64
}

// SessionCounter is the default Counter. It is safe for concurrent use.
type SessionCounter struct {
	value atomic.Int64
}

var _ Counter = (*SessionCounter)(nil)

// NewSessionCounter returns a counter whose first Increment is initialCount+1.
func NewSessionCounter(initialCount int64) *SessionCounter {
	c := new(SessionCounter)
	c.value.Store(initialCount)
	return c
}

// Increment implements Counter.
func (c *SessionCounter) Increment() int64 { return c.value.Add(1) }

// WithSessionCounter makes the generator use sessionCounter. Nil is refused.
func WithSessionCounter(sessionCounter Counter) Option {
	return func(c *Config) error {
		if sessionCounter == nil {
			return fmt.Errorf("session counter: want a counter, got nil")
		}
		c.SessionCounter = sessionCounter
		return nil
	}
}

// WithLength makes identifiers of length characters, MinIdLength to MaxIdLength.
func WithLength(length int) Option {
	return func(c *Config) error {
		if length < MinIdLength || length > MaxIdLength {
			return fmt.Errorf("length: want %d to %d, got %d", MinIdLength, MaxIdLength, length)
		}
		c.Length = length
		return nil
	}
}

// WithRandomFunc makes the generator draw from randomFunc, which returns
// numbers in [0, 1). The identifiers are then no less guessable than its
// numbers. Nil is refused.
func WithRandomFunc(randomFunc func() float64) Option {
	return func(c *Config) error {
		if randomFunc == nil {
			return fmt.Errorf("random function: want a function, got nil")
		}
		c.RandomFunc = randomFunc
		return nil
	}
}

// WithFingerprint makes the generator use fingerprint instead of one derived
// from the process. Empty means the default.
func WithFingerprint(fingerprint string) Option {
	return func(c *Config) error {
		c.Fingerprint = fingerprint
		return nil
	}
}
