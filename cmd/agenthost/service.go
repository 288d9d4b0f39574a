package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// serviceName is what the service is called.
const (
	serviceName = "agenthost"
	launchLabel = "dev.agenthost.serve"
)

func newService(st *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Have the daemon started when you log in",
		Long: `Keeps "agenthost serve" running as a service of yours: a user unit of systemd on
Linux, a launch agent on macOS. It needs no rights beyond yours.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var noStart bool
	install := &cobra.Command{
		Use: "install [-- flags of serve]", Short: "Write the service and start it",
		Example: "  agenthost service install\n  agenthost service install -- --resume",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := serviceHere()
			if err != nil {
				return err
			}
			file, err := cmd.Flags().GetString("config")
			if err != nil {
				return err
			}
			return s.install(cmd.Context(), st, file, args, !noStart)
		},
	}
	install.Flags().BoolVar(&noStart, "no-start", false, "only write the file")
	uninstall := &cobra.Command{
		Use: "uninstall", Short: "Stop the service and remove it", Args: cobra.NoArgs,
		Example: "  agenthost service uninstall",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := serviceHere()
			if err != nil {
				return err
			}
			return s.uninstall(cmd.Context(), st)
		},
	}
	status := &cobra.Command{
		Use: "status", Short: "Say whether it is installed and runs", Args: cobra.NoArgs,
		Example: "  agenthost service status",
		RunE:    func(cmd *cobra.Command, _ []string) error { return serviceStatus(cmd, st) },
	}
	cmd.AddCommand(install, uninstall, status)
	return cmd
}

// service is how this system keeps a program running.
type service struct {
	// path is the file that describes it, text what stands there.
	path string
	text func(argv []string) ([]byte, error)
	// start and stop are the commands that make it so.
	start, stop [][]string
}

// serviceHere is that of this system.
func serviceHere() (service, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return service{}, usage("set HOME", "no home directory: %v", err)
	}
	switch runtime.GOOS {
	case "linux":
		dir := os.Getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(home, ".config")
		}
		unit := serviceName + ".service"
		return service{
			path: filepath.Join(dir, "systemd", "user", unit), text: systemdUnit,
			start: [][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "--now", unit}},
			stop:  [][]string{{"systemctl", "--user", "disable", "--now", unit}},
		}, nil
	case "darwin":
		domain := fmt.Sprintf("gui/%d", os.Getuid())
		path := filepath.Join(home, "Library", "LaunchAgents", launchLabel+".plist")
		return service{
			path: path, text: launchAgent,
			start: [][]string{{"launchctl", "bootstrap", domain, path}},
			stop:  [][]string{{"launchctl", "bootout", domain + "/" + launchLabel}},
		}, nil
	}
	return service{}, usage("start agenthost serve in a way of your own", "no services are known for %s", runtime.GOOS)
}

func (s service) install(ctx context.Context, st *streams, config string, args []string, start bool) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	argv := []string{exe, "serve"}
	if config != "" {
		if config, err = filepath.Abs(config); err != nil {
			return err
		}
		argv = append(argv, "--config", config)
	}
	text, err := s.text(append(argv, args...))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(s.path, text, 0o600); err != nil {
		return err
	}
	fmt.Fprintln(st.out, s.path)
	if !start {
		return nil
	}
	return each(ctx, st, s.start)
}

func (s service) uninstall(ctx context.Context, st *streams) error {
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(st.err, "agenthost: no service is installed")
		return nil
	}
	if err := each(ctx, st, s.stop); err != nil {
		fmt.Fprintln(st.err, "agenthost: warning:", err)
	}
	return os.Remove(s.path)
}

// commandTime bounds one command of the system.
const commandTime = 30 * time.Second

// each runs commands of the system, one after the other.
func each(ctx context.Context, st *streams, commands [][]string) error {
	for _, argv := range commands {
		ctx, cancel := context.WithTimeout(ctx, commandTime)
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdout, cmd.Stderr = st.err, st.err
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		cancel()
		if err != nil {
			return &problem{
				code: exitFailed, what: fmt.Sprintf("%s: %v", strings.Join(argv, " "), err),
				mend: "the service is written; start it yourself when the system can",
			}
		}
	}
	return nil
}

func serviceStatus(cmd *cobra.Command, st *streams) error {
	s, err := serviceHere()
	if err != nil {
		return err
	}
	installed := "not installed"
	if _, err := os.Stat(s.path); err == nil {
		installed = "installed: " + s.path
	}
	fmt.Fprintln(st.out, installed)
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	l, err := (&remote{}).dial(cmd.Context(), cfg)
	if errors.Is(err, errNoDaemon) {
		fmt.Fprintln(st.out, "no daemon runs")
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Fprintf(st.out, "the daemon runs: %s, version %s\n", l.address, l.Welcome().Server.Version)
	return nil
}

// systemdUnit describes the service to systemd (systemd.service(5)). Agents are
// ended by the daemon; what it leaves after its time is killed with it.
func systemdUnit(argv []string) ([]byte, error) {
	var words []string
	for _, a := range argv {
		if strings.ContainsAny(a, "\n\r\x00") {
			return nil, usage("leave line ends out", "a service cannot have the argument %q", a)
		}
		// % and $ are systemd's own.
		a = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(a)
		words = append(words, `"`+a+`"`)
	}
	return fmt.Appendf(nil, `[Unit]
Description=agenthost: coding agents as one stream
Documentation=https://github.com/agenthost/agenthost

[Service]
Type=notify
ExecStart=%s
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=2
WatchdogSec=60
KillMode=mixed
TimeoutStopSec=90
UMask=0077

[Install]
WantedBy=default.target
`, strings.Join(words, " ")), nil
}

// launchAgent describes the service to launchd (launchd.plist(5)).
func launchAgent(argv []string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>` + launchLabel + `</string>
  <key>ProgramArguments</key>
  <array>
`)
	for _, a := range argv {
		b.WriteString("    <string>")
		if err := xml.EscapeText(&b, []byte(a)); err != nil {
			return nil, err
		}
		b.WriteString("</string>\n")
	}
	b.WriteString(`  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>90</integer>
  <key>ProcessType</key><string>Background</string>
</dict>
</plist>
`)
	return b.Bytes(), nil
}
