package peer

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

func chunkFrame(id, seq int, last bool, data string) []byte {
	return fmt.Appendf(nil, `{"chunk":{"id":%d,"seq":%d,"last":%t,"data":%q}}`, id, seq, last, data)
}

// drain reads what a raw side is told, so that the other side can write.
func drain(ctx context.Context, raw transport) {
	for {
		if _, err := raw.read(ctx); err != nil {
			return
		}
	}
}

// A message whose next chunk does not come ends the connection, however alive the other
// side is; time in which nobody reads does not count.
func TestReadStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe(Options{}, Options{Ordered: func(string) bool { return true }})
		raw := a.t
		go drain(t.Context(), raw)
		go func() {
			for {
				_ = raw.ping(t.Context())
				select {
				case <-time.After(10 * time.Second):
				case <-t.Context().Done():
					return
				}
			}
		}()
		const slow = time.Hour
		var handled atomic.Int64
		end := serve(t, b, func(context.Context, string, jsontext.Value) (any, error) {
			handled.Add(1)
			time.Sleep(slow)
			return nil, nil
		})
		write := func(frame []byte) {
			t.Helper()
			if err := raw.write(t.Context(), frame); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		write(chunkFrame(1, 0, false, `{"jsonrpc":"2.0","method":"n",`))
		// More than waits to be handled: the reader stops.
		long := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"n","params":%q}`, strings.Repeat("x", 900_000))
		for range 7 {
			write(long)
		}
		if took := time.Since(began); took < slow {
			t.Fatalf("it has read on for %v, and nothing is tested", took)
		}
		write(chunkFrame(1, 1, true, `"params":[]}`))
		time.Sleep(9 * slow)
		select {
		case err := <-end:
			t.Fatalf("it ended: %v", err)
		default:
		}
		if n := handled.Load(); n != 8 {
			t.Fatalf("%d messages were handled, want 8", n)
		}
		write(chunkFrame(2, 0, false, `{`))
		began = time.Now()
		var closed *CloseError
		if err := <-end; !errors.As(err, &closed) || closed.Status != StatusPolicy {
			t.Errorf("Serve = %v", err)
		}
		if took := time.Since(began); took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}

// What is held for messages in chunks is let go of when they were handled, when they are
// refused and when the connection ends in the middle.
func TestHoldMessage(t *testing.T) {
	for name, c := range map[string]struct {
		frames [][]byte
		held   int64 // before the end
		status Status
	}{
		"whole":        {[][]byte{chunkFrame(1, 0, false, `{"jsonrpc":"2.0","id":1,"method":"echo",`), chunkFrame(1, 1, true, `"params":[1]}`)}, 0, 0},
		"ordered":      {[][]byte{chunkFrame(1, 0, false, `{"jsonrpc":"2.0","method":"n",`), chunkFrame(1, 1, true, `"params":[1]}`)}, 0, 0},
		"an answer":    {[][]byte{chunkFrame(1, 0, false, `{"jsonrpc":"2.0","id":7,`), chunkFrame(1, 1, true, `"result":1}`)}, 0, 0},
		"no message":   {[][]byte{chunkFrame(1, 0, false, `nonsense`), chunkFrame(1, 1, true, `!`)}, 0, 0},
		"not finished": {[][]byte{chunkFrame(1, 0, false, `{"a":`), chunkFrame(2, 0, false, `{"b"`)}, 9, 0},
		"too much":     {[][]byte{chunkFrame(1, 0, false, strings.Repeat("x", 90)), chunkFrame(2, 0, false, strings.Repeat("x", 20))}, 0, StatusTryAgain},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var held atomic.Int64
				a, b := Pipe(Options{}, Options{HoldMessage: func(n int) (func(), error) {
					if held.Load()+int64(n) > 100 {
						return nil, wire.Errorf(wire.CodeRateLimited, "full")
					}
					held.Add(int64(n))
					return func() { held.Add(-int64(n)) }, nil
				}})
				go drain(t.Context(), a.t)
				end := serve(t, b, echo)
				for _, f := range c.frames {
					if err := a.t.write(t.Context(), f); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if c.status == 0 {
					if n := held.Load(); n != c.held {
						t.Errorf("%d bytes are held, want %d", n, c.held)
					}
					b.Close(StatusNormal, "")
				}
				err := <-end
				var closed *CloseError
				if errors.As(err, &closed) != (c.status != 0) || closed != nil && closed.Status != c.status {
					t.Errorf("Serve = %v, want %d", err, c.status)
				}
				if n := held.Load(); n != 0 {
					t.Errorf("%d bytes are held at the end", n)
				}
			})
		})
	}
}
