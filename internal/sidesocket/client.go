// Package sidesocket is the connection to a program that serves WebSocket messages on a
// unix socket, beside the agent whose screen it serves.
//
// # Guarantees
//
//   - It is waited for: until the program listens, or ends, or Options.Patience is over.
//   - Messages come one after the other, in their order. One over Options.MaxMessage is
//     told by its length, and the connection lives on.
//   - Write never blocks. What is written before the first connection stands waits for it.
//   - A connection that breaks while the program lives is made again, which a Message
//     tells. What was written to the old one and did not go out is thrown away: whoever
//     writes begins anew. Resume says that he does.
//
// # Non-goals
//
// What the messages mean; authentication: the socket's directory belongs to one child.
//
// # Testing
//
// go test ./internal/sidesocket, against a real server that cuts connections.
package sidesocket

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// ErrFull says that the program has not read for so long that the queue is full.
var ErrFull = errors.New("the program beside the screen does not read")

// Message is one message of the program, or the news of a new connection.
type Message struct {
	// Data belongs to the receiver.
	Data []byte
	// Dropped is the length of a message over the limit; Data is then nil.
	Dropped int64
	// Reconnected says that the connection broke and stands again; the rest is empty.
	Reconnected bool
}

// Options of a Client. Zero fields mean defaults.
type Options struct {
	// Path is the socket, absolute.
	Path string
	// Done is closed when the program has ended.
	Done <-chan struct{}
	// MaxMessage is the longest message taken whole, MaxQueued what Write keeps, in
	// bytes. Default 64 MiB each.
	MaxMessage, MaxQueued int
	// Patience is how long the program may take to listen. Default 1 min.
	Patience time.Duration
	// Connected is called when the first connection stands, Receive with each message,
	// Failed once when there is no connection and will be none though the program
	// lives. All are called from one goroutine and may block.
	Connected func()
	Receive   func(Message)
	Failed    func(error)
}

// Client is a connection. Its methods are safe for concurrent use.
type Client struct {
	o      Options
	ctx    context.Context // of the connection's life
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	wake   *sync.Cond
	conn   *websocket.Conn // guarded by mu; nil while none stands
	queue  [][]byte        // guarded by mu
	queued int             // guarded by mu; bytes in queue
	mute   bool            // guarded by mu: what is written is for a connection that is gone
	over   bool            // guarded by mu
}

// New begins to connect. The caller closes.
func New(o Options) *Client {
	o.MaxMessage, o.MaxQueued = cmp.Or(o.MaxMessage, 64<<20), cmp.Or(o.MaxQueued, 64<<20)
	o.Patience = cmp.Or(o.Patience, time.Minute)
	c := &Client{o: o}
	c.wake = sync.NewCond(&c.mu)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wg.Go(c.run)
	c.wg.Go(c.send)
	return c
}

// Write queues a copy of p as one message. The error is ErrFull, and nothing is written
// then. Writing to a program that is gone is no error.
func (c *Client) Write(p []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over || c.mute:
		return nil
	case c.queued > 0 && c.queued+len(p) > c.o.MaxQueued:
		return ErrFull
	}
	c.queue = append(c.queue, bytes.Clone(p))
	c.queued += len(p)
	c.wake.Broadcast()
	return nil
}

// Resume says that what is written from now on is for the connection that was last told
// of.
func (c *Client) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mute = false
}

// Close waits until what a program that has ended had said was received; a connection
// to one that lives is cut.
func (c *Client) Close() {
	select {
	case <-c.o.Done:
		// Its end ended the connection, but for a process that has it and escaped.
		timer := time.AfterFunc(lastWords, c.cancel)
		defer timer.Stop()
	default:
		c.cancel()
	}
	c.wg.Wait()
	c.cancel()
}

// run connects, reads, and connects again, until the program has ended.
func (c *Client) run() {
	defer c.finish()
	first := true
	for {
		conn, err := c.dial()
		if err != nil {
			if !c.gone() {
				c.o.Failed(err)
			}
			return
		}
		c.use(conn)
		if first {
			first = false
			c.o.Connected()
		} else {
			c.o.Receive(Message{Reconnected: true})
		}
		c.read(conn)
		c.drop(conn)
		if c.gone() {
			return
		}
	}
}

func (c *Client) gone() bool {
	select {
	case <-c.o.Done:
		return true
	case <-c.ctx.Done():
		return true
	default:
		return false
	}
}

const (
	// lastWords is how long what a program that has ended had said may take to be read.
	lastWords = 5 * time.Second
	// The pauses between tries to connect: the first, and the longest.
	firstPause, longestPause = 5 * time.Millisecond, 200 * time.Millisecond
)

// dial connects as soon as the program listens.
func (c *Client) dial() (*websocket.Conn, error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", c.o.Path)
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(c.ctx, c.o.Patience)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		conn, _, err := websocket.Dial(ctx, "ws://localhost/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if err == nil {
			conn.SetReadLimit(-1) // read has its own, which a connection outlives
			return conn, nil
		}
		select {
		case <-time.After(pause):
		case <-c.o.Done:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("connecting to the agent's server: %w", err)
		}
	}
}

func (c *Client) use(conn *websocket.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	c.wake.Broadcast()
}

// drop forgets a connection that broke, and what was to go out on it.
func (c *Client) drop(conn *websocket.Conn) {
	_ = conn.CloseNow()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.mute = nil, true
	c.queue, c.queued = nil, 0
}

func (c *Client) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.queue, c.queued = nil, 0
	c.wake.Broadcast()
}

// read receives until the connection breaks.
func (c *Client) read(conn *websocket.Conn) {
	for {
		_, r, err := conn.Reader(c.ctx)
		if err != nil {
			return
		}
		data, err := io.ReadAll(io.LimitReader(r, int64(c.o.MaxMessage)+1))
		if err != nil {
			return
		}
		if len(data) <= c.o.MaxMessage {
			c.o.Receive(Message{Data: data})
			continue
		}
		rest, err := io.Copy(io.Discard, r)
		if err != nil {
			return
		}
		c.o.Receive(Message{Dropped: int64(len(data)) + rest})
	}
}

// send writes what is queued.
func (c *Client) send() {
	for {
		conn, p := c.next()
		if conn == nil {
			return
		}
		if err := conn.Write(c.ctx, websocket.MessageText, p); err != nil {
			_ = conn.CloseNow() // read notices, and drops it
		}
	}
}

// next waits for something to send. It is nil when nothing more is.
func (c *Client) next() (*websocket.Conn, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over && (c.conn == nil || len(c.queue) == 0) {
		c.wake.Wait()
	}
	if c.over {
		return nil, nil
	}
	p := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	c.queued -= len(p)
	return c.conn, p
}
