package gateway_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// sender is a connection whose bytes a test sends one by one.
type sender struct {
	t     *testing.T
	c     net.Conn
	began time.Time
	heard chan string // what the other side has said when it closed
}

// newSender connects.
func newSender(t *testing.T, l *pipes) *sender {
	t.Helper()
	c, err := l.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	s := &sender{t: t, c: c, began: time.Now(), heard: make(chan string, 1)}
	go func() {
		all, _ := io.ReadAll(c) // until it is closed, however
		s.heard <- string(all)
	}()
	t.Cleanup(func() { _ = c.Close() })
	return s
}

// send sends what nobody has to wait for.
func (s *sender) send(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.c, text); err != nil {
		said := <-s.heard
		s.t.Fatalf("after %v: %v; it said %q", time.Since(s.began), err, said[max(0, len(said)-300):])
	}
}

// trickle sends a piece again and again until the other side has had enough, which it
// returns with the time that it took.
func (s *sender) trickle(piece string, every time.Duration) (string, time.Duration) {
	s.t.Helper()
	for {
		_, err := io.WriteString(s.c, piece)
		select {
		case said := <-s.heard:
			return said, time.Since(s.began)
		case <-time.After(every):
		}
		if err != nil || time.Since(s.began) > 24*time.Hour {
			s.t.Fatalf("after %v it still takes bytes, or says nothing: %v", time.Since(s.began), err)
		}
	}
}

func post(length int) string {
	return fmt.Sprintf("POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer control-token\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", length)
}

const socketHead = "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer control-token\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: agenthost.v1\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

// frameHead is that of a text frame of n bytes, masked with zeros.
func frameHead(n int) string {
	return string(binary.BigEndian.AppendUint64([]byte{0x81, 0xff}, uint64(n))) + "\x00\x00\x00\x00"
}

const pong = "\x8a\x80\x00\x00\x00\x00"

func piece(seq int, last bool, data string) string {
	text := fmt.Sprintf(`{"chunk":{"id":1,"seq":%d,"last":%t,"data":%q}}`, seq, last, data)
	return frameHead(len(text)) + text
}

// Whoever sends slowly is there for a bounded time only, and nobody else notices.
func TestSlowSenders(t *testing.T) {
	for _, c := range []struct {
		name  string
		head  string // sent at once
		piece string // sent again and again
		every time.Duration
		least time.Duration
		most  time.Duration
		says  string // the other side, at the end
	}{
		{"headers", "GET /v1/sessions HTTP/1.1\r\n", "X-A: b\r\n", time.Second, 5 * time.Second, 11 * time.Second, ""},
		{"headers, byte by byte", "", "G", time.Second, 5 * time.Second, 11 * time.Second, ""},
		{"a body", post(1000) + `{"agent":"`, "x", time.Second, 29 * time.Second, 35 * time.Second, "broke off"},
		{"a body that does not come", post(1000), "", time.Second, 29 * time.Second, 35 * time.Second, "broke off"},
		{"a file", "PATCH /v1/files/f1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer control-token\r\nContent-Type: application/octet-stream\r\n" +
			"Upload-Offset: 0\r\nContent-Length: 1000\r\n\r\n", "x", 10 * time.Second, time.Minute, 3 * time.Minute, "HTTP/1.1"},
		{"a frame, byte by byte", socketHead + frameHead(1000), "x", 10 * time.Second, 4 * time.Minute, 6 * time.Minute, "did not get on"},
		{"a frame that says it is over", socketHead + frameHead(1<<40), "x", 10 * time.Second, 0, 5 * time.Second, "\x03\xf1frame over"}, // 1009
		{"a message whose end does not come", socketHead + piece(0, false, "{"), pong, 10 * time.Second, 4 * time.Minute, 6 * time.Minute, "did not get on"},
		{"nothing at all on a socket", socketHead, "", time.Second, 20 * time.Second, 30 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, l := memory(t, gateway.Options{})
				if _, err := host.Create(t.Context(), wire.Caller{}, wire.UploadParams{Ref: "f1", Name: "a", Size: 1000}); err != nil {
					t.Fatal(err)
				}
				s := newSender(t, l)
				s.send(c.head)
				said, took := s.trickle(c.piece, c.every)
				if took < c.least || took > c.most || !strings.Contains(said, c.says) {
					t.Errorf("it ended after %v, want %v to %v, with %q, want %q", took, c.least, c.most, said, c.says)
				}
				if calls := host.Calls(); len(calls) != 0 {
					t.Errorf("half a request was done: %+v", calls)
				}
			})
		})
	}
}

// One whose line is slow and that goes on is served.
func TestSlowButSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, l := memory(t, gateway.Options{})
		s := newSender(t, l)
		s.send(socketHead)
		text := `{"jsonrpc":"2.0","id":1,"method":"session.spawn","params":{"agent":"echo","dir":"/w"}}`
		for i := range text {
			s.send(piece(i, i == len(text)-1, text[i:i+1]))
			for range 6 {
				time.Sleep(10 * time.Second)
				s.send(pong)
			}
		}
		synctest.Wait()
		if calls := host.Calls(); len(calls) != 1 || calls[0].Method != wire.SessionSpawn {
			t.Errorf("calls %+v", calls)
		}
	})
}

// Many that send something long and do not end it hold what their token may: the next is
// refused, and another token is not.
func TestUnfinished(t *testing.T) {
	const size = 900_000
	long := strings.Repeat("x", size)
	for _, c := range []struct {
		name string
		head string
		full string // said to the one that is over
	}{
		{"bodies", post(1<<20) + `{"agent":"` + long, "429 Too Many Requests"},
		{"messages", socketHead + piece(0, false, long), "\x03\xf5"}, // 1013
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, l := memory(t, gateway.Options{Limits: gateway.Limits{TokenBytes: 8 << 20}})
				_ = host.Add(wire.Session{})
				var all []*sender
				for range 12 {
					s := newSender(t, l)
					_, _ = io.WriteString(s.c, c.head) // it may be refused in the middle
					all = append(all, s)
				}
				time.Sleep(5 * time.Second) // of synctest: connections that are closed linger
				var refused []string
				for _, s := range all {
					select {
					case said := <-s.heard:
						refused = append(refused, said)
					default:
					}
				}
				if len(refused) < 7 || len(refused) > 10 || !slices.ContainsFunc(refused, func(said string) bool { return strings.Contains(said, c.full) }) {
					t.Errorf("%d of 12 are refused, with %q among it? %q", len(refused), c.full, refused)
				}
				transport := &http.Transport{DialContext: l.dial, DisableKeepAlives: true}
				req, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/sessions/last/messages", strings.NewReader(`{"text":"`+long+`"}`))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer admin-token")
				req.Header.Set("Content-Type", "application/json")
				resp, err := transport.RoundTrip(req)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("another token: %v, %v", resp, err)
				}
				_ = resp.Body.Close()
			})
		})
	}
}

// A token whose memory others have filled still sends what is short: an answer, an abort.
func TestShortWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, l := memory(t, gateway.Options{Limits: gateway.Limits{TokenBytes: 1 << 20}})
		_ = host.Add(wire.Session{ID: "s1"})
		socket := newSender(t, l)
		socket.send(socketHead) // it is what fills the token
		synctest.Wait()
		text := `{"jsonrpc":"2.0","id":1,"method":"session.send","params":{"session":"s1","text":"` + strings.Repeat("in pieces ", 100) + `"}}`
		for range 100 { // more than 64 KiB in all, which is let go of
			socket.send(piece(0, false, text[:30]) + piece(1, true, text[30:]))
			synctest.Wait() // it was handled
		}
		transport := &http.Transport{DialContext: l.dial, DisableKeepAlives: true}
		for size, want := range map[int]int{20: http.StatusOK, 100 << 10: http.StatusTooManyRequests} {
			req, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/sessions/s1/messages", strings.NewReader(`{"text":"`+strings.Repeat("x", size)+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer control-token")
			req.Header.Set("Content-Type", "application/json")
			resp, err := transport.RoundTrip(req)
			if err != nil && want == http.StatusTooManyRequests {
				continue // it was refused while it was being sent, and the answer lost with the connection
			}
			if err != nil {
				t.Fatal(err)
			}
			if _ = resp.Body.Close(); resp.StatusCode != want {
				t.Errorf("a body of %d bytes: %s, want %d", size, resp.Status, want)
			}
		}
		select {
		case said := <-socket.heard:
			t.Errorf("the socket is closed: %q", said[max(0, len(said)-200):])
		case <-time.After(5 * time.Second):
		}
	})
}

// A stream goes on though its request has a body, as some proxies make it, that nobody reads:
// net/http discards it with the first flush, and takes the deadline of bodies away.
func TestStreamWithBody(t *testing.T) {
	for _, c := range []struct{ name, path, accept string }{
		{"envelopes", "/v1/sessions/s1/envelopes", "text/event-stream"},
		{"lines", "/v1/sessions/s1/envelopes?follow=true", "application/x-ndjson"},
		{"sessions", "/v1/sessions", "text/event-stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, l := memory(t, gateway.Options{})
				_ = host.Add(wire.Session{ID: "s1"})
				s := newSender(t, l)
				s.send("GET " + c.path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer control-token\r\nAccept: " + c.accept + "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
				select {
				case said := <-s.heard:
					t.Fatalf("it ended after %v with %q", time.Since(s.began), said)
				case <-time.After(time.Hour):
				}
				_ = s.c.Close()
				if said := <-s.heard; !strings.Contains(said, "200 OK") {
					t.Errorf("it said %q", said)
				}
			})
		})
	}
}
