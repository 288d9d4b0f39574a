package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/config"
	"github.com/agenthost/agenthost/host/daemon"
	"github.com/agenthost/agenthost/internal/redact"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/policy"
	"github.com/agenthost/agenthost/relay/wire"
)

// serveFlags are the flags of `agenthost serve`.
type serveFlags struct {
	listen, relays []string
	hosts, origins []string
	tokenFile      string
	resume         bool
}

func newServe(st *streams) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the host as a daemon that keeps many sessions",
		Long: `Keeps sessions that anybody on this machine who is you can start, watch, steer
and answer, with the other commands or over HTTP and WebSocket. There is one for
each user and state directory. After a crash it ends what was open; agents start
again with the next message, or at once with --resume.

The first SIGTERM or SIGINT ends all turns and agents and then the daemon; the
second kills them. SIGHUP reads the configuration again, which also happens by
itself when the file changes. systemd is told when it is ready.`,
		Example: `  agenthost serve
  agenthost serve --listen tcp://127.0.0.1:7777
  agenthost serve --relay wss://relay.example --token-file ~/.relay-token
  agenthost service install`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := cmd.Flags().GetString("config")
			if err != nil {
				return err
			}
			return serve(cmd.Context(), st, file, f)
		},
	}
	cmd.Flags().StringArrayVar(&f.listen, "listen", nil, "listen on `ADDRESS`, too: tcp://127.0.0.1:0 or unix:///path (repeatable)")
	cmd.Flags().StringSliceVar(&f.hosts, "allow-host", nil, "`NAME` that requests to --listen may be for, beside loopback")
	cmd.Flags().StringSliceVar(&f.origins, "allow-origin", nil, "`URL` of a page that may use --listen, with the token")
	cmd.Flags().StringArrayVar(&f.relays, "relay", nil, "dial out to the relay at `URL` (repeatable; default relay.url)")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "`FILE` with this host's token for the relays (default relay.tokenFile)")
	cmd.Flags().BoolVar(&f.resume, "resume", false, "start the agents again that ran when the host ended")
	return cmd
}

// server is a daemon with what it needs of the configuration.
type server struct {
	live     *config.Live
	log      *slog.Logger
	secrets  *redact.Redactor
	mediator *permission.Mediator
	daemon   *daemon.Daemon
	closers
}

// serve runs the daemon until a signal ends it.
func serve(ctx context.Context, st *streams, file string, f *serveFlags) error {
	s, err := openServer(st, file, f)
	if err != nil {
		return err
	}
	defer s.close()
	serving, endServing := context.WithCancel(context.WithoutCancel(ctx))
	defer endServing()
	ups, err := s.uplinks(f)
	var doors []daemon.Door
	if err == nil {
		doors, err = s.doors(serving, f.listen)
	}
	if err != nil {
		return errors.Join(err, s.daemon.Close(serving))
	}
	sigs := watchSignals()
	defer sigs.release()
	served := make(chan error, 1)
	go func() { served <- s.daemon.Serve(serving, doors...) }()
	for _, d := range doors {
		fmt.Fprintf(st.out, "%s://%s\n", d.Addr().Network(), d.Addr())
	}
	background, stop := context.WithCancel(serving)
	defer stop()
	go s.follow(background)
	upDone := make(chan struct{})
	go func() { defer close(upDone); runUplinks(background, ups) }()
	go func() {
		for range sigs.reload {
			s.reload()
		}
	}()
	notify("READY=1\nSTATUS=ready")
	go watchdog(background)
	select {
	case <-sigs.first.Done():
	case err = <-served: // nobody can come in any more
		served <- err
	}
	s.log.Info("stopping")
	notify("STOPPING=1\nSTATUS=ending sessions")
	// Viewers see how it ends.
	if cerr := s.daemon.Close(sigs.second); err == nil {
		err = cerr
	}
	stop()
	<-upDone
	endServing()
	if serr := <-served; err == nil {
		err = serr
	}
	return err
}

// openServer reads the configuration and opens the daemon.
func openServer(st *streams, file string, f *serveFlags) (*server, error) {
	s := &server{}
	options := loadOptions(file)
	options.Check = func(c config.Config) error { _, err := basePolicy(c, policy.HostEnv()); return err }
	live, err := config.NewLive(options)
	if err != nil {
		return nil, usage("agenthost config schema lists every key", "%v", err)
	}
	s.live = live
	cfg := live.Config()
	for _, w := range warnings(cfg) {
		fmt.Fprintln(st.err, "agenthost: warning:", w)
	}
	s.secrets = newRedactor(cfg, nil)
	s.log = daemonLogger(st, cfg, s.secrets)
	base, err := basePolicy(cfg, policy.HostEnv())
	if err != nil {
		return nil, err
	}
	grants, audit, err := openRecords(cfg.StateDir, &s.closers)
	if err != nil {
		s.close()
		return nil, err
	}
	s.mediator = permission.New(permission.Options{Policy: base, Grants: grants, Audit: audit, Logger: s.log})
	s.add(s.mediator)
	dc := daemon.Config{
		StateDir: cfg.StateDir, RuntimeDir: os.Getenv("XDG_RUNTIME_DIR"), Host: wire.Host{Version: version},
		Agents: s.agents, Mediator: s.mediator, Prepare: s.prepare, Journal: journalOptions(cfg),
		Limits: daemon.Limits{Sessions: cfg.Serve.MaxSessions, Idle: cfg.Serve.Idle, FilesBytes: cfg.Serve.FilesBytes},
		Resume: cfg.Serve.Resume || f.resume, Restart: cfg.Serve.Restart == "always", Logger: s.log,
		Hosts: f.hosts, Origins: f.origins, HostSetting: "--allow-host", OriginSetting: "--allow-origin",
	}
	if s.daemon, err = daemon.Open(dc); err != nil {
		s.close()
		var running *daemon.RunningError
		if errors.As(err, &running) {
			return nil, &problem{code: exitUsage, what: err.Error(), mend: runningMend(running)}
		}
		return nil, &problem{code: exitFailed, what: err.Error()}
	}
	return s, nil
}

func runningMend(r *daemon.RunningError) string {
	if r.Foreign {
		return "set stateDir in the configuration of one of the machines"
	}
	return "agenthost ls shows its sessions"
}

// doors opens the ways in: those that are named, and the daemon's own socket when no
// other one is. Without a socket the commands on this machine would not find the daemon.
func (s *server) doors(ctx context.Context, listen []string) ([]daemon.Door, error) {
	if !slices.ContainsFunc(listen, func(address string) bool { return strings.HasPrefix(address, "unix://") }) {
		listen = slices.Concat([]string{"unix://"}, listen)
	}
	var doors []daemon.Door
	for _, address := range listen {
		d, err := s.door(ctx, address)
		if err != nil {
			for _, d := range doors {
				_ = d.Close()
			}
			return nil, usage("use unix:///path or tcp://127.0.0.1:0", "--listen %s: %v", address, err)
		}
		doors = append(doors, d)
	}
	return doors, nil
}

func (s *server) door(ctx context.Context, address string) (daemon.Door, error) {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		l, err := s.daemon.Listen(ctx, path)
		return daemon.OwnDoor(l), err
	}
	if hostport, ok := strings.CutPrefix(address, "tcp://"); ok {
		return s.daemon.ListenTCP(ctx, hostport)
	}
	return daemon.Door{}, errors.New("want an address that begins with unix:// or tcp://")
}

// follow takes over changes of the configuration, and removes old sessions.
func (s *server) follow(ctx context.Context) {
	go func() {
		day := time.NewTicker(24 * time.Hour)
		defer day.Stop()
		for {
			prune(s.live.Config(), s.log)
			select {
			case <-day.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	_ = s.live.Run(ctx, s.changed, s.broken) // it ends with ctx
}

func (s *server) reload() {
	switch changed, err := s.live.Reload(); {
	case err != nil:
		s.broken(err)
	case changed:
		s.changed(s.live.Config())
	}
}

// changed takes over a configuration: the policy for all sessions at once, the rest
// for those that start from now on.
func (s *server) changed(cfg config.Config) {
	base, err := basePolicy(cfg, policy.HostEnv())
	if err != nil {
		s.broken(err) // the check of the load knew better
		return
	}
	s.mediator.SetPolicy(base)
	s.daemon.RulesChanged(func(agent string) []adapters.Use { return watched(base, agent) })
	s.log.Info("the configuration changed", "file", cfg.File)
}

func (s *server) broken(err error) {
	s.log.Error("the configuration is broken; the last good one stays in force", "err", err)
}

// daemonLogger logs as the config says: a daemon's log is read when something went
// wrong, so that it has facts as well.
func daemonLogger(st *streams, cfg configuration, secrets *redact.Redactor) *slog.Logger {
	var level slog.Level
	// An unknown level was refused when the config was loaded.
	_ = level.UnmarshalText([]byte(strings.ToUpper(cfg.Log.Level)))
	o := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(st.err, o)
	if cfg.Log.Format == "json" {
		h = slog.NewJSONHandler(st.err, o)
	}
	return slog.New(redact.Handler(h, secrets))
}

// signals are what a daemon is told from outside.
type signals struct {
	// first is over with the first signal to stop, second with the next one.
	first, second context.Context
	reload        chan struct{}
	release       func()
}

func watchSignals() *signals {
	first, one := context.WithCancel(context.Background())
	second, two := context.WithCancel(context.Background())
	s := &signals{first: first, second: second, reload: make(chan struct{}, 1)}
	got := make(chan os.Signal, 4)
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	s.release = func() {
		signal.Stop(got)
		close(got)
	}
	go func() {
		defer close(s.reload)
		defer two()
		defer one()
		for sig := range got {
			switch {
			case sig == syscall.SIGHUP:
				select {
				case s.reload <- struct{}{}:
				default:
				}
			case first.Err() == nil:
				one()
			default:
				two()
			}
		}
	}()
	return s
}
