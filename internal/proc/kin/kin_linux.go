package kin

import (
	"os"
	"slices"
	"strconv"
	"syscall"
)

// Process is a process found in /proc. The start time tells it from a later
// process with the same id.
type Process struct {
	Pid   int
	Start uint64 // clock ticks since the machine's start
}

// Family is a set of processes that belong to a child.
type Family []Process

// Signal sends sig to all of them, and never to a process that took an id over,
// to init or to ourselves.
func (f Family) Signal(sig syscall.Signal) {
	for _, p := range f {
		if p.Pid > 1 && p.Pid != os.Getpid() {
			p.signal(sig)
		}
	}
}

// Reap waits for those of the family that have ended and have become children of this
// process, which is a subreaper. It does not block.
func (f Family) Reap() {
	self, ok := ReadStat(os.Getpid())
	if !ok {
		return
	}
	for _, s := range Processes() {
		if !s.Dead() || s.Parent != self.Pid {
			continue
		}
		// What is in a session of others can only have come to us; what leads one may
		// also be a child that somebody here waits for.
		if slices.Contains(f, s.Process) || s.Session != self.Session && s.Session != s.Pid {
			_, _ = syscall.Wait4(s.Pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// living returns those that are not dead.
func (f Family) living() Family {
	return slices.DeleteFunc(slices.Clone(f), func(p Process) bool {
		s, ok := ReadStat(p.Pid)
		return !ok || s.Start != p.Start || s.Dead()
	})
}

// with returns both families as one.
func (f Family) with(others Family) Family {
	for _, p := range others {
		if !slices.Contains(f, p) {
			f = append(f, p)
		}
	}
	return f
}

// Numbers of calls that package syscall does not know. They are the same on every
// architecture but MIPS, where they are refused and we go without.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
)

func (p Process) signal(sig syscall.Signal) {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(p.Pid), 0, 0)
	if errno == syscall.ESRCH {
		return
	}
	// A descriptor is bound to whoever has the id now; check who that is. Without
	// one (Linux before 5.3, some sandboxes) a moment is left for the id to change
	// hands.
	if s, ok := ReadStat(p.Pid); ok && s.Start == p.Start {
		if errno != 0 || pidfdSignal(fd, sig) == syscall.ENOSYS {
			_ = syscall.Kill(p.Pid, sig)
		}
	}
	if errno == 0 {
		_ = syscall.Close(int(fd))
	}
}

func pidfdSignal(fd uintptr, sig syscall.Signal) syscall.Errno {
	_, _, errno := syscall.Syscall6(sysPidfdSendSignal, fd, uintptr(sig), 0, 0, 0, 0)
	return errno
}

// Stat is what /proc/<pid>/stat says of a process.
type Stat struct {
	Process
	State   byte // a letter, see proc_pid_stat(5)
	Parent  int
	Group   int
	Session int
	Threads int
}

// Dead reports whether the process has ended and only waits to be reaped. One whose
// first thread alone has ended shows the same letter and lives.
func (s Stat) Dead() bool { return s.State == 'X' || s.State == 'Z' && s.Threads <= 1 }

// ReadStat reads a process's state; ok is false when it is gone.
func ReadStat(pid int) (s Stat, ok bool) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, false
	}
	return parseStat(pid, content)
}

// parseStat parses proc_pid_stat(5): the name in parentheses may hold anything,
// so the fields are counted from the last parenthesis. The first one there has
// number 3 in the manual: state, ppid, pgrp, session; num_threads is number 20,
// start time 22.
func parseStat(pid int, content []byte) (s Stat, ok bool) {
	for len(content) > 0 && content[len(content)-1] == '\n' {
		content = content[:len(content)-1]
	}
	end := len(content) - 1
	for end >= 0 && content[end] != ')' {
		end--
	}
	if end < 0 {
		return Stat{}, false
	}
	const state, parent, group, session, threads, start = 0, 1, 2, 3, 17, 19
	var fields [start + 1]string
	rest := string(content[end+1:])
	for i := range fields {
		if fields[i], rest = cutField(rest); fields[i] == "" {
			return Stat{}, false
		}
	}
	s.Pid = pid
	s.State = fields[state][0]
	for i, field := range map[int]*int{parent: &s.Parent, group: &s.Group, session: &s.Session, threads: &s.Threads} {
		var err error
		if *field, err = strconv.Atoi(fields[i]); err != nil {
			return Stat{}, false
		}
	}
	var err error
	s.Start, err = strconv.ParseUint(fields[start], 10, 64)
	return s, err == nil
}

// cutField cuts off the first of the fields between spaces, empty when there is none.
func cutField(s string) (field, rest string) {
	for s != "" && s[0] == ' ' {
		s = s[1:]
	}
	for i := range len(s) {
		if s[i] == ' ' {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// Processes lists all processes that /proc shows.
func Processes() []Stat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	all := make([]Stat, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := ReadStat(pid); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// Descendants lists the living processes below the roots, without them.
func Descendants(roots ...int) Family {
	children := make(map[int][]Stat)
	for _, s := range Processes() {
		children[s.Parent] = append(children[s.Parent], s)
	}
	var found Family
	seen := make(map[int]bool) // /proc isn't read at one moment: no cycles
	for _, root := range roots {
		seen[root] = true
	}
	for next := slices.Clone(roots); len(next) > 0; next = next[1:] {
		for _, s := range children[next[0]] {
			if seen[s.Pid] {
				continue
			}
			seen[s.Pid] = true
			next = append(next, s.Pid)
			if !s.Dead() {
				found = append(found, s.Process)
			}
		}
	}
	return found
}

// Survivors lists the living processes that belong to a child that has ended: the
// members of its group, those that were started with the variable, those of known that
// still live, and the members of sessions that one of known led: a process that runs
// another program at this moment shows no environment.
func Survivors(group int, variable, value string, known Family) Family {
	all := Processes()
	lives := make(map[int]Process, len(all))
	for _, s := range all {
		lives[s.Pid] = s.Process
	}
	was := make(map[int]Process, len(known))
	for _, p := range known {
		was[p.Pid] = p
	}
	belongs := func(s Stat) bool {
		// Kernel threads, and what was started from outside of a PID namespace,
		// show group and session 0: such a group is nobody's child.
		if s.Group == group && group > 1 || was[s.Pid] == s.Process {
			return true
		}
		// As long as a session has members no other process gets its leader's id.
		if leader, ok := was[s.Session]; ok && s.Session > 1 && (lives[s.Session] == leader || lives[s.Session] == Process{}) {
			return true
		}
		got, set := Variable(s.Pid, variable)
		return set && got == value
	}
	var found Family
	for _, s := range all {
		if !s.Dead() && belongs(s) {
			found = append(found, s.Process)
		}
	}
	return found
}

// Variable returns the value of a variable in the environment that a process was
// started with. What we may not read, and a dead process, has none.
func Variable(pid int, name string) (value string, set bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	begin := 0
	for i := 0; i <= len(env); i++ {
		if i < len(env) && env[i] != 0 {
			continue
		}
		entry := env[begin:i]
		if n := len(name); len(entry) > n && entry[n] == '=' && string(entry[:n]) == name {
			return string(entry[n+1:]), true
		}
		begin = i + 1
	}
	return "", false
}
