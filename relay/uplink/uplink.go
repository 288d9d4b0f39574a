package uplink

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// Source is the host: a daemon.
type Source interface {
	Hosts(ctx context.Context) ([]wire.Host, error)
	WatchSessions(ctx context.Context, p wire.SessionsParams) ([]wire.Session, iter.Seq2[wire.SessionsPush, error], error)
	Stream(ctx context.Context, session string, from wire.Position) (iter.Seq2[gateway.Item, error], error)
	Call(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error)
}

// Syncer is a Source whose journals may lag behind on disk. Sync returns when all that
// Stream has given of a session is there.
type Syncer interface {
	Sync(ctx context.Context, session string) error
}

// Files is a Source that keeps files: those that its streams name, and those that
// people send with a message.
type Files interface {
	Create(ctx context.Context, caller wire.Caller, p wire.UploadParams) (wire.Upload, error)
	Append(ctx context.Context, ref string, offset int64, r io.Reader) (wire.Upload, error)
	Stat(ctx context.Context, ref string) (wire.Upload, error)
	Open(ctx context.Context, ref string) (io.ReadCloser, wire.Upload, error)
}

// Options describe one uplink. Zero fields mean defaults.
type Options struct {
	// URL is the relay, ws:// or wss://. HostPath is added to a URL without a path.
	URL string
	// Token gives the host's token; it is asked at each connect, so that a token can
	// be replaced.
	Token func() (string, error)
	// Source is the host, Program what it calls itself.
	Source  Source
	Program wire.Program
	// StateDir is where the cursors are kept, a directory of this relay's own.
	StateDir string
	// Profile is extended or strict.
	Profile contract.Profile
	// MinWait and MaxWait bound the back-off: 500 ms and 1 min.
	MinWait, MaxWait time.Duration
	// Peer are the connection's own options, for tests and TLS.
	Peer peer.Options
	// Logger gets facts, never texts or tokens. Nil is silent.
	Logger *slog.Logger
}

// Uplink is a host's connection to one relay.
type Uplink struct {
	opt     Options
	url     string
	cursors *cursors
	log     *slog.Logger
	// fetched maps refs of the relay to files of ours.
	fetched refs
	// running are the commands under way, which outlive a connection.
	running sync.WaitGroup

	mu     sync.Mutex
	status Status // guarded by mu
}

// Status is how an uplink does.
type Status struct {
	URL       string
	Connected bool
	// Since is when it was connected or lost, zero before the first try.
	Since time.Time
	// Err is why it is not connected.
	Err error
	// Waiting is how many envelopes the relay did not have when it was last looked at.
	Waiting int64
}

// New makes an uplink. It does nothing until Run.
func New(o Options) (*Uplink, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || !slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme) {
		return nil, fmt.Errorf("relay URL %q: want ws://host or wss://host", o.URL)
	}
	if u.RawQuery != "" || u.User != nil {
		return nil, errors.New("relay URL: want neither a query nor a password in it: the token goes in a file")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = wire.HostPath
	}
	if o.Profile == "" {
		o.Profile = contract.ProfileExtended
	}
	if o.MinWait == 0 {
		o.MinWait = 500 * time.Millisecond
	}
	if o.MaxWait == 0 {
		o.MaxWait = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := openCursors(o.StateDir)
	if err != nil {
		return nil, err
	}
	up := &Uplink{opt: o, url: u.String(), cursors: c, log: o.Logger.With("relay", u.Host)}
	up.status.URL = o.URL
	return up, nil
}

// Status is how the uplink does.
func (u *Uplink) Status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.status
}

func (u *Uplink) setStatus(connected bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if connected != u.status.Connected || u.status.Since.IsZero() {
		u.status.Since = time.Now()
	}
	u.status.Connected, u.status.Err = connected, err
}

// steady is how long a connection must last for the next wait to be the shortest
// again: a relay that takes connections and drops them is not to be hammered.
const steady = 10 * time.Second

// Run keeps the connection until ctx ends, and returns when everything it started has,
// commands included: the Source must end them when it stops. Its error is the cause of
// ctx.
func (u *Uplink) Run(ctx context.Context) error {
	defer u.running.Wait()
	defer u.cursors.flush(u.log)
	wait := u.opt.MinWait
	warned := time.Now()
	for ctx.Err() == nil {
		begin := time.Now()
		err := u.connect(ctx)
		if ctx.Err() != nil {
			break
		}
		u.setStatus(false, err)
		if time.Since(begin) > steady {
			wait = u.opt.MinWait
		}
		// Full jitter: many hosts that lose one relay do not come back together.
		pause := u.opt.MinWait/2 + rand.N(wait)
		u.log.Log(ctx, levelOf(err), "relay connection lost", "err", err, "again in", pause.Round(time.Millisecond))
		if time.Since(warned) > time.Hour {
			warned = time.Now()
			u.warnWaiting(ctx)
		}
		u.pause(ctx, pause)
		wait = min(2*wait, u.opt.MaxWait)
	}
	u.setStatus(false, context.Cause(ctx))
	return context.Cause(ctx)
}

// levelOf says how much a failed connection matters: one that no retry mends needs a
// person.
func levelOf(err error) slog.Level {
	if errors.Is(err, &wire.Error{Code: wire.CodeUnauthorized}) || errors.Is(err, &wire.Error{Code: wire.CodeForbidden}) {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// warnWaiting tells how much the relay does not have.
func (u *Uplink) warnWaiting(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	list, _, err := u.opt.Source.WatchSessions(ctx, wire.SessionsParams{})
	if err != nil {
		return
	}
	var waiting int64
	for _, s := range list {
		waiting += max(0, s.End-u.cursors.get(s.ID))
	}
	u.mu.Lock()
	u.status.Waiting = waiting
	u.mu.Unlock()
	u.log.Warn("the relay is away: the journals of this machine keep what it will be sent", "envelopes", waiting)
}

// pause waits for a time, or until the machine's addresses change.
func (u *Uplink) pause(ctx context.Context, d time.Duration) {
	end := time.NewTimer(d)
	defer end.Stop()
	look := time.NewTicker(2 * time.Second)
	defer look.Stop()
	before := addresses()
	for {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-look.C:
			if now := addresses(); now != before {
				u.log.Info("the network has changed: trying at once")
				return
			}
		}
	}
}

func addresses() string {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, a := range list {
		b.WriteString(a.String())
		b.WriteByte(' ')
	}
	return b.String()
}

// dialTime bounds connecting and the hello.
const dialTime = 30 * time.Second

// connect makes one connection and serves it until it ends.
func (u *Uplink) connect(ctx context.Context) error {
	token, err := u.opt.Token()
	if err != nil {
		return fmt.Errorf("reading the host's token: %w", err)
	}
	hosts, err := u.opt.Source.Hosts(ctx)
	if err != nil || len(hosts) != 1 {
		return fmt.Errorf("asking who this host is: %d hosts, %w", len(hosts), err)
	}
	dialCtx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	opts := u.opt.Peer
	opts.Token, opts.Ordered, opts.Log = token, wire.Ordered, u.log
	web, base, err := peer.HTTP(strings.TrimSuffix(u.url, wire.HostPath), opts)
	if err != nil {
		return err
	}
	conn, err := peer.Dial(dialCtx, u.url, opts)
	if err != nil {
		return err
	}
	l := &link{u: u, conn: conn, host: hosts[0], web: web, base: base, feeds: map[string]*feed{}}
	return l.run(ctx, dialCtx)
}
