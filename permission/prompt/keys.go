package prompt

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

const (
	ctrlC     = 3
	ctrlU     = 21
	escape    = 27
	backspace = 127
)

// maxAhead bounds what is kept of keys that nobody waited for.
const maxAhead = 4096

// keys are what a person typed and nobody took yet.
type keys struct {
	mu   sync.Mutex
	have []rune
	err  error
	wake chan struct{}
	// ended is closed at the end of the input.
	ended chan struct{}
}

// readKeys reads r all the time, so that keys can be told to be early.
func readKeys(r io.Reader) *keys {
	k := &keys{wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go func() {
		in := bufio.NewReader(r)
		for {
			c, _, err := in.ReadRune()
			k.mu.Lock()
			if err != nil {
				k.err = io.EOF
			} else if len(k.have) < maxAhead {
				k.have = append(k.have, c)
			}
			k.mu.Unlock()
			select {
			case k.wake <- struct{}{}:
			default:
			}
			if err != nil {
				close(k.ended)
				return
			}
		}
	}()
	return k
}

// drop forgets what was typed so far.
func (k *keys) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.have = nil
}

// next is the next key. It ends with errElsewhere when gone is closed.
func (k *keys) next(ctx context.Context, gone <-chan struct{}) (rune, error) {
	for {
		select {
		case <-gone:
			return 0, errElsewhere
		default:
		}
		k.mu.Lock()
		if len(k.have) > 0 {
			c := k.have[0]
			k.have = k.have[1:]
			k.mu.Unlock()
			return c, nil
		}
		err := k.err
		k.mu.Unlock()
		if err != nil {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-gone:
		case <-k.wake:
		}
	}
}

// line is a line as a cooked terminal gives it.
func (k *keys) line(ctx context.Context, gone <-chan struct{}) (string, error) {
	var b strings.Builder
	for {
		c, err := k.next(ctx, gone)
		switch {
		case err != nil:
			return "", err
		case c == '\n' || c == '\r':
			return b.String(), nil
		case c == ctrlC:
			return "", errCancelled
		}
		b.WriteRune(c)
	}
}

// errCancelled ends a line that the person gave up.
var errCancelled = errors.New("cancelled")

// line asks for a line of text; a secret is not shown.
func (s *screen) line(ctx context.Context, label string, secret bool) (string, error) {
	s.printf("%s", label)
	if !s.Raw {
		return s.keys.line(ctx, s.gone)
	}
	var text []rune
	for {
		c, err := s.keys.next(ctx, s.gone)
		if err != nil {
			return "", err
		}
		switch {
		case c == '\r' || c == '\n':
			s.printf("\n")
			return string(text), nil
		case c == ctrlC || c == escape:
			s.printf("\n")
			return "", errCancelled
		case c == backspace || c == '\b':
			if len(text) > 0 {
				text = text[:len(text)-1]
				if !secret {
					s.printf("\b \b")
				}
			}
		case c == ctrlU:
			if !secret {
				s.printf("%s", strings.Repeat("\b \b", len(text)))
			}
			text = nil
		case c >= ' ':
			text = append(text, c)
			if !secret {
				s.printf("%s", clean(string(c)))
			}
		}
	}
}
