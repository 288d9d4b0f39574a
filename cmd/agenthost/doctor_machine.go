package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/proc"
)

// checkState tries the state directory as sessions use it: made, private, written
// and synced.
func checkState(dir string) finding {
	f := finding{Check: "state", Status: healthy, Detail: dir}
	bad := func(err error) finding {
		f.Status, f.Detail, f.Mend = ill, err.Error(), "make it a directory that you can write, or set stateDir"
		return f
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return bad(err)
	}
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return bad(err)
	}
	defer os.Remove(file.Name())
	begin := time.Now()
	_, err = file.WriteString("ok\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return bad(err)
	}
	if took := time.Since(begin); took > slowSync {
		f.Status, f.Mend = doubtful, fmt.Sprintf("a write took %s to reach the disk: each answer to a permission waits for that", took.Round(time.Millisecond))
	}
	if info, err := os.Stat(dir); err == nil && readable(info.Mode()) {
		f.Status, f.Mend = doubtful, "others can read what agents said: chmod 700 "+dir
	}
	return f
}

// slowSync is how long a write may take to reach the disk before it is told: a
// spinning disk takes 20 ms.
const slowSync = time.Second

// The room that is left on the disk of the state directory. With none a session
// ends, since nothing of it can be kept.
const (
	littleRoom = 1 << 30
	noRoom     = 64 << 20
)

func checkDisk(dir string) finding {
	f := finding{Check: "disk", Status: healthy, Detail: "the room is not known on " + platform()}
	left, known := room(existing(dir))
	if !known {
		return f
	}
	f.Detail = fmt.Sprintf("%d MiB left", left>>20)
	switch {
	case left < noRoom:
		f.Status, f.Mend = ill, "make room where "+dir+" is"
	case left < littleRoom:
		f.Status, f.Mend = doubtful, "make room where "+dir+" is, or set journal.retention"
	}
	return f
}

// existing is dir, or the directory above it that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// checkClock compares the clock with what was written before.
func checkClock(stateDir string, now time.Time) finding {
	f := finding{Check: "clock", Status: healthy, Detail: now.Format(time.RFC3339)}
	var newest time.Time
	if all, err := host.List(stateDir); err == nil && len(all) > 0 {
		newest = time.UnixMilli(all[0].Updated)
	}
	switch {
	case now.Before(released()):
		f.Status = ill
		f.Mend = "set it: it is before this program was written, and certificates of the agents' services will not be valid"
	case newest.After(now.Add(time.Minute)):
		f.Status = doubtful
		f.Mend = "set it: a session was written " + newest.Sub(now).Round(time.Second).String() + " in the future, so either that time or this one was wrong"
	}
	return f
}

// released is a time that no right clock is before.
func released() time.Time { return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) }

// superviseTime bounds the start of a supervised process.
const superviseTime = 20 * time.Second

// checkSupervisor starts a process as agents are started, and looks whether its end
// comes back.
func checkSupervisor(ctx context.Context) finding {
	f := finding{Check: "supervisor", Status: healthy, Detail: "processes are started, watched and ended"}
	ctx, cancel := context.WithTimeout(ctx, superviseTime)
	defer cancel()
	code, err := supervised(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		f.Detail = "not tried on " + platform()
		return f
	}
	if err == nil && code != supervisedCode {
		err = fmt.Errorf("want exit code %d of a process, got %d", supervisedCode, code)
	}
	if err != nil {
		f.Status, f.Detail, f.Mend = ill, err.Error(), "agents cannot be started; is something wrong with /proc, a limit of processes, or a sandbox?"
	}
	return f
}

// supervisedCode is that of the process that is tried, which nothing else gives.
const supervisedCode = 42

func supervised(ctx context.Context) (int, error) {
	const shell = "/bin/sh"
	if _, err := os.Stat(shell); errors.Is(err, fs.ErrNotExist) {
		return 0, errors.ErrUnsupported
	}
	child, err := proc.Start(ctx, proc.Spec{
		Argv: []string{shell, "-c", fmt.Sprintf("exit %d", supervisedCode)}, NoInput: true, Supervise: true,
	})
	if err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, child.Kill)
	defer stop()
	for range child.Lines() {
	}
	<-child.Done()
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("a process did not end in %s", superviseTime)
	}
	return child.Exit().Code, nil
}
