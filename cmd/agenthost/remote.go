package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/daemon"
	"github.com/agenthost/agenthost/relay/wire"
)

// remote says where the sessions are: with this user's daemon, or behind a relay.
type remote struct {
	relay, tokenFile string
}

func (r *remote) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.relay, "relay", "", "look behind the relay at `URL` in place of this machine's daemon")
	cmd.Flags().StringVar(&r.tokenFile, "token-file", "", "`FILE` with the token for the relay")
}

// check reports a relay without a token, and a token without a relay.
func (r *remote) check() error {
	switch {
	case r.relay != "" && r.tokenFile == "":
		return usage("add --token-file FILE; agenthost token create and agenthost pair make one", "--relay: a relay wants a token")
	case r.relay == "" && r.tokenFile != "":
		return usage("add --relay URL, or leave --token-file out", "--token-file: it is for a relay, and none is named")
	}
	return nil
}

// link is a connection to a daemon or relay.
type link struct {
	*client.Client
	address string
	// relayed says that a relay is between.
	relayed bool
}

// upload gives files to the other side.
func (l *link) upload(ctx context.Context, paths []string) ([]wire.FileRef, error) {
	var refs []wire.FileRef
	for _, p := range paths {
		ref, err := l.uploadOne(ctx, p)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

func (l *link) uploadOne(ctx context.Context, path string) (wire.FileRef, error) {
	f, err := os.Open(path)
	if err != nil {
		return wire.FileRef{}, usage("name a readable file", "%v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return wire.FileRef{}, usage("name a regular file", "%s: want a file", path)
	}
	up, err := l.Upload(ctx, wire.UploadParams{Name: filepath.Base(path), Size: info.Size()}, f)
	return wire.FileRef{Ref: up.Ref, Name: up.Name}, err
}

// dialTime bounds how long a command waits for a connection.
const dialTime = 15 * time.Second

// errNoDaemon says that no daemon runs here.
var errNoDaemon = errors.New("no daemon runs")

// dial connects to the relay, or else to the daemon. errNoDaemon says that there is
// none.
func (r *remote) dial(ctx context.Context, cfg configuration) (*link, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	o := client.Options{Program: wire.Program{Name: "agenthost", Version: version}, ClientType: contract.ClientCLI}
	url := r.relay
	if url != "" {
		token, err := tokenOf(r.tokenFile)
		if err != nil {
			return nil, err
		}
		o.Token = token
	} else {
		info, err := daemon.Find(cfg.StateDir)
		var running *daemon.RunningError
		switch {
		case errors.As(err, &running):
			return nil, &problem{code: exitFailed, what: err.Error(), mend: runningMend(running)}
		case errors.Is(err, fs.ErrNotExist), err == nil && info.Socket == "":
			return nil, errNoDaemon
		case err != nil:
			return nil, err
		}
		url = "unix://" + info.Socket
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := client.Dial(ctx, url, o)
	switch {
	case err == nil:
		return &link{c, url, r.relay != ""}, nil
	case r.relay == "" && client.Code(err) == "":
		return nil, errNoDaemon // it was killed
	}
	return nil, remoteProblem(err)
}

// connect is dial for commands that do nothing without a daemon.
func (r *remote) connect(cmd *cobra.Command) (*link, error) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	c, err := r.dial(cmd.Context(), cfg)
	if errors.Is(err, errNoDaemon) {
		return nil, &problem{code: exitFailed, what: "no daemon runs here", mend: "start one with agenthost serve, or name a relay with --relay"}
	}
	return c, err
}

// with runs f with a connection.
func (r *remote) with(cmd *cobra.Command, f func(context.Context, *link) error) error {
	c, err := r.connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	return remoteProblem(f(cmd.Context(), c))
}

// remoteProblem is an error of the other side for people: what is wrong and what can
// be done about it.
func remoteProblem(err error) error {
	var p *problem
	if err == nil || errors.As(err, &p) {
		return err
	}
	code, mend := exitFailed, ""
	switch client.Code(err) {
	case wire.CodeInvalid, wire.CodeAmbiguous:
		code = exitUsage
	case wire.CodeNotFound:
		code, mend = exitUsage, "agenthost ls lists the sessions"
	case wire.CodeUnauthorized:
		code, mend = exitUsage, "get a token with agenthost pair, or from whoever runs the relay"
	case wire.CodeForbidden, wire.CodeUnsupported:
		code = exitUsage
	case wire.CodeAgent:
		code = agentExit(err)
	case wire.CodeStale:
		mend = "look at it again: agenthost asks SESSION"
	case wire.CodeUnknown, wire.CodeTimeout:
		mend = "it may have happened: look with agenthost logs before you try again"
	case wire.CodeHostOffline:
		mend = "the host comes back by itself when its machine does"
	}
	return &problem{code: code, what: fmt.Sprint(err), mend: mend}
}

// agentExit is the exit code for what an agent failed with.
func agentExit(err error) int {
	var w *wire.Error
	var cause contract.Error
	if !errors.As(err, &w) || wire.UnmarshalStream(w.Data, &cause) != nil {
		return exitFailed
	}
	switch cause.Code {
	case contract.CodeNotInstalled, contract.CodeStartFailed, contract.CodeAuthRequired:
		return exitStart
	}
	return exitFailed
}
