package daemon

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthost/agenthost/internal/filelock"
)

// lockFile is in the state directory. It is never removed: two daemons could hold
// the locks of two files of one name then.
const lockFile = "daemon.lock"

// Info is what a daemon tells of itself in its lock file. None of it decides
// anything on the machine it was written on: the kernel's lock does.
type Info struct {
	PID int `json:"pid"`
	// Machine and Boot tell where it runs, Name says it to people.
	Machine string `json:"machine"`
	Boot    string `json:"boot,omitzero"`
	Name    string `json:"name"`
	Started int64  `json:"started"` // Unix ms
	Version string `json:"version,omitzero"`
	// Socket is where it listens, Addresses are further ones.
	Socket    string   `json:"socket,omitzero"`
	Addresses []string `json:"addresses,omitempty"`
}

// The life signs of a daemon in its lock file, for machines that do not see its
// lock: some network file systems keep locks to themselves.
const (
	// beat is how often the file is touched.
	beat = 30 * time.Second
	// silence is after how long without it a daemon of another machine counts as
	// gone.
	silence = 4 * beat
)

// RunningError says that another daemon has the state directory.
type RunningError struct {
	Info Info
	// Foreign: it runs on another machine.
	Foreign bool
}

func (e *RunningError) Error() string {
	if e.Foreign {
		return fmt.Sprintf("a daemon on the machine %s (process %d) uses this state directory; stop it there, or give this machine a stateDir of its own", e.Info.Name, e.Info.PID)
	}
	return fmt.Sprintf("a daemon is running already (process %d)", e.Info.PID)
}

// lock is the right to be the daemon of a state directory.
type lock struct {
	file *filelock.Lock
	path string // of the file
	info Info
}

// acquire takes the lock of a state directory, without waiting for a daemon.
func acquire(stateDir string, m Machine, version string) (*lock, error) {
	path := filepath.Join(stateDir, lockFile)
	f, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrHeld) {
		info, _ := readInfo(path)
		return nil, &RunningError{Info: info, Foreign: info.Machine != "" && info.Machine != m.ID}
	}
	if err != nil {
		return nil, err
	}
	if info, err := readInfo(path); err == nil && info.Machine != "" && info.Machine != m.ID && beats(path) {
		f.Unlock()
		return nil, &RunningError{Info: info, Foreign: true}
	}
	l := &lock{file: f, path: path, info: Info{
		PID: os.Getpid(), Machine: m.ID, Boot: m.Boot, Name: m.Name, Started: time.Now().UnixMilli(), Version: version,
	}}
	if err := l.write(); err != nil {
		f.Unlock()
		return nil, err
	}
	return l, nil
}

// beats reports whether the file was touched lately, by the file system's own
// clock: that of another machine may differ.
func beats(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	now := time.Now()
	if probe, err := os.CreateTemp(filepath.Dir(path), ".clock-*"); err == nil {
		if i, err := probe.Stat(); err == nil {
			now = i.ModTime()
		}
		probe.Close()
		_ = os.Remove(probe.Name())
	}
	return now.Sub(info.ModTime()) < silence
}

func readInfo(path string) (Info, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Info{}, err
	}
	var info Info
	if err := json.Unmarshal(data, &info); err != nil {
		return Info{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return info, nil
}

// write puts the info into the locked file. It is not replaced by another one: the
// lock belongs to this one.
func (l *lock) write() error {
	data, err := json.Marshal(l.info)
	if err != nil {
		return err
	}
	return l.file.Note(string(data) + "\n")
}

// touch gives a sign of life.
func (l *lock) touch() {
	now := time.Now()
	_ = os.Chtimes(l.path, now, now)
}

// release says in the file that nobody runs, and gives the lock back.
func (l *lock) release() {
	_ = l.file.Note("")
	l.file.Unlock()
}

// Find is what the daemon of a state directory told of itself. It may be dead:
// whoever wants to know connects to its socket. fs.ErrNotExist says that none runs,
// a *RunningError that it runs on another machine.
func Find(stateDir string) (Info, error) {
	path := filepath.Join(stateDir, lockFile)
	info, err := readInfo(path)
	if err != nil || info.PID == 0 {
		return Info{}, fmt.Errorf("no daemon runs: %w", fs.ErrNotExist)
	}
	if info.Machine == thisMachine().ID {
		return info, nil
	}
	if beats(path) {
		return info, &RunningError{Info: info, Foreign: true}
	}
	return Info{}, fmt.Errorf("no daemon runs: %w", fs.ErrNotExist)
}
