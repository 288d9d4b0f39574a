//go:build !lite

package store

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/agenthost/agenthost/internal/filelock"
)

// Embedded is a NATS server in this process.
type Embedded struct {
	server *server.Server
	conn   *nats.Conn
	lock   *filelock.Lock
	// cluster says that it is a node of one.
	cluster bool
}

// EmbeddedOptions say where it keeps its files, and with whom it makes a cluster.
type EmbeddedOptions struct {
	// Dir is where everything is stored.
	Dir string
	// Sync makes every message be on the disk before it is acknowledged, and not only
	// with the operating system: what a crash of the machine must not lose.
	Sync bool
	// Name, ClusterListen (host:port) and Peers (nats://host:port) make it a node of
	// a cluster. Without ClusterListen nobody can connect to it.
	Name          string
	ClusterName   string
	ClusterListen string
	Peers         []string
	// ClusterSecret is known to all nodes. Who has it and reaches ClusterListen is a
	// node, and has everything. What the nodes say is not encrypted: have them on a
	// network of their own.
	ClusterSecret string
	// Logger gets the server's warnings and errors. Nil is silent.
	Logger *slog.Logger
}

// StartEmbedded starts a server and connects to it within the process. Another one on
// the same directory, of whatever process, is an error.
func StartEmbedded(o EmbeddedOptions) (*Embedded, error) {
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	e, err := o.start()
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	e.lock = lock
	return e, nil
}

func (o EmbeddedOptions) start() (*Embedded, error) {
	opts := &server.Options{
		ServerName: o.Name, DontListen: true, NoSigs: true, NoLog: o.Logger == nil,
		JetStream: true, StoreDir: o.Dir, SyncAlways: o.Sync, DisableJetStreamBanner: true,
		// What tenants may have (Options.MaxBytes) is a bound and nothing that is put
		// aside: else a disk smaller than that for all of them would refuse tenants
		// while it is empty.
		JetStreamMaxStore: 1 << 62,
		MaxPayload:        8 << 20, // commands carry prompts; envelopes are stored in smaller pieces
	}
	if o.Name == "" {
		opts.ServerName = "agenthost"
	}
	connect := []nats.Option{nats.Name("agenthost relay"), nats.MaxReconnects(-1)}
	if o.ClusterListen != "" {
		if err := o.cluster(opts); err != nil {
			return nil, err
		}
		// The server makes routes only when it takes clients as well: it takes one
		// that knows a word of this process.
		opts.DontListen, opts.Host, opts.Port, opts.Authorization = false, "127.0.0.1", server.RANDOM_PORT, rand.Text()
		connect = append(connect, nats.Token(opts.Authorization))
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("starting the embedded server in %s: %w", o.Dir, err)
	}
	if o.Logger != nil {
		s.SetLoggerV2(natsLogger{o.Logger}, false, false, false)
	}
	s.Start()
	if !s.ReadyForConnections(15 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("the embedded server in %s is not ready after 15 s", o.Dir)
	}
	nc, err := nats.Connect("", append(connect, nats.InProcessServer(s))...)
	if err != nil {
		s.Shutdown()
		return nil, fmt.Errorf("connecting to the embedded server: %w", err)
	}
	return &Embedded{server: s, conn: nc, cluster: o.ClusterListen != ""}, nil
}

func (o EmbeddedOptions) cluster(opts *server.Options) error {
	listen, err := url.Parse("nats://" + o.ClusterListen)
	if err != nil || listen.Port() == "" {
		return fmt.Errorf("cluster address %q: want host:port", o.ClusterListen)
	}
	if opts.ServerName == "agenthost" {
		return errors.New("a node of a cluster needs a name of its own")
	}
	var port int
	if _, err := fmt.Sscanf(listen.Port(), "%d", &port); err != nil {
		return fmt.Errorf("cluster address %q: want a port number", o.ClusterListen)
	}
	if len(o.ClusterSecret) < 20 {
		return fmt.Errorf("the cluster's secret: want at least 20 characters, got %d", len(o.ClusterSecret))
	}
	who := url.UserPassword("agenthost", o.ClusterSecret)
	opts.Cluster = server.ClusterOpts{
		Name: o.ClusterName, Host: listen.Hostname(), Port: port, Username: "agenthost", Password: o.ClusterSecret,
	}
	if opts.Cluster.Name == "" {
		opts.Cluster.Name = "agenthost"
	}
	for _, p := range o.Peers {
		u, err := url.Parse(p)
		if err != nil || u.Host == "" {
			return fmt.Errorf("peer %q: want nats://host:port", p)
		}
		u.User = who
		opts.Routes = append(opts.Routes, u)
	}
	return nil
}

// Conn is the connection to the server. It ends with it.
func (e *Embedded) Conn() *nats.Conn { return e.conn }

// Health reports what the server cannot do: a stream whose file could not be written
// stays unwritable until the server starts again, also when the disk has room again.
//
// Of a node of a cluster it reports nothing else: a stream that has no leader yet, or
// that catches up, is the cluster's to mend.
func (e *Embedded) Health() error {
	h := e.server.Healthz(&server.HealthzOptions{Details: true})
	if !e.server.JetStreamEnabled() {
		return errors.New("the store has stopped: the disk is full, as a rule")
	}
	for _, fault := range h.Errors {
		if !e.cluster || strings.Contains(fault.Error, "write error") {
			return fmt.Errorf("the store: %s %s", fault.Stream, fault.Error)
		}
	}
	if !e.cluster && (h.StatusCode != 0 && h.StatusCode != http.StatusOK || h.Error != "") {
		return fmt.Errorf("the store: %s", cmp.Or(h.Error, h.Status))
	}
	return nil
}

// Close stops the server when what it has is stored.
func (e *Embedded) Close() {
	e.conn.Close()
	e.server.Shutdown()
	e.server.WaitForShutdown()
	e.lock.Unlock() // nothing writes any more
}

// natsLogger gives the server's words to slog.
type natsLogger struct{ log *slog.Logger }

func (l natsLogger) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l natsLogger) Warnf(format string, v ...any)   { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l natsLogger) Fatalf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l natsLogger) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l natsLogger) Debugf(string, ...any)           {}
func (l natsLogger) Tracef(string, ...any)           {}
