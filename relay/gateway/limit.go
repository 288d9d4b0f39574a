package gateway

import (
	"sync"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

// limiter counts what tokens do. Entries that have nothing to remember are dropped.
type limiter struct {
	limits Limits

	mu     sync.Mutex
	tokens map[string]*usage // guarded by mu
}

type usage struct {
	connections int
	credit      float64 // calls that may be made now
	at          time.Time
}

func newLimiter(l Limits) *limiter { return &limiter{limits: l, tokens: map[string]*usage{}} }

// of is the usage of a token, with its credit as it is now. The caller holds mu.
func (l *limiter) of(token string) *usage {
	now := time.Now()
	u := l.tokens[token]
	if u == nil {
		if len(l.tokens) >= 1024 {
			l.sweep(now)
		}
		u = &usage{credit: float64(l.limits.Burst), at: now}
		l.tokens[token] = u
	}
	u.refill(l.limits, now)
	return u
}

func (u *usage) refill(l Limits, now time.Time) {
	u.credit = min(float64(l.Burst), u.credit+now.Sub(u.at).Seconds()*float64(l.Rate))
	u.at = now
}

func (l *limiter) sweep(now time.Time) {
	for token, u := range l.tokens {
		if u.refill(l.limits, now); u.connections == 0 && u.credit >= float64(l.limits.Burst) {
			delete(l.tokens, token)
		}
	}
}

// call takes the credit of one call.
func (l *limiter) call(c wire.Caller) error {
	if c.Local {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.of(c.TokenID)
	if u.credit >= 1 {
		u.credit--
		return nil
	}
	wait := time.Duration((1 - u.credit) / float64(l.limits.Rate) * float64(time.Second))
	return wire.Errorf(wire.CodeRateLimited, "more than %d calls a second: want at most that", l.limits.Rate).
		WithData(wire.RetryAfter{MS: wait.Milliseconds() + 1})
}

// connect counts a connection in, until done is called.
func (l *limiter) connect(c wire.Caller) (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.of(c.TokenID)
	if u.connections >= l.limits.Connections {
		return nil, wire.Errorf(wire.CodeRateLimited, "%d connections are open with this token: want at most that", u.connections).
			WithData(wire.RetryAfter{MS: 1000})
	}
	u.connections++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.connections--
	}, nil
}
