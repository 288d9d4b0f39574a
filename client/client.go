package client

import (
	"context"
	"crypto/tls"
	"encoding/json/jsontext"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// Options are how to connect.
type Options struct {
	// Token is what the relay or daemon gave out. A unix socket needs none.
	Token string
	// TLS is for relays with certificates of their own; nil is the system's.
	TLS *tls.Config
	// Program names the program, for the other side's log.
	Program wire.Program
	// ClientType is what this is, when the token does not say: cli, phone, browser.
	// cli when empty.
	ClientType contract.ClientType
	// Patience is how long a command tries to connect again before it gives up: 30 s.
	// Subscriptions try until their ctx is over.
	Patience time.Duration
	// Log takes lost connections; nil discards.
	Log *slog.Logger
}

// Client talks to one daemon or relay. It is safe for concurrent use.
type Client struct {
	url  string
	opts Options

	life context.Context // over after Close
	end  context.CancelFunc
	runs sync.WaitGroup // connections being served

	dialing chan struct{} // held by who connects

	mu      sync.Mutex
	conn    *peer.Conn   // of the commands; nil before the first. Guarded by mu
	welcome wire.Welcome // guarded by mu
}

// ErrClosed says that the client was closed.
var ErrClosed = errors.New("client is closed")

// The pause before connecting again: it doubles from the one to the other, and is
// anything up to that, so that many clients do not come at once.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 15 * time.Second
	// helloTime bounds the greeting, as a server that accepts and says nothing is
	// none.
	helloTime = 15 * time.Second
)

// Dial connects, once: its error says why that did not work. Later the client connects
// again by itself. ctx bounds Dial alone. The caller calls Close.
func Dial(ctx context.Context, url string, opts Options) (*Client, error) {
	if opts.Patience <= 0 {
		opts.Patience = 30 * time.Second
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.ClientType == "" {
		opts.ClientType = contract.ClientCLI
	}
	if opts.Program.Name == "" {
		opts.Program.Name = "agenthost-client"
	}
	c := &Client{url: url, opts: opts, dialing: make(chan struct{}, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	conn, welcome, err := c.connect(ctx, ignore)
	if err != nil {
		c.end()
		return nil, err
	}
	c.conn, c.welcome = conn, welcome
	return c, nil
}

// Close ends all connections and subscriptions, and waits for them: within a second.
func (c *Client) Close() {
	c.mu.Lock()
	c.end()
	c.mu.Unlock()
	c.runs.Wait()
}

// Welcome is what the server said of itself when the client connected last: its
// version, its features, its limits and the scopes of the token.
func (c *Client) Welcome() wire.Welcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.welcome
}

// ignore is the handler of a connection on which nothing is pushed.
func ignore(context.Context, string, jsontext.Value) (any, error) {
	return nil, wire.Errorf(wire.CodeUnknownMethod, "this is a viewer")
}

// sendBytes is the longest message that daemons and relays take of a viewer
// (docs/relay.md): a longer one would cost the connection, and with it the knowledge
// whether the call was made.
const sendBytes = 8 << 20

// connect opens a connection, which is served until it or the client ends.
func (c *Client) connect(ctx context.Context, h peer.Handler) (*peer.Conn, wire.Welcome, error) {
	var w wire.Welcome
	conn, err := peer.Dial(ctx, c.url, peer.Options{
		Token: c.opts.Token, TLS: c.opts.TLS, Ordered: wire.Ordered, Log: c.opts.Log, SendBytes: sendBytes,
	})
	if err != nil {
		return nil, w, err
	}
	if !c.serve(conn, h) {
		conn.Close(peer.StatusNormal, "")
		return nil, w, ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	err = conn.Call(ctx, wire.ViewerHello, wire.Hello{
		Protocols: []string{wire.Protocol}, Client: c.opts.Program, ClientType: string(c.opts.ClientType),
	}, &w)
	if err != nil {
		conn.Close(peer.StatusNormal, "")
		return nil, w, err
	}
	return conn, w, nil
}

// serve runs a connection; false when the client was closed.
func (c *Client) serve(conn *peer.Conn, h peer.Handler) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return false
	}
	c.runs.Go(func() {
		if err := conn.Serve(c.life, h); err != nil && c.life.Err() == nil {
			c.opts.Log.Warn("connection ended", "err", err)
		}
	})
	return true
}

// commands is the connection for commands, a new one if the last has ended.
func (c *Client) commands(ctx context.Context) (*peer.Conn, error) {
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	select {
	case <-conn.Done():
	default:
		return conn, nil
	}
	conn, welcome, err := c.connect(ctx, ignore)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.welcome = conn, welcome
	return conn, nil
}

// call makes a call, again if the connection was lost and that is safe.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	m, _ := wire.MethodOf(method)
	p := pause{}
	for began := time.Now(); ; {
		conn, sent, err := c.try(ctx, method, params, result)
		switch {
		case err == nil || c.life.Err() != nil && errors.Is(err, ErrClosed) || ctx.Err() != nil:
			return err
		case sent && !(Code(err) == wire.CodeUnknown && m.Repeatable && lost(conn)):
			return err
		case !sent && final(err):
			return err
		case time.Since(began) > c.opts.Patience:
			return err
		}
		c.opts.Log.Info("trying again", "method", method, "err", err)
		if err := p.wait(ctx, c.life); err != nil {
			return err
		}
	}
}

// try makes a call once, on conn. sent says that it may have reached the other side.
func (c *Client) try(ctx context.Context, method string, params, result any) (conn *peer.Conn, sent bool, err error) {
	conn, err = c.commands(ctx)
	if err != nil {
		return nil, false, err
	}
	err = conn.Call(ctx, method, params, result)
	return conn, !errors.Is(err, peer.ErrNotSent), err
}

// lost reports whether a connection has ended, so that an unknown outcome is ours and
// not that of a relay which lost its host.
func lost(conn *peer.Conn) bool {
	select {
	case <-conn.Done():
		return true
	default:
		return false
	}
}

// Code is the code of an error of the other side, empty for any other.
func Code(err error) wire.Code {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// final reports whether connecting or subscribing again would give the same.
func final(err error) bool {
	switch Code(err) {
	case "", wire.CodeInternal, wire.CodeBusy, wire.CodeHostOffline, wire.CodeUnknown, wire.CodeTimeout, wire.CodeRateLimited:
		return errors.Is(err, ErrClosed)
	}
	return true
}

// pause is what lies between two tries.
type pause struct{ next time.Duration }

// wait waits, each time up to twice as long. Its error is the cause of ctx, or
// ErrClosed.
func (p *pause) wait(ctx, life context.Context) error {
	p.next = min(max(2*p.next, firstPause), maxPause)
	t := time.NewTimer(time.Duration(rand.Int64N(int64(p.next)) + 1))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-life.Done():
		return ErrClosed
	}
}

func (p *pause) reset() { p.next = 0 }
