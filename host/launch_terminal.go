package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/childenv"
	"github.com/agenthost/agenthost/internal/hook"
)

// launchTerminal is launch in the terminal face.
func (s *Session) launchTerminal(ctx context.Context) error {
	a, ok := s.cfg.Adapter.(adapters.TerminalAdapter)
	if !ok {
		return s.mayHave(adapters.FaceTerminal)
	}
	command, err := s.hookCommand()
	if err != nil {
		return err
	}
	dir, err := s.socketDir()
	if err != nil {
		return fmt.Errorf("making a directory for the agent's sockets: %w", err)
	}
	started := false
	defer func() {
		if !started {
			s.socketsGone()
		}
	}()
	l, err := s.launched(func(r adapters.LaunchRequest) (adapters.Launch, error) {
		return a.LaunchTerminal(adapters.TerminalRequest{
			LaunchRequest: r, SocketDir: dir,
			Hook:       hook.CommandLine(command, hook.Socket(dir), false),
			HookClosed: hook.CommandLine(command, hook.Socket(dir), true),
		})
	})
	if err != nil {
		return err
	}
	spec := &TerminalSpec{Hub: s.screen, Screens: l.Screen, Dir: dir}
	err = s.startChild(ctx, l, spec, func(info adapters.SessionInfo, env []string) adapters.Protocol {
		getenv := func(name string) string { v, _ := childenv.Get(env, name); return v }
		return a.NewTerminalProtocol(adapters.TerminalInfo{SessionInfo: info, Launch: l, Getenv: getenv})
	})
	started = err == nil
	return err
}

// furnish completes what a child with a screen needs, in the environment it gets.
func (s *Session) furnish(t *TerminalSpec, l adapters.Launch, env []string) error {
	if l.Server == nil {
		return nil
	}
	server := *l.Server
	argv, _, err := s.resolve(server.Argv, env)
	if err != nil {
		return err
	}
	server.Argv = argv
	t.Server = &server
	return nil
}

// screenEnv is what a child with a screen knows of its terminal; what the host has of
// its own is not it.
func (s *Session) screenEnv() []string {
	if s.meta.Face != adapters.FaceTerminal {
		return nil
	}
	return []string{
		"TERM=" + cmp.Or(s.cfg.Term, "xterm-256color"), "COLORTERM=" + cmp.Or(s.cfg.ColorTerm, "truecolor"),
		"LINES", "COLUMNS", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "STY",
	}
}

func (s *Session) hookCommand() ([]string, error) {
	if s.cfg.Hook != nil {
		return s.cfg.Hook, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program that hooks run: %w", err)
	}
	return []string{exe, "hook"}, nil
}

const (
	// maxSocketDir leaves room for a name of 20 bytes in what every system takes as the
	// path of a unix socket (103 bytes).
	maxSocketDir = 82
	socketPrefix = "agenthost-"
	// socketDirFile names the directory of the child that runs. A host that is killed
	// leaves it for the next start, or for who removes the session.
	socketDirFile = "sockets"
)

// socketDir makes the directory for the sockets of one child.
func (s *Session) socketDir() (string, error) {
	if err := removeSocketDir(s.dir); err != nil {
		return "", err
	}
	note := filepath.Join(s.dir, socketDirFile)
	var faults []error
	for _, base := range []string{s.getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if !filepath.IsAbs(base) || len(base)+1+len(socketPrefix)+10 > maxSocketDir {
			continue
		}
		dir, err := os.MkdirTemp(base, socketPrefix)
		if err == nil {
			if err = os.WriteFile(note, []byte(dir), 0o600); err == nil {
				return dir, nil
			}
			os.RemoveAll(dir)
		}
		faults = append(faults, err)
	}
	return "", errors.Join(append(faults, errors.New("want one with a short path, as XDG_RUNTIME_DIR or TMPDIR"))...)
}

// socketsGone removes what the child that is gone had for its sockets.
func (s *Session) socketsGone() {
	if err := removeSocketDir(s.dir); err != nil {
		s.log.Warn("removing the directory of an agent's sockets", "session", s.cfg.ID, "err", err)
	}
}

// removeSocketDir removes the directory for sockets that the last child of a session had,
// given the session's own directory. None is no error.
func removeSocketDir(session string) error {
	note := filepath.Join(session, socketDirFile)
	old, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// Nothing but a directory of ours: the file may be anybody's by now, and so may what is
	// at that place, where systems clean up; that stays, and keeps no session from going on.
	if dir := string(old); err == nil && filepath.IsAbs(dir) && strings.HasPrefix(filepath.Base(dir), socketPrefix) {
		if err = os.RemoveAll(dir); errors.Is(err, fs.ErrPermission) {
			err = nil
		}
	}
	if err == nil {
		err = os.Remove(note)
	}
	return err
}
