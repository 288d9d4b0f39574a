package server

import (
	"sync"
	"time"
)

// counter bounds how many of something there are by name.
type counter struct {
	mu sync.Mutex
	n  map[string]int // guarded by mu
}

// enter counts n more, unless there would be more than limit.
func (c *counter) enter(name string, n, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n[name]+n > limit {
		return false
	}
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name] += n
	return true
}

func (c *counter) leave(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n[name] -= n; c.n[name] <= 0 {
		delete(c.n, name)
	}
}

// singles runs one function at a time of each name. Who comes meanwhile has the one
// that runs do another round and goes.
type singles struct {
	mu sync.Mutex
	// again is there while one runs, and true when it is to run again. guarded by mu
	again map[string]bool
}

func (s *singles) one(name string, f func() error) error {
	s.mu.Lock()
	if _, runs := s.again[name]; runs {
		s.again[name] = true
		s.mu.Unlock()
		return nil
	}
	if s.again == nil {
		s.again = map[string]bool{}
	}
	s.again[name] = false
	s.mu.Unlock()
	for {
		err := f()
		s.mu.Lock()
		again := s.again[name] && err == nil
		if !again {
			delete(s.again, name)
			s.mu.Unlock()
			return err
		}
		s.again[name] = false
		s.mu.Unlock()
	}
}

// attempts limits tries by where they come from, and of all together: a bucket of
// burst that fills one each interval.
type attempts struct {
	burst int
	every time.Duration

	mu sync.Mutex
	// of is when the bucket of a place is full again. guarded by mu
	of map[string]time.Time
}

// maxPlaces bounds the memory of attempts. Beyond it all new places share one bucket.
const maxPlaces = 10_000

// take reports whether one more try is allowed now, and else how long to wait.
func (a *attempts) take(place string, now time.Time) (wait time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]time.Time{}
	}
	if _, known := a.of[place]; !known && len(a.of) >= maxPlaces {
		for p, full := range a.of {
			if full.Before(now) {
				delete(a.of, p)
			}
		}
		if len(a.of) >= maxPlaces {
			place = ""
		}
	}
	full := a.of[place]
	if full.Before(now) {
		full = now
	}
	full = full.Add(a.every)
	if over := full.Sub(now) - time.Duration(a.burst)*a.every; over > 0 {
		return over, false
	}
	a.of[place] = full
	return 0, true
}
