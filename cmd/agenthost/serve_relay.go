package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"sync"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/daemon"
	"github.com/agenthost/agenthost/relay/uplink"
	"github.com/agenthost/agenthost/relay/wire"
)

var (
	_ uplink.Source = (*daemon.Daemon)(nil)
	_ uplink.Files  = (*daemon.Daemon)(nil)
	_ uplink.Syncer = (*daemon.Daemon)(nil)
)

// uplinks are the connections to relays: those of the flags, or else that of the
// configuration.
func (s *server) uplinks(f *serveFlags) ([]*uplink.Uplink, error) {
	cfg := s.live.Config()
	urls, file := f.relays, f.tokenFile
	if len(urls) == 0 && cfg.Relay.URL != "" {
		urls, file = []string{cfg.Relay.URL}, cfg.Relay.TokenFile
	}
	if len(urls) > 0 && file == "" {
		return nil, usage("name its file with --token-file, or relay.tokenFile in the configuration", "a relay wants a token")
	}
	if len(urls) > 0 {
		if _, err := tokenOf(file); err != nil {
			return nil, err
		}
	}
	var list []*uplink.Uplink
	for _, url := range urls {
		sum := sha256.Sum256([]byte(url))
		u, err := uplink.New(uplink.Options{
			URL: url, Token: func() (string, error) { return tokenOf(file) }, Source: s.daemon,
			Program:  wire.Program{Name: "agenthost", Version: version},
			StateDir: filepath.Join(cfg.StateDir, "uplink", hex.EncodeToString(sum[:8])),
			Profile:  contract.Profile(cfg.Relay.Profile), Logger: s.log,
		})
		if err != nil {
			return nil, usage("use a URL such as wss://relay.example", "--relay: %v", err)
		}
		list = append(list, u)
	}
	return list, nil
}

// runUplinks keeps the connections until ctx ends.
func runUplinks(ctx context.Context, list []*uplink.Uplink) {
	var wg sync.WaitGroup
	for _, u := range list {
		wg.Go(func() {
			_ = u.Run(daemon.Unattended(ctx)) // it ends with ctx
		})
	}
	wg.Wait()
}
