package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/server"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// serve runs the relay until ctx ends.
func serve(ctx context.Context, f *flags, out, errOut io.Writer) error {
	level, err := f.check()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: level}))
	if err := os.MkdirAll(f.data, 0o700); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	nc, health, closeNATS, err := connect(f, log)
	if err != nil {
		return err
	}
	defer closeNATS()
	st, err := openStore(ctx, nc, f, log)
	if err != nil {
		return err
	}
	defer st.Close()
	tokenFile, err := operatorToken(ctx, st, f.data)
	if err != nil {
		return err
	}
	ln, err := listen(f)
	if err != nil {
		return err
	}
	defer ln.Close()
	f.listen = ln.Addr().String() // when it starts anew, it is where it was

	var gw *gateway.Gateway
	opts := server.Options{Store: st, Version: version, Logger: log}
	if f.proxied {
		opts.ClientIP = forwardedFor
	}
	opts.Viewers = func(a gateway.Authenticator) *gateway.Gateway {
		gw = gateway.New(gateway.Options{
			Auth: a, Log: log, Server: wire.Program{Name: "agenthost relay", Version: version},
			Hosts: allowedHosts(f), Origins: f.origins, HostSetting: "--allow-host", OriginSetting: "--allow-origin",
		})
		return gw
	}
	opts.Health = health
	srv := server.New(opts)
	stopMetrics, err := serveMetrics(f.metrics, srv.Metrics(), log)
	if err != nil {
		return err
	}
	defer stopMetrics()
	web := gateway.Server(srv)
	web.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	served := make(chan error, 1)
	go func() { served <- web.Serve(ln) }()
	scheme := "http"
	if f.cert != "" {
		scheme = "https"
	}
	fmt.Fprintf(out, "relay at %s://%s\noperator's token in %s\n", scheme, ln.Addr(), tokenFile)
	watching, endWatch := context.WithCancel(ctx)
	defer endWatch()
	mended := make(chan struct{})
	go func() {
		if mendable(watching, health, func() error { return room(f.data) }, log) {
			close(mended)
		}
	}()
	var again error
	select {
	case err := <-served:
		return fmt.Errorf("serving: %w", err)
	case <-mended:
		again = errAgain
	case <-ctx.Done():
	}
	log.Info("stopping")
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	srv.Close()
	err = errors.Join(gw.Shutdown(end), web.Shutdown(end))
	if err != nil {
		return errors.Join(again, fmt.Errorf("stopping: %w", err))
	}
	return again
}

// connect connects to the cluster, or starts the embedded server, which can tell its
// health.
func connect(f *flags, log *slog.Logger) (nc *nats.Conn, health func() error, closeAll func(), err error) {
	if f.nats == "" {
		var secret []byte
		if f.secretFile != "" {
			var err error
			if secret, err = os.ReadFile(f.secretFile); err != nil {
				return nil, nil, nil, usageError{fmt.Errorf("--cluster-secret: %w", err)}
			}
		}
		e, err := store.StartEmbedded(store.EmbeddedOptions{
			Dir: filepath.Join(f.data, "jetstream"), Sync: f.sync, Name: f.node, ClusterName: f.cluster,
			ClusterListen: f.clusterL, Peers: f.peers,
			ClusterSecret: strings.TrimSpace(string(secret)), Logger: log,
		})
		if err != nil {
			return nil, nil, nil, err
		}
		return e.Conn(), e.Health, e.Close, nil
	}
	opts := []nats.Option{nats.Name("agenthost relay"), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(false)}
	if f.natsCreds != "" {
		opts = append(opts, nats.UserCredentials(f.natsCreds))
	}
	nc, err = nats.Connect(f.nats, opts...)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("--nats %s: %w", f.nats, err)
	}
	return nc, nil, nc.Close, nil
}

// openWait is how long a cluster may take to have a leader.
const openWait = time.Minute

// openTry bounds one attempt: a request that came before there was a leader is never
// answered.
const openTry = 3 * time.Second

// openStore opens the store, again and again while a cluster is coming up.
func openStore(ctx context.Context, nc *nats.Conn, f *flags, log *slog.Logger) (*store.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, openTry)
		st, err := store.Open(try, nc, store.Options{Replicas: f.replicas, MaxAge: f.age, MaxBytes: f.bytes, Logger: log})
		done()
		if err == nil {
			return st, nil
		}
		if f.clusterL == "" && f.nats == "" {
			return nil, err
		}
		log.Info("waiting for the cluster", "err", err)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the cluster is not ready: %w", err)
		case <-time.After(time.Second):
		}
	}
}

// operatorToken makes the first token, in a file of the data directory.
func operatorToken(ctx context.Context, st *store.Store, dir string) (string, error) {
	path := filepath.Join(dir, "operator.token")
	secret, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret = []byte("aht_" + rand.Text() + "\n")
		err = writeWhole(path, secret)
	}
	if err != nil {
		return "", fmt.Errorf("the operator's token: %w", err)
	}
	err = st.EnsureToken(ctx, strings.TrimSpace(string(secret)), store.Token{Tenant: server.Operator, Scope: wire.ScopeAdmin, Name: "operator"})
	if err != nil {
		return "", fmt.Errorf("the operator's token in %s: %w", path, err)
	}
	return path, nil
}

// writeWhole makes a private file that is there with all of data or not at all, even
// when the disk is full or the process is killed: half a token would be in the way of
// every later start.
func writeWhole(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone when it was renamed
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func listen(f *flags) (net.Listener, error) {
	ln, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	if f.cert == "" {
		return ln, nil
	}
	certs, err := newCertificates(f.cert, f.key)
	if err != nil {
		_ = ln.Close()
		return nil, usageError{err}
	}
	return tls.NewListener(ln, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certs.get, NextProtos: []string{"http/1.1"}}), nil
}

// allowedHosts are the names that requests may be for. What --listen names is one: a
// name or an address, unless it is that of all interfaces.
func allowedHosts(f *flags) []string {
	hosts := slices.Clone(f.hosts)
	if h, _, err := net.SplitHostPort(f.listen); err == nil && h != "" {
		if ip := net.ParseIP(h); ip == nil || !ip.IsUnspecified() {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// forwardedFor is the address that the nearest proxy saw: the last one, which it
// wrote itself; those before it came from outside.
func forwardedFor(r *http.Request) string {
	all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if ip := net.ParseIP(strings.TrimSpace(all[len(all)-1])); ip != nil {
		return ip.String()
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// serveMetrics serves metrics at an address, if there is one.
func serveMetrics(addr string, h http.Handler, log *slog.Logger) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Error("serving metrics", "err", err)
		}
	}()
	return func() { _ = s.Close(); <-done }, nil
}
