package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// relative is a process found in /proc. The start time tells it from a later
// process with the same id.
type relative struct {
	pid   int
	start uint64
}

// family is a set of processes that belong to a child.
type family []relative

// signal sends sig to all of them, and never to a process that took an id over,
// to init or to ourselves.
func (f family) signal(sig syscall.Signal) {
	for _, r := range f {
		if r.pid > 1 && r.pid != os.Getpid() {
			r.signal(sig)
		}
	}
}

// living returns those that are not dead.
func (f family) living() family {
	return slices.DeleteFunc(slices.Clone(f), func(r relative) bool {
		s, ok := readStat(r.pid)
		return !ok || s.start != r.start || s.dead()
	})
}

// with returns both families as one.
func (f family) with(others family) family {
	for _, r := range others {
		if !slices.Contains(f, r) {
			f = append(f, r)
		}
	}
	return f
}

func (r relative) signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(r.pid, 0)
	if err == unix.ESRCH {
		return
	}
	// A descriptor is bound to whoever has the id now; check who that is. Without
	// one (Linux before 5.3, some sandboxes) a moment is left for the id to change
	// hands.
	if s, ok := readStat(r.pid); ok && s.start == r.start {
		if err != nil || unix.PidfdSendSignal(fd, sig, nil, 0) == unix.ENOSYS {
			_ = syscall.Kill(r.pid, sig)
		}
	}
	if err == nil {
		_ = unix.Close(fd)
	}
}

// stat is what we need of /proc/<pid>/stat.
type stat struct {
	relative
	state byte
	ppid  int
	group int
}

// readStat reads a process's state; ok is false when it is gone.
func readStat(pid int) (s stat, ok bool) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(pid, content)
}

// parseStat parses proc_pid_stat(5): the name in parentheses may hold anything,
// so the fields are counted from the last parenthesis. The first one there has
// number 3 in the manual: state, ppid, pgrp; start time is number 22.
func parseStat(pid int, content []byte) (s stat, ok bool) {
	end := bytes.LastIndexByte(content, ')')
	if end < 0 {
		return stat{}, false
	}
	fields := bytes.Fields(content[end+1:])
	const state, ppid, group, start = 0, 1, 2, 19
	if len(fields) <= start {
		return stat{}, false
	}
	s.pid = pid
	s.state = fields[state][0]
	var err1, err2, err3 error
	s.ppid, err1 = strconv.Atoi(string(fields[ppid]))
	s.group, err2 = strconv.Atoi(string(fields[group]))
	s.start, err3 = strconv.ParseUint(string(fields[start]), 10, 64)
	return s, err1 == nil && err2 == nil && err3 == nil
}

// dead reports whether the process has ended and only waits to be reaped.
func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// processes lists all processes that /proc shows.
func processes() []stat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	all := make([]stat, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := readStat(pid); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// descendants lists the living processes below root, without root.
func descendants(root int) family {
	children := make(map[int][]stat)
	for _, s := range processes() {
		children[s.ppid] = append(children[s.ppid], s)
	}
	var found family
	seen := map[int]bool{root: true} // /proc isn't read at one moment: no cycles
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, s := range children[next[0]] {
			if seen[s.pid] {
				continue
			}
			seen[s.pid] = true
			next = append(next, s.pid)
			if !s.dead() {
				found = append(found, s.relative)
			}
		}
	}
	return found
}

// survivors lists the living processes that belong to a child that has ended: the
// members of its group, those with its marker in their environment, and those of
// known that still live.
func survivors(group int, marker string, known family) family {
	was := make(map[relative]bool, len(known))
	for _, r := range known {
		was[r] = true
	}
	var found family
	for _, s := range processes() {
		// Kernel threads, and what was started from outside of a PID namespace,
		// show group 0: such a group is nobody's child.
		ours := s.group == group && group > 1
		if !s.dead() && (ours || was[s.relative] || marked(s.pid, marker)) {
			found = append(found, s.relative)
		}
	}
	return found
}

// marked reports whether the process was started with the marker. What we may
// not read isn't ours.
func marked(pid int, marker string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	entry := []byte(MarkerName + "=" + marker)
	for len(env) > 0 {
		var one []byte
		one, env, _ = bytes.Cut(env, []byte{0})
		if bytes.Equal(one, entry) {
			return true
		}
	}
	return false
}

// awaitZombie blocks until the process has ended, and leaves it to be reaped. It
// reports whether the system can do that.
func awaitZombie(pid int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// endGroup has nothing left to do here: endAll went over the group.
func endGroup(int, func() bool) {}

// groupAttr puts a process in a session and group of its own, and ends it with
// the thread that starts it. A session and not only a group, so that there is no
// controlling terminal: what asks for a password on /dev/tty then fails, where in
// a background group it would be stopped by SIGTTIN and hang.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
