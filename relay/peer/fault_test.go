package peer

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/agenthost/agenthost/relay/wire"
)

// mute is a transport whose other side vanished: nothing comes, and what is written
// goes nowhere (B192: the lid was closed).
type mute struct {
	transport
	on atomic.Bool
}

func (m *mute) read(ctx context.Context) ([]byte, error) {
	if !m.on.Load() {
		return m.transport.read(ctx)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (m *mute) write(ctx context.Context, frame []byte) error {
	if m.on.Load() {
		return nil
	}
	return m.transport.write(ctx, frame)
}

func (m *mute) ping(ctx context.Context) error {
	if m.on.Load() {
		return nil
	}
	return m.transport.ping(ctx)
}

// A half-open connection is noticed within 30 s on both sides, whatever the clock on
// the wall does meanwhile; one that is only idle stays.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe(Options{}, Options{})
		am, bm := &mute{transport: a.t}, &mute{transport: b.t}
		a.t, b.t = am, bm
		aEnd, bEnd := serve(t, a, echo), serve(t, b, echo)
		time.Sleep(24 * time.Hour) // of synctest
		if err := a.Call(t.Context(), "echo", nil, nil); err != nil {
			t.Fatalf("after an idle day: %v", err)
		}
		am.on.Store(true)
		bm.on.Store(true)
		began := time.Now()
		called := make(chan error, 1)
		go func() { called <- a.Call(t.Context(), "echo", nil, nil) }()
		// A reader that is in the old read stays there until something comes: make it
		// look. One that has looked, because a ping was under way, takes nothing more.
		for _, end := range []*pipeEnd{am.transport.(*pipeEnd), bm.transport.(*pipeEnd)} {
			go func() {
				select {
				case end.frames <- []byte(`{"jsonrpc":"2.0","id":0,"result":null}`):
				case <-end.closed:
				}
			}()
		}
		for _, end := range []<-chan error{aEnd, bEnd} {
			if err := <-end; !errors.Is(err, ErrDead) {
				t.Errorf("Serve = %v, want ErrDead", err)
			}
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("noticed after %v", took)
		}
		if err := <-called; !errors.Is(err, &wire.Error{Code: wire.CodeUnknown}) {
			t.Errorf("the call = %v, want unknown_outcome", err)
		}
	})
}

// deaf is a transport that never finishes a write and does not answer a goodbye.
type deaf struct {
	transport
	killed chan struct{}
}

func (d *deaf) write(ctx context.Context, _ []byte) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-d.killed:
		return io.ErrClosedPipe
	}
}

func (d *deaf) close(Status, string) { <-d.killed }

func (d *deaf) kill() {
	select {
	case <-d.killed:
	default:
		close(d.killed)
	}
	d.transport.kill()
}

// Closing ten connections whose other side is deaf takes one second, not five for each
// (B194).
func TestCloseBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			a, _ := Pipe(Options{}, Options{})
			a.t = &deaf{a.t, make(chan struct{})}
			end := serve(t, a, echo)
			if err := a.Notify(t.Context(), "n", nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // it is being written
			wg.Go(func() {
				a.Close(StatusGoingAway, "bye")
				if err := <-end; err != nil {
					t.Errorf("Serve = %v", err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A side that shows life but takes no bytes is given up after WriteStall.
func TestWriteStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe(Options{}, Options{})
		a.t = &deaf{a.t, make(chan struct{})}
		aEnd := serve(t, a, echo)
		bEnd := serve(t, b, echo) // pings
		if err := a.Notify(t.Context(), "n", nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := <-aEnd; !errors.Is(err, ErrDead) {
			t.Errorf("Serve = %v, want ErrDead", err)
		}
		if took := time.Since(began); took < 2*time.Minute || took > 3*time.Minute {
			t.Errorf("given up after %v", took)
		}
		<-bEnd
	})
}

// The frames that no peer of ours sends.
func TestBadFrames(t *testing.T) {
	small := Options{FrameBytes: 1 << 10, MessageBytes: 4 << 10, Garbage: 3}
	piece := func(id, seq int, last bool, data string) string {
		return fmt.Sprintf(`{"chunk":{"id":%d,"seq":%d,"last":%t,"data":%q}}`, id, seq, last, data)
	}
	many := func(n int, f func(i int) string) (out []string) {
		for i := range n {
			out = append(out, f(i))
		}
		return out
	}
	for _, c := range []struct {
		name   string
		frames []string
		want   Status // 0: the connection goes on
		reason string
		answer string // part of the last answer
	}{
		{name: "not JSON", frames: []string{"hello"}, answer: `"code":-32700`},
		{name: "empty", frames: []string{""}, answer: `"code":-32700`},
		{name: "cut", frames: []string{`{"jsonrpc":"2.0","id":1,"method":"ec`}, answer: `"code":-32700`},
		{name: "not UTF-8", frames: []string{"{\"id\":1,\"method\":\"\xff\"}"}, answer: `not valid UTF-8`},
		{name: "batch", frames: []string{`[{"jsonrpc":"2.0","id":1,"method":"echo"}]`}, answer: `"code":-32600`},
		{name: "no message", frames: []string{`{"hello":1}`}, answer: `"code":-32600`},
		{name: "answer that nobody waits for", frames: []string{`{"id":77,"result":1}`}},
		{name: "odd ids", frames: []string{`{"id":"a\ud83d","method":"nothing"}`}, answer: `"result":null`},
		{name: "id null", frames: []string{`{"id":null,"method":"nothing"}`}, answer: `"id":null,"result":null`},
		{name: "garbage without end", frames: many(4, func(int) string { return "x" }), want: StatusPolicy, reason: "4 frames were no message"},
		{name: "frame too long", frames: []string{`"` + strings.Repeat("x", 2<<10) + `"`}, want: StatusTooLarge, reason: "frame over 1024 bytes"},
		{name: "in pieces", frames: []string{piece(1, 0, false, `{"id":1,"method":"echo",`), piece(1, 1, true, `"params":["ok"]}`)}, answer: `["ok"]`},
		{name: "pieces that interleave", frames: []string{
			piece(1, 0, false, `{"id":1,"me`), piece(2, 0, false, `{"id":2,"method":`), `{"id":3,"method":"nothing"}`,
			piece(2, 1, true, `"nothing"}`), piece(1, 1, true, `thod":"echo","params":[5]}`),
		}, answer: `"id":1,"result":[5]`},
		{name: "a character cut in two, as JavaScript may", frames: []string{
			`{"chunk":{"id":1,"seq":0,"data":"{\"id\":1,\"method\":\"echo\",\"params\":[\"\ud83d"}}`, `{"chunk":{"id":1,"seq":1,"last":true,"data":"\ude00\"]}"}}`,
		}, answer: "\U0001f600"},
		{name: "piece without a first", frames: []string{piece(1, 1, true, "x")}, want: StatusProtocol, reason: "want seq 0, got 1"},
		{name: "piece twice", frames: []string{piece(1, 0, false, "x"), piece(1, 0, false, "x")}, want: StatusProtocol, reason: "want seq 1, got 0"},
		{name: "piece of nothing", frames: []string{piece(1, 0, false, "")}, want: StatusProtocol, reason: "empty"},
		{name: "piece without data", frames: []string{`{"chunk":{"id":1,"seq":0}}`}, want: StatusProtocol, reason: "want id and seq"},
		{name: "piece cut off", frames: []string{`{"chunk":{"id":1`}, want: StatusProtocol, reason: "not JSON"},
		{name: "piece in a piece", frames: []string{piece(1, 0, true, piece(2, 0, true, "x"))}, answer: `"code":-32600`},
		{name: "bomb of many messages", frames: many(9, func(i int) string { return piece(i, 0, false, "x") }), want: StatusTooLarge, reason: "more than 8"},
		{name: "bomb of one message", frames: many(9, func(i int) string { return piece(1, i, false, strings.Repeat("x", 500)) }), want: StatusTooLarge, reason: "message over 4096"},
		{name: "bomb of several", frames: many(9, func(i int) string { return piece(i%8, i/8, false, strings.Repeat("x", 600)) }), want: StatusTooLarge, reason: "message over 4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := Pipe(Options{}, small)
				end := serve(t, b, echo)
				raw := a.t.(*pipeEnd)
				var answers []string
				var closed *CloseError
				done := make(chan struct{})
				go func() {
					defer close(done)
					for {
						f, err := raw.read(t.Context())
						if err != nil {
							errors.As(err, &closed)
							return
						}
						answers = append(answers, string(f))
					}
				}()
				for _, f := range c.frames {
					if raw.write(t.Context(), []byte(f)) != nil {
						break // closed already
					}
				}
				synctest.Wait()
				if c.want == 0 {
					if got := strings.Join(answers, "\n"); !strings.Contains(got, c.answer) {
						t.Errorf("answers %s, want %s", got, c.answer)
					}
					b.Close(StatusNormal, "")
					if err := <-end; err != nil {
						t.Errorf("Serve = %v", err)
					}
					<-done
					return
				}
				var ce *CloseError
				if err := <-end; !errors.As(err, &ce) || ce.Status != c.want || !strings.Contains(ce.Reason, c.reason) {
					t.Errorf("Serve = %v, want %d with %q", err, c.want, c.reason)
				}
				<-done
				if closed == nil || closed.Status != c.want || !strings.Contains(closed.Reason, c.reason) {
					t.Errorf("the other side was told %v", closed)
				}
			})
		})
	}
}

// B189: 40 KB and 2 MB arrive; a frame beyond the limit is a clear end, over a real
// socket. A binary frame is garbage like any other.
func TestReadLimit(t *testing.T) {
	c, serverEnd := socketPair(t, Options{}, Options{}, echo)
	clientEnd := serve(t, c, echo)
	for _, n := range []int{40_000, 2 << 20} {
		var back string
		if err := c.Call(t.Context(), "echo", strings.Repeat("y\"", n/2), &back); err != nil || len(back) != n {
			t.Errorf("%d bytes: %d back, %v", n, len(back), err)
		}
	}
	c.Close(StatusNormal, "")
	<-clientEnd
	<-serverEnd

	served := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := Accept(w, r, Options{})
		if err == nil {
			err = conn.Serve(context.Background(), echo)
		}
		served <- err
	}))
	defer srv.Close()
	raw, _, err := websocket.Dial(t.Context(), srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.CloseNow() }()
	if err := raw.Write(t.Context(), websocket.MessageBinary, []byte(`{"id":1,"method":"echo"}`)); err != nil {
		t.Fatal(err)
	}
	if _, answer, err := raw.Read(t.Context()); err != nil || !strings.Contains(string(answer), "want text frames") {
		t.Errorf("a binary frame: %s, %v", answer, err)
	}
	if err := raw.Write(t.Context(), websocket.MessageText, make([]byte, 1<<20+1)); err != nil {
		t.Fatal(err)
	}
	_, _, err = raw.Read(t.Context())
	var ce websocket.CloseError
	if !errors.As(err, &ce) || ce.Code != websocket.StatusMessageTooBig || !strings.Contains(ce.Reason, "send longer messages as chunks") {
		t.Errorf("a frame over the limit: %v", err)
	}
	var own *CloseError
	if err := <-served; !errors.As(err, &own) || own.Status != StatusTooLarge {
		t.Errorf("Serve = %v", err)
	}
}

// Over a line that breaks at any byte, each call either got its answer, or was not
// sent, or its outcome is unknown; what was not sent was not done.
func TestCut(t *testing.T) {
	var mu sync.Mutex
	done := map[string]bool{}
	h := func(_ context.Context, _ string, params jsontext.Value) (any, error) {
		var p wire.SendParams
		if err := wire.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		done[p.ID] = true
		return wire.SentResult{ID: p.ID}, nil
	}
	var serving sync.WaitGroup
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Done()
		if c, err := Accept(w, r, Options{}); err == nil {
			_ = c.Serve(context.Background(), h)
		}
	}))
	defer srv.Close()
	defer serving.Wait()
	proxy := newProxy(t, srv.Listener.Addr().String())
	counts := map[string]int{}
	ids := 0
	for range 100 {
		c, err := Dial(t.Context(), "ws://"+proxy.addr(), Options{})
		if err != nil {
			counts["no connection"]++
			continue
		}
		end := serve(t, c, echo)
		var calls sync.WaitGroup
		for range 10 {
			ids++
			p := wire.SendParams{ID: fmt.Sprint("m", ids), Text: strings.Repeat("t", rand.IntN(600))}
			calls.Go(func() {
				var r wire.SentResult
				err := c.Call(t.Context(), "m", p, &r)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && r.ID == p.ID && done[p.ID]:
					counts["answered"]++
				case errors.Is(err, ErrNotSent) && !done[p.ID]:
					counts["not sent"]++
				case errors.Is(err, &wire.Error{Code: wire.CodeUnknown}):
					counts["unknown"]++
				default:
					t.Errorf("%s: %+v, %v, done %t", p.ID, r, err, done[p.ID])
				}
			})
		}
		calls.Wait()
		c.Close(StatusNormal, "")
		<-end
	}
	t.Log(counts)
	if counts["answered"] == 0 || counts["unknown"] == 0 {
		t.Errorf("the line breaks too rarely or too often: %v", counts)
	}
}

// proxy passes some thousand bytes in each direction, then breaks.
type proxy struct {
	l  net.Listener
	wg sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l}
	p.wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				return
			}
			end := func() { _ = in.Close(); _ = out.Close() }
			p.wg.Go(func() { defer end(); _, _ = io.CopyN(out, in, rand.Int64N(6000)) })
			p.wg.Go(func() { defer end(); _, _ = io.CopyN(in, out, rand.Int64N(3000)) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); p.wg.Wait() })
	return p
}

func (p *proxy) addr() string { return p.l.Addr().String() }

// A server that refuses says why, in its own words; the token is not in the error.
func TestDialRefused(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		code   wire.Code
		text   string
	}{
		{401, `{"code":"unauthorized","message":"no such token"}`, wire.CodeUnauthorized, "no such token"},
		{403, `{"code":"forbidden","message":"add it with --allow-host"}`, wire.CodeForbidden, "--allow-host"},
		{404, "<html>", "", "404"},
		{200, "fine", "", "200"},
		{302, "", "", "302"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cret" {
				t.Errorf("Authorization %q", r.Header.Get("Authorization"))
			}
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		_, err := Dial(t.Context(), srv.URL+"/?x=s3cret", Options{Token: "s3cret"})
		srv.Close()
		var e *wire.Error
		if errors.As(err, &e); c.code != "" && (e == nil || e.Code != c.code) || !strings.Contains(fmt.Sprint(err), c.text) || strings.Contains(fmt.Sprint(err), "s3cret") {
			t.Errorf("%d: %v", c.status, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	_ = l.Close()
	if _, err := Dial(t.Context(), nobody, Options{Token: "s3cret"}); err == nil || err.Error() != "connecting to "+nobody+": dial tcp "+nobody[len("http://"):]+": connect: connection refused" {
		t.Errorf("where nobody listens: %v", err)
	}
	for _, bad := range []string{"", "ftp://x", "ws://", "unix://", "://", "ws://u:s3cret@[::1"} {
		if _, err := Dial(t.Context(), bad, Options{}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Dial(%q) = %v", bad, err)
		}
	}
}

// FuzzFrames: whatever frames arrive, the connection answers or ends, and goes on
// otherwise.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}`), []byte(`{"id":1,"result":{}}`))
	f.Add([]byte(`{"chunk":{"id":1,"seq":0,"last":false,"data":"{\"id\":1,"}}`), []byte(`{"chunk":{"id":1,"seq":1,"last":true,"data":"\"method\":\"echo\"}"}}`))
	f.Add([]byte(`{"id":1,"error":{"code":-1,"message":"x","data":{"code":"stale"}}}`), []byte(`{"method":"panic"}`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		synctest.Test(t, func(t *testing.T) {
			a, b := Pipe(Options{}, Options{MessageBytes: 1 << 12, FrameBytes: 1 << 12})
			end := serve(t, b, echo)
			raw := a.t.(*pipeEnd)
			go func() {
				for {
					f, err := raw.read(t.Context())
					if err != nil {
						return
					}
					if !jsontext.Value(f).IsValid(jsontext.AllowDuplicateNames(true)) {
						t.Errorf("answered %q", f)
					}
				}
			}()
			_ = raw.write(t.Context(), one)
			_ = raw.write(t.Context(), two)
			synctest.Wait()
			b.Close(StatusNormal, "")
			<-end
		})
	})
}

// FuzzChunks: any message comes out of its chunks as it went in, whatever the size of
// a frame, and no frame is larger.
func FuzzChunks(f *testing.F) {
	f.Add("plain", 200)
	f.Add(strings.Repeat("\U0001f600\"\\\n\u2028\x7f\x01", 50), 150)
	f.Add("", 100)
	f.Fuzz(func(t *testing.T, text string, size int) {
		text = strings.ToValidUTF8(text, "?")
		size = chunkOverhead + 8 + abs(size)%2000
		a := assembler{limit: len(text) + 8}
		rest := []byte(text)
		for seq := 0; ; seq++ {
			frame, n := appendChunk(nil, 7, seq, rest, size)
			if len(frame) > size || !isChunk(frame) {
				t.Fatalf("frame of %d bytes, want at most %d", len(frame), size)
			}
			rest = rest[n:]
			c, err := parseChunk(frame)
			if err != nil {
				t.Fatalf("%s: %v", frame, err)
			}
			whole, _, err := a.add(c, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(rest) == 0 {
				if string(whole) != text || a.held != 0 || len(a.partial) != 0 {
					t.Fatalf("got %q, want %q; %d held", whole, text, a.held)
				}
				return
			}
			if whole != nil || n == 0 {
				t.Fatalf("whole after %d, %d bytes left", seq, len(rest))
			}
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

// FuzzAssemble: no sequence of chunks holds more than the limit.
func FuzzAssemble(f *testing.F) {
	f.Add([]byte(`{"chunk":{"id":1,"seq":0,"last":false,"data":"abc"}}`), []byte(`{"chunk":{"id":1,"seq":1,"last":true,"data":"\ud83d"}}`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		a := assembler{limit: 64}
		for _, frame := range [][]byte{one, two, one, two} {
			c, err := parseChunk(frame)
			if err != nil {
				return
			}
			whole, _, err := a.add(c, 0, nil)
			if a.held > 3*64 || a.held < 0 || len(whole) > 3*(64+8) {
				t.Fatalf("%d held, %d bytes out", a.held, len(whole))
			}
			if err != nil {
				return
			}
		}
	})
}

// The same over a real socket, through a proxy that stops forwarding without closing.
func TestHalfOpenSocket(t *testing.T) {
	o := Options{PingEvery: 200 * time.Millisecond, DeadAfter: 3 * time.Second}
	served := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := Accept(w, r, o)
		if err == nil {
			err = c.Serve(context.Background(), echo)
		}
		served <- err
	}))
	defer srv.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var stopped atomic.Bool
	over := make(chan struct{})
	defer wg.Wait()
	defer close(over)
	defer func() { _ = l.Close() }()
	wg.Go(func() {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		pass := func(to, from net.Conn) {
			buf := make([]byte, 4096)
			for {
				n, err := from.Read(buf)
				if err != nil {
					return
				}
				if stopped.Load() {
					continue
				}
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			}
		}
		wg.Go(func() { pass(out, in) })
		wg.Go(func() { pass(in, out) })
		<-over
		_, _ = in.Close(), out.Close()
	})
	c, err := Dial(t.Context(), "ws://"+l.Addr().String(), o)
	if err != nil {
		t.Fatal(err)
	}
	end := serve(t, c, echo)
	if err := c.Call(t.Context(), "echo", nil, nil); err != nil {
		t.Fatal(err)
	}
	stopped.Store(true)
	if err := c.Call(t.Context(), "echo", nil, nil); !errors.Is(err, &wire.Error{Code: wire.CodeUnknown}) {
		t.Errorf("the call = %v, want unknown_outcome", err)
	}
	for _, err := range []error{<-end, <-served} {
		if !errors.Is(err, ErrDead) {
			t.Errorf("Serve = %v, want ErrDead", err)
		}
	}
}
