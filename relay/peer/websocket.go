package peer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/agenthost/agenthost/relay/wire"
)

// Path is where a daemon or relay takes viewers, as docs/relay.md says.
const Path = "/v1/ws"

// Dial connects to a daemon or relay. The URL has the scheme ws or wss (http and
// https are the same), or unix, whose path is a socket: unix:///run/user/1000/agenthost.sock.
// A path that is empty is Path. ctx bounds the dialling alone. When the server
// refuses, the error wraps the *wire.Error that it gave.
func Dial(ctx context.Context, rawURL string, opts Options) (*Conn, error) {
	opts = opts.withDefaults()
	target, transport, err := route(rawURL, opts)
	if err != nil {
		return nil, err
	}
	ws := newSocket(opts)
	transport.DialContext = ws.dialer(transport.DialContext)
	header := opts.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if opts.Token != "" {
		header.Set("Authorization", "Bearer "+opts.Token)
	}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this server
	}
	conn, resp, err := websocket.Dial(ctx, target, &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: header, Subprotocols: []string{wire.Protocol},
		OnPingReceived: ws.pinged, OnPongReceived: ws.ponged,
	})
	if err != nil {
		transport.CloseIdleConnections()
		return nil, fmt.Errorf("connecting to %s: %w", redact(rawURL), refusal(resp, err))
	}
	ws.use(conn)
	return newConn(ws, opts), nil
}

// route says what to dial, and how.
func route(rawURL string, opts Options) (string, *http.Transport, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", nil, fmt.Errorf("address of the relay: %w", errors.Unwrap(err)) // without the URL, which may hold secrets
	}
	dialer := &net.Dialer{}
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: opts.TLS, DialContext: dialer.DialContext}
	switch u.Scheme {
	case "ws", "wss", "http", "https":
		if u.Host == "" {
			return "", nil, fmt.Errorf("address of the relay: no host in %s", redact(rawURL))
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = Path
		}
		return u.String(), t, nil
	case "unix", "http+unix":
		socket := u.Path
		if socket == "" {
			return "", nil, fmt.Errorf("address of the relay: no socket in %s", redact(rawURL))
		}
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}
		return "ws://localhost" + Path, t, nil
	}
	return "", nil, fmt.Errorf("address of the relay: want a URL such as wss://relay.example or unix:///path, got %q", redact(rawURL))
}

// redact is a URL without what may be secret in it.
func redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// refusal is the error that an answer which is no upgrade holds.
func refusal(resp *http.Response, err error) error {
	var lost *url.Error
	if errors.As(err, &lost) { // what is wrong with the way there, without the library's steps
		if errors.Is(lost.Err, io.EOF) {
			return errors.New("the server closed the connection without an answer")
		}
		return lost.Err
	}
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return err
	}
	if e := Refusal(resp); e != nil {
		return e
	}
	return fmt.Errorf("no WebSocket there: the server answered %s", resp.Status)
}

// Refusal is the *wire.Error in the body of an answer, nil when it holds none.
func Refusal(resp *http.Response) *wire.Error {
	var e wire.Error
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil || json.Unmarshal(body, &e) != nil || e.Code == "" {
		return nil
	}
	return &e
}

// Accept takes over a request that asks for a WebSocket. On an error it has answered
// it. Authentication comes before.
func Accept(w http.ResponseWriter, r *http.Request, opts Options) (*Conn, error) {
	opts = opts.withDefaults()
	ws := newSocket(opts)
	conn, err := websocket.Accept(&hijacker{ResponseWriter: w, ws: ws}, r, &websocket.AcceptOptions{
		Subprotocols: []string{wire.Protocol}, InsecureSkipVerify: opts.OriginChecked,
		OnPingReceived: ws.pinged, OnPongReceived: ws.ponged,
	})
	if err != nil {
		return nil, fmt.Errorf("accepting a connection: %w", err)
	}
	ws.use(conn)
	return newConn(ws, opts), nil
}

// hijacker lets the socket have the connection below.
type hijacker struct {
	http.ResponseWriter
	ws *socket
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered()) // what came behind the request
	sight := &headers{from: conn, limit: uint64(h.ws.limit), rest: bytes.Clone(early)}
	rw.Reader.Reset(sight)
	return h.ws.tap(conn, sight), rw, nil
}

// socket is a WebSocket. It taps the connection below for two things that the library
// does not give: when bytes came, and an end that waits for nothing.
type socket struct {
	ws      *websocket.Conn
	limit   int
	life    lifeSign
	writing sync.Mutex                // held while a frame is written
	began   atomic.Pointer[time.Time] // of the frame that is being read, nil for none

	mu     sync.Mutex
	below  net.Conn
	killed bool
}

func newSocket(opts Options) *socket {
	return &socket{limit: opts.FrameBytes, life: newLifeSign()}
}

func (s *socket) use(conn *websocket.Conn) {
	// One more than we take, so that the reason for closing is our own.
	conn.SetReadLimit(int64(s.limit) + 2)
	s.ws = conn
	s.life.touch()
}

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

func (s *socket) dialer(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return s.tap(conn, conn), nil
	}
}

func (s *socket) tap(conn net.Conn, from io.Reader) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.below = conn
	return &tapped{Conn: conn, from: from, life: s.life}
}

// tapped is a connection that is read from something before it.
type tapped struct {
	net.Conn
	from io.Reader
	life lifeSign
}

func (t *tapped) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if n > 0 {
		t.life.touch()
	}
	return n, err
}

// pinged says whether the library is to answer a ping. While a frame is being
// written it is not: it would wait for the frame, and give the connection up after
// five seconds. The other side sees our own pings.
func (s *socket) pinged(context.Context, []byte) bool {
	if !s.writing.TryLock() {
		return false
	}
	s.writing.Unlock()
	return true
}

func (s *socket) ponged(context.Context, []byte) {}

func (s *socket) read(ctx context.Context) ([]byte, error) {
	kind, r, err := s.ws.Reader(ctx)
	if err != nil {
		return nil, s.readError(err)
	}
	now := time.Now()
	s.began.Store(&now)
	defer s.began.Store(nil)
	var frame bytes.Buffer
	n, err := frame.ReadFrom(io.LimitReader(r, int64(s.limit)+1))
	switch {
	case err != nil:
		return nil, s.readError(err)
	case n > int64(s.limit):
		return nil, overFrame(s.limit)
	case kind != websocket.MessageText:
		return nil, &frameError{what: "binary frame; want text frames"}
	}
	return frame.Bytes(), nil
}

func overFrame(limit int) error {
	return &frameError{status: StatusTooLarge, what: fmt.Sprintf("frame over %d bytes; send longer messages as chunks", limit), fatal: true}
}

func (s *socket) readError(err error) error {
	if errors.Is(err, errOver) {
		return overFrame(s.limit)
	}
	return closeError(err)
}

// closeError is err as a *CloseError when the other side said goodbye.
func closeError(err error) error {
	var ce websocket.CloseError
	if errors.As(err, &ce) {
		return &CloseError{Status: Status(ce.Code), Reason: strings.ToValidUTF8(ce.Reason, "\ufffd"), Remote: true}
	}
	return err
}

func (s *socket) write(ctx context.Context, frame []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.ws.Write(ctx, websocket.MessageText, frame)
}

// ping does not wait for the answer: reading may have stopped.
func (s *socket) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	if !s.writing.TryLock() { // the frame that is being written is a sign of life
		return nil
	}
	s.writing.Unlock()
	err := s.ws.Ping(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (s *socket) lastLife() time.Time { return s.life.last() }

func (s *socket) readingSince() time.Time {
	if began := s.began.Load(); began != nil {
		return *began
	}
	return time.Time{}
}

func (s *socket) close(code Status, reason string) {
	_ = s.ws.Close(websocket.StatusCode(code), reason) // it is over either way
}

func (s *socket) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed || s.below == nil {
		return
	}
	s.killed = true
	_ = s.below.Close()
}

func (s *socket) free() { _ = s.ws.CloseNow() }
