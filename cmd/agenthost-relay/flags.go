package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// flags are those of the command line.
type flags struct {
	listen, data, metrics   string
	nats, natsCreds         string
	cert, key               string
	hosts, origins, peers   []string
	node, cluster, clusterL string
	secretFile              string
	replicas                int
	sync                    bool
	age                     time.Duration
	bytes                   int64
	proxied                 bool
	logLevel                string
}

func (f *flags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "listen", "127.0.0.1:7480", "`ADDRESS` to serve hosts and people at")
	fs.StringVar(&f.data, "data", "", "`DIR` for everything that is stored (default $XDG_STATE_HOME/agenthost/relay)")
	fs.StringVar(&f.metrics, "metrics", "", "`ADDRESS` to serve Prometheus metrics at, without a token")
	fs.StringVar(&f.cert, "tls-cert", "", "certificate `FILE`, PEM; read again when it changes")
	fs.StringVar(&f.key, "tls-key", "", "key `FILE`, PEM")
	fs.StringSliceVar(&f.hosts, "allow-host", nil, "`NAME` that requests may be for, beside loopback and --listen's")
	fs.StringSliceVar(&f.origins, "allow-origin", nil, "`URL` of a page that may use the relay from a browser")
	fs.BoolVar(&f.proxied, "behind-proxy", false, "take a request's address from X-Forwarded-For, as a proxy in front sets it")
	fs.DurationVar(&f.age, "keep", 0, "`DURATION` that envelopes are kept, 0 for ever")
	fs.Int64Var(&f.bytes, "keep-bytes", 8<<30, "`BYTES` of envelopes that a tenant may have; the oldest go first")
	fs.BoolVar(&f.sync, "sync", false, "have every envelope on the disk before it is acknowledged")
	fs.StringVar(&f.nats, "nats", "", "`URLS` of a NATS cluster to store at, in place of the embedded server")
	fs.StringVar(&f.natsCreds, "nats-creds", "", "credentials `FILE` for --nats")
	fs.IntVar(&f.replicas, "replicas", 1, "`N` nodes of the cluster that have everything: 1, 3 or 5")
	fs.StringVar(&f.node, "node", "", "`NAME` of this node, when the embedded servers make a cluster")
	fs.StringVar(&f.cluster, "cluster", "agenthost", "`NAME` of the cluster")
	fs.StringVar(&f.clusterL, "cluster-listen", "", "`ADDRESS` for the other nodes")
	fs.StringVar(&f.secretFile, "cluster-secret", "", "`FILE` with a secret that all nodes share")
	fs.StringSliceVar(&f.peers, "peer", nil, "`URL` of another node, nats://host:port")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
}

// check reports mistakes that can be told before anything starts.
func (f *flags) check() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return level, usageError{fmt.Errorf("--log-level: want debug, info, warn or error, got %q", f.logLevel)}
	}
	switch {
	case (f.cert == "") != (f.key == ""):
		return level, usageError{fmt.Errorf("--tls-cert and --tls-key belong together")}
	case f.nats != "" && (f.clusterL != "" || len(f.peers) > 0):
		return level, usageError{fmt.Errorf("--nats is a cluster of its own: leave --cluster-listen and --peer out")}
	case f.natsCreds != "" && f.nats == "":
		return level, usageError{fmt.Errorf("--nats-creds is for --nats")}
	case f.replicas != 1 && f.replicas != 3 && f.replicas != 5:
		return level, usageError{fmt.Errorf("--replicas: want 1, 3 or 5, got %d", f.replicas)}
	case f.clusterL != "" && f.node == "":
		return level, usageError{fmt.Errorf("--cluster-listen: give the node a name with --node")}
	case f.clusterL != "" && f.secretFile == "":
		return level, usageError{fmt.Errorf("--cluster-listen: whoever reaches it could be a node: give them all a secret with --cluster-secret")}
	case f.age < 0 || f.bytes <= 0:
		return level, usageError{fmt.Errorf("--keep and --keep-bytes: want more than 0")}
	}
	if f.data == "" {
		state := os.Getenv("XDG_STATE_HOME")
		if state == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return level, usageError{fmt.Errorf("--data: give a directory, since %w", err)}
			}
			state = filepath.Join(home, ".local", "state")
		}
		f.data = filepath.Join(state, "agenthost", "relay")
	}
	return level, nil
}
