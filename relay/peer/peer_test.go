package peer

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

// echo answers with the params, and knows a few methods more.
func echo(_ context.Context, method string, params jsontext.Value) (any, error) {
	switch method {
	case "fail":
		return nil, wire.Errorf(wire.CodeStale, "late").WithData(map[string]int{"n": 1})
	case "secret":
		return nil, errors.New("dial 10.0.0.1: refused")
	case "panic":
		panic("oh")
	case "nothing":
		return nil, nil
	}
	return params, nil
}

// serve runs a connection until the test is over, and gives what Serve returned.
func serve(t *testing.T, c *Conn, h Handler) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- c.Serve(context.Background(), h) }()
	return ended
}

// pair is a connection in memory, both sides serving.
func pair(t *testing.T, o Options, a, b Handler) (left, right *Conn, aEnd, bEnd <-chan error) {
	t.Helper()
	left, right = Pipe(o, o)
	return left, right, serve(t, left, a), serve(t, right, b)
}

// socketPair is a WebSocket connection, with the serving side's options and handler.
func socketPair(t *testing.T, client, server Options, h Handler) (*Conn, <-chan error) {
	t.Helper()
	ended := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := Accept(w, r, server)
		if err != nil {
			ended <- err
			return
		}
		ended <- c.Serve(context.Background(), h)
	}))
	t.Cleanup(srv.Close)
	c, err := Dial(t.Context(), srv.URL, client)
	if err != nil {
		t.Fatal(err)
	}
	return c, ended
}

func TestCall(t *testing.T) {
	check := func(t *testing.T, c *Conn) {
		ctx := t.Context()
		var got wire.SendParams
		if err := c.Call(ctx, "echo", wire.SendParams{Session: "s", Text: "hi \u2028 <&> \U0001f600"}, &got); err != nil || got.Text != "hi \u2028 <&> \U0001f600" {
			t.Errorf("echo = %+v, %v", got, err)
		}
		if err := c.Call(ctx, "nothing", nil, nil); err != nil {
			t.Errorf("nothing = %v", err)
		}
		var e *wire.Error
		if err := c.Call(ctx, "fail", nil, nil); !errors.As(err, &e) || e.Code != wire.CodeStale || string(e.Data) != `{"n":1}` {
			t.Errorf("fail = %v", err)
		}
		for _, m := range []string{"secret", "panic"} {
			if err := c.Call(ctx, m, nil, nil); !errors.As(err, &e) || e.Code != wire.CodeInternal || strings.Contains(err.Error(), "10.0") {
				t.Errorf("%s = %v", m, err)
			}
		}
		if err := c.Call(ctx, "echo", []int{1}, &got); err == nil || errors.As(err, &e) && e.Code == wire.CodeInvalid {
			t.Errorf("a result of another type = %v, want an error that is no answer", err)
		}
	}
	t.Run("pipe", func(t *testing.T) {
		a, _, aEnd, bEnd := pair(t, Options{}, echo, echo)
		check(t, a)
		a.Close(StatusNormal, "bye")
		if err := errors.Join(<-aEnd, <-bEnd); err != nil {
			t.Errorf("Serve = %v, want nil on both sides", err)
		}
		if err := a.Call(t.Context(), "echo", nil, nil); !errors.Is(err, ErrNotSent) {
			t.Errorf("Call after Close = %v, want ErrNotSent", err)
		}
	})
	t.Run("websocket", func(t *testing.T) {
		c, bEnd := socketPair(t, Options{}, Options{}, echo)
		aEnd := serve(t, c, echo)
		check(t, c)
		c.Close(StatusNormal, "bye")
		if err := errors.Join(<-aEnd, <-bEnd); err != nil {
			t.Errorf("Serve = %v, want nil on both sides", err)
		}
	})
}

// Notifications and ordered calls are handled in the order in which they were sent,
// also when long ones travel in pieces.
func TestOrder(t *testing.T) {
	var mu sync.Mutex
	var got []string
	h := func(_ context.Context, method string, params jsontext.Value) (any, error) {
		var p wire.SendParams
		if err := wire.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, p.ID)
		return nil, nil
	}
	o := Options{Ordered: func(m string) bool { return m == "ordered" }}
	a, _, aEnd, bEnd := pair(t, o, echo, h)
	var wg sync.WaitGroup
	for i := range 40 {
		p := wire.SendParams{ID: fmt.Sprint(i)}
		if i%5 == 0 {
			p.Text = strings.Repeat("long ", 60_000)
		}
		if i%2 == 0 {
			if err := a.Notify(t.Context(), "n", p); err != nil {
				t.Fatal(err)
			}
			continue
		}
		// The next one is sent when this is in the queue, whatever its answer.
		queued := make(chan struct{})
		wg.Go(func() {
			raw, _ := wire.Marshal(p)
			w := &outgoing{data: []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ordered","params":%s}`, 1000+i, raw)), lane: ordered}
			if err := a.push(t.Context(), w); err != nil {
				t.Error(err)
			}
			close(queued)
		})
		<-queued
	}
	wg.Wait()
	if err := a.Call(t.Context(), "ordered", wire.SendParams{ID: "end"}, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if got[i] != fmt.Sprint(i) {
			t.Fatalf("order %q", got)
		}
	}
	a.Close(StatusNormal, "")
	<-aEnd
	<-bEnd
}

// A short call overtakes a long notification, whose pieces take turns with it.
func TestOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe(Options{}, Options{})
		handled := make(chan string, 2)
		aEnd := serve(t, a, echo)
		ctx := t.Context()
		text := strings.Repeat("x", 3<<20)
		if err := a.Notify(ctx, "long", wire.SendParams{Text: text}); err != nil {
			t.Fatal(err)
		}
		called := make(chan error, 1)
		go func() { called <- a.Call(ctx, "short", nil, nil) }()
		synctest.Wait() // both are in the queue; b does not read yet
		bEnd := serve(t, b, func(_ context.Context, method string, p jsontext.Value) (any, error) {
			if method == "long" && len(p) < len(text) {
				return nil, errors.New("cut")
			}
			handled <- method
			return nil, nil
		})
		if first := <-handled; first != "short" {
			t.Errorf("%s came first", first)
		}
		if err := <-called; err != nil {
			t.Error(err)
		}
		if second := <-handled; second != "long" {
			t.Errorf("%s came second", second)
		}
		b.Close(StatusNormal, "")
		<-aEnd
		<-bEnd
	})
}

func TestThen(t *testing.T) {
	o := Options{}
	a, b := Pipe(o, o)
	order := make(chan string, 8)
	bEnd := serve(t, b, func(ctx context.Context, _ string, _ jsontext.Value) (any, error) {
		return Then(strings.Repeat("y", 1<<20), func() {
			go func() { _ = b.Notify(ctx, "push", nil) }()
		}), nil
	})
	answered := make(chan struct{})
	aEnd := serve(t, a, func(_ context.Context, method string, _ jsontext.Value) (any, error) {
		order <- method
		return nil, nil
	})
	var s string
	if err := a.Call(t.Context(), "subscribe", nil, &s); err != nil || len(s) != 1<<20 {
		t.Fatalf("%d bytes, %v", len(s), err)
	}
	close(answered)
	if m := <-order; m != "push" {
		t.Errorf("got %s", m)
	}
	a.Close(StatusNormal, "")
	<-aEnd
	<-bEnd
}

// What is sent while nobody handles waits, in bounded room; nothing is dropped.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{QueueBytes: 1 << 10, Ordered: func(m string) bool { return m == "last" }}
		open := make(chan struct{})
		var got []int
		a, _, aEnd, bEnd := pair(t, o, echo, func(_ context.Context, _ string, p jsontext.Value) (any, error) {
			<-open
			var n struct{ N int }
			if err := wire.Unmarshal(p, &n); err != nil {
				return nil, err
			}
			got = append(got, n.N)
			return nil, nil
		})
		sent := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 1000 {
				if err := a.Notify(t.Context(), "n", map[string]int{"N": i}); err != nil {
					t.Errorf("%d: %v", i, err)
				}
				sent = i + 1
			}
		}()
		time.Sleep(time.Minute) // of synctest: longer than DeadAfter, and all there is to do is done
		synctest.Wait()
		if sent > 200 {
			t.Errorf("%d notifications were taken while none was handled", sent)
		}
		select {
		case err := <-aEnd:
			t.Fatalf("ended: %v; slow is not dead", err)
		default:
		}
		close(open)
		<-done
		if err := a.Call(t.Context(), "last", map[string]int{"N": 1000}, nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		a.Close(StatusNormal, "")
		<-aEnd
		<-bEnd
		for i, n := range got {
			if n != i {
				t.Fatalf("at %d: %d", i, n)
			}
		}
		if len(got) != 1001 {
			t.Errorf("%d handled, want 1001", len(got))
		}
	})
}

// A call that ctx ends: not sent when its turn had not come, else unknown.
func TestCallContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe(Options{}, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Call(ctx, "early", nil, nil); !errors.Is(err, ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before Serve = %v, want ErrNotSent", err)
		}
		hang := func(ctx context.Context, _ string, _ jsontext.Value) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		aEnd, bEnd := serve(t, a, echo), serve(t, b, hang)
		ctx2, cancel2 := context.WithTimeout(t.Context(), time.Second)
		defer cancel2()
		if err := a.Call(ctx2, "hang", nil, nil); !errors.Is(err, &wire.Error{Code: wire.CodeTimeout}) {
			t.Errorf("deadline = %v, want timeout", err)
		}
		ctx3, cancel3 := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel3)
		err := a.Call(ctx3, "hang", nil, nil)
		if !errors.Is(err, &wire.Error{Code: wire.CodeUnknown}) || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled = %v, want unknown_outcome", err)
		}
		lost := make(chan error, 1)
		go func() { lost <- a.Call(t.Context(), "hang", nil, nil) }()
		synctest.Wait()
		b.t.kill()
		if err := <-lost; !errors.Is(err, &wire.Error{Code: wire.CodeUnknown}) {
			t.Errorf("lost = %v, want unknown_outcome", err)
		}
		if err := <-aEnd; err == nil {
			t.Error("Serve = nil on a lost connection")
		}
		<-bEnd
	})
}

func TestTooManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		a, _, aEnd, bEnd := pair(t, Options{Calls: 2}, echo, func(context.Context, string, jsontext.Value) (any, error) {
			<-open
			return nil, nil
		})
		errs := make(chan error, 3)
		for range 3 {
			go func() { errs <- a.Call(t.Context(), "m", nil, nil) }()
		}
		if err := <-errs; !errors.Is(err, &wire.Error{Code: wire.CodeBusy}) {
			t.Errorf("the third = %v, want busy", err)
		}
		close(open)
		if err := errors.Join(<-errs, <-errs); err != nil {
			t.Error(err)
		}
		a.Close(StatusNormal, "")
		<-aEnd
		<-bEnd
	})
}
