package daemon

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// Door is a way in for viewers.
type Door struct {
	net.Listener
	// own: only this user can come in, so that no token is needed.
	own bool
}

// OwnDoor is a listener that Listen made.
func OwnDoor(l net.Listener) Door { return Door{l, true} }

// tokenFile holds the token of loopback addresses, for this user's programs.
const tokenFile = "daemon.token"

// ListenTCP listens on a loopback address, where every user and page of the machine
// can knock: whoever comes in has the token of STATE/daemon.token.
func (d *Daemon) ListenTCP(ctx context.Context, address string) (Door, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return Door{}, err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return Door{}, fmt.Errorf("address %q: want one of this machine alone, like 127.0.0.1:0; for others run a relay", address)
	}
	if _, err := d.token(); err != nil {
		return Door{}, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return Door{}, err
	}
	d.lock.info.Addresses = append(d.lock.info.Addresses, "ws://"+l.Addr().String())
	if err := d.lock.write(); err != nil {
		return Door{}, errors.Join(err, l.Close())
	}
	return Door{l, false}, nil
}

// TokenFile is where the token of the loopback addresses is.
func (d *Daemon) TokenFile() string { return filepath.Join(d.cfg.StateDir, tokenFile) }

// token reads the token, and makes it when there is none.
func (d *Daemon) token() (string, error) {
	data, err := os.ReadFile(d.TokenFile())
	if token := strings.TrimSpace(string(data)); err == nil && len(token) >= 20 {
		return token, nil
	}
	token := rand.Text() + rand.Text()
	return token, replace(d.TokenFile(), []byte(token+"\n"), true)
}

// knocked says by which door a connection came.
type knocked struct{}

// Authenticate implements gateway.Authenticator. The token is read each time: who
// removes the file shuts everybody out.
func (d *Daemon) Authenticate(r *http.Request) (gateway.Principal, error) {
	door, known := r.Context().Value(knocked{}).(Door)
	if known && door.own {
		return gateway.Principal{Caller: wire.Caller{TokenID: "local", Scope: wire.ScopeAdmin, Local: true}, Backend: d}, nil
	}
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	want, err := os.ReadFile(d.TokenFile())
	token := strings.TrimSpace(string(want))
	if !known || !ok || err != nil || token == "" || subtle.ConstantTimeCompare([]byte(got), []byte(token)) != 1 {
		return gateway.Principal{}, wire.Errorf(wire.CodeUnauthorized, "want the token of %s as Authorization: Bearer", tokenFile)
	}
	// A loopback address may be the end of a tunnel, or be asked by a page: nobody
	// there is a person at this machine (bypassPermissions).
	return gateway.Principal{Caller: wire.Caller{TokenID: "daemon.token", Scope: wire.ScopeAdmin}, Backend: d}, nil
}

// goodbye bounds how long connections may take to end.
const goodbye = 2 * time.Second

// Serve serves viewers until ctx ends, and then ends their connections. It closes
// the doors. The daemon lives on.
func (d *Daemon) Serve(ctx context.Context, doors ...Door) error {
	g := gateway.New(gateway.Options{
		Auth: d, Log: d.log, Server: wire.Program{Name: "agenthost", Version: d.host.Version},
		Hosts: d.cfg.Hosts, Origins: d.cfg.Origins, HostSetting: d.cfg.HostSetting, OriginSetting: d.cfg.OriginSetting,
	})
	srv := gateway.Server(g)
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if tagged, ok := c.(doorConn); ok {
			return context.WithValue(ctx, knocked{}, tagged.door)
		}
		return ctx
	}
	failed := make(chan error, len(doors))
	for _, door := range doors {
		go func() { failed <- srv.Serve(doorListener{door}) }()
	}
	var err error
	running := len(doors)
	select {
	case <-ctx.Done():
	case err = <-failed:
		running--
	}
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_ = g.Shutdown(bye) // what does not end in time is cut off
	_ = srv.Close()
	for range running {
		<-failed
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// doorListener marks connections with the door they came by.
type doorListener struct{ Door }

type doorConn struct {
	net.Conn
	door Door
}

func (l doorListener) Accept() (net.Conn, error) {
	c, err := l.Door.Accept()
	if err != nil {
		return nil, err
	}
	return doorConn{c, l.Door}, nil
}
