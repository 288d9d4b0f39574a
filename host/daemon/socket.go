package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthost/agenthost/internal/peercred"
)

// maxSocketPath is the longest path that every system takes for a unix socket,
// without the zero behind it (macOS has 104 bytes).
const maxSocketPath = 103

// socketPath is where the daemon of a state directory listens. Two state
// directories never share one.
func socketPath(stateDir, runtimeDir string) (string, error) {
	sum := sha256.Sum256([]byte(stateDir))
	name := "daemon-" + hex.EncodeToString(sum[:6]) + ".sock"
	var paths []string
	if runtimeDir != "" {
		paths = append(paths, filepath.Join(runtimeDir, "agenthost", name))
	}
	paths = append(paths, filepath.Join(stateDir, "daemon.sock"),
		filepath.Join(os.TempDir(), fmt.Sprintf("agenthost-%d", os.Getuid()), name))
	var faults []error
	for _, p := range paths {
		if len(p) > maxSocketPath {
			faults = append(faults, fmt.Errorf("%s: want a path of at most %d bytes, got %d", p, maxSocketPath, len(p)))
			continue
		}
		if err := privateDir(filepath.Dir(p)); err != nil {
			faults = append(faults, err)
			continue
		}
		return p, nil
	}
	return "", fmt.Errorf("no place for the socket: %w", errors.Join(faults...))
}

// Listen listens on the daemon's own socket, which only this user can open. One
// that a daemon left which was killed is taken over; one that somebody answers on
// is not. path is empty for the usual place.
func (d *Daemon) Listen(ctx context.Context, path string) (net.Listener, error) {
	if path == "" {
		var err error
		if path, err = socketPath(d.cfg.StateDir, d.cfg.RuntimeDir); err != nil {
			return nil, err
		}
	}
	l, err := listen(ctx, path)
	if err != nil {
		return nil, err
	}
	d.lock.info.Socket = path
	if err := d.lock.write(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func listen(ctx context.Context, path string) (net.Listener, error) {
	if err := clearSocket(ctx, path); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return ownListener{l}, nil
}

// clearSocket removes what a dead daemon left.
func clearSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s: want a socket or nothing, got a file that is none", path)
	}
	var dialer net.Dialer
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
		return fmt.Errorf("%s: somebody listens there; it is not taken away", path)
	}
	if !refused(err) {
		return fmt.Errorf("%s: looking whether somebody listens there: %w", path, err)
	}
	return os.Remove(path)
}

// ownListener refuses the connections of other users. The directory and the mode
// of the socket do, too; but some systems ignore the latter.
type ownListener struct{ net.Listener }

func (l ownListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uc, ok := c.(*net.UnixConn)
		if !ok || peercred.Own(uc) {
			return c, nil
		}
		c.Close()
	}
}
