package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestParseStat(t *testing.T) {
	const after = " S 12 34 34 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200 18446744073709551615 1"
	for _, test := range []struct {
		in   string
		want stat
		ok   bool
	}{
		{"7 (bash)" + after, stat{relative{7, 123456}, 'S', 12, 34}, true},
		{"7 (a) b (c))" + after, stat{relative{7, 123456}, 'S', 12, 34}, true},
		{"7 (new\nline)" + after, stat{relative{7, 123456}, 'S', 12, 34}, true},
		{"", stat{}, false},
		{"7 (bash) S 12 34", stat{}, false},
		{"7 (bash) S x y z 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200", stat{}, false},
	} {
		if got, ok := parseStat(7, []byte(test.in)); ok != test.ok || ok && got != test.want {
			t.Errorf("parseStat(%q) = %+v, %v, want %+v, %v", test.in, got, ok, test.want, test.ok)
		}
	}
	if s, ok := readStat(os.Getpid()); !ok || s.ppid != os.Getppid() || s.group != syscall.Getpgrp() || s.dead() {
		t.Errorf("readStat of ourselves = %+v, %v", s, ok)
	}
}

// TestFamilySignalSparesStrangers: an id that another process has taken over is
// never signalled.
func TestFamilySignalSparesStrangers(t *testing.T) {
	c := start(t, Spec{Argv: []string{"/bin/cat"}})
	s, ok := readStat(c.Pid())
	if !ok {
		t.Fatal("the child is gone")
	}
	family{{s.pid, s.start + 1}}.signal(syscall.SIGKILL)
	_ = c.Write([]byte("alive\n"))
	if got := next(t, c); got != "alive" {
		t.Errorf("got %q, want alive", got)
	}
	family{s.relative}.signal(syscall.SIGTERM)
	within(t, "the end of the right one", c.Done())
	if exit := c.Exit(); exit.Signal != syscall.SIGTERM {
		t.Errorf("exit = %v, want signal: terminated", exit)
	}
}

// TestSurvivorsAreNobodyElse: nothing that isn't a child's may ever be found.
func TestSurvivorsAreNobodyElse(t *testing.T) {
	for _, group := range []int{-1, 0, 1} {
		if found := survivors(group, newMarker(), nil); len(found) != 0 {
			t.Errorf("survivors of group %d = %v, want none", group, found)
		}
	}
	// These would end the test if they were sent.
	self, _ := readStat(os.Getpid())
	family{self.relative, {1, 0}}.signal(syscall.SIGKILL)
}

// TestNoDescriptorLeaks: neither children nor failed starts leave any.
func TestNoDescriptorLeaks(t *testing.T) {
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	round := func() {
		Prestart().Close()
		for _, argv := range [][]string{{"/bin/true"}, {"/no/such/program"}, nil} {
			for _, supervise := range []bool{false, true} {
				c, err := Start(t.Context(), Spec{Argv: argv, Supervise: supervise})
				if err == nil {
					c.Close()
				}
			}
		}
	}
	round() // what the runtime opens once
	before := open()
	for range 5 {
		round()
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors are open, %d were", after, before)
	}
}

// TestShimByHand: someone sets the variable for fun.
func TestShimByHand(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = []string{shimEnv + "=1"}
	out, err := command.CombinedOutput()
	if command.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "only the program itself sets "+shimEnv) {
		t.Errorf("%v, %q; want exit status 2 and an explanation", err, out)
	}
}

func TestLaunchRoundTrip(t *testing.T) {
	for _, l := range []Launch{
		{Argv: []string{"/bin/x"}},
		{Argv: []string{"/bin/x", "", "a b", "-"}, Dir: "/tmp", Env: []string{"A=1", "B=", ""}},
		{Argv: []string{"x"}, Env: []string{""}},
	} {
		var wire bytes.Buffer
		if err := sendLaunch(&wire, l); err != nil {
			t.Fatal(err)
		}
		got, err := readLaunch(&wire)
		if err != nil || got.Dir != l.Dir || !slices.Equal(got.Argv, l.Argv) || !slices.Equal(got.Env, l.Env) {
			t.Errorf("%+v became %+v, %v", l, got, err)
		}
	}
}

// FuzzReadLaunch: whatever comes over the socket, the shim doesn't panic, and
// what it takes survives a round trip.
func FuzzReadLaunch(f *testing.F) {
	var wire bytes.Buffer
	_ = sendLaunch(&wire, Launch{Argv: []string{"/bin/x", "a"}, Dir: "/", Env: []string{"A=1"}})
	f.Add(wire.Bytes())
	f.Add([]byte("\x00\x00\x00\x061\x00\x005\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := readLaunch(bytes.NewReader(in))
		if err != nil {
			return
		}
		if len(l.Argv) == 0 {
			t.Fatal("a launch without a command was taken")
		}
		var again bytes.Buffer
		if err := sendLaunch(&again, l); err != nil {
			t.Fatal(err)
		}
		same, err := readLaunch(&again)
		if err != nil || fmt.Sprintf("%#v", same) != fmt.Sprintf("%#v", l) {
			t.Errorf("%+v became %+v, %v", l, same, err)
		}
	})
}

func TestMessages(t *testing.T) {
	var wire bytes.Buffer
	_ = sendMessage(&wire, msgStarted, 123456)
	_ = sendMessage(&wire, msgExited, int(syscall.WaitStatus(7<<8)))
	for _, want := range []string{"S 123456", "X 1792"} {
		kind, number, err := readMessage(&wire)
		if got := fmt.Sprintf("%c %d", kind, number); err != nil || got != want {
			t.Errorf("readMessage = %s, %v, want %s", got, err, want)
		}
	}
	if _, _, err := readMessage(strings.NewReader("X\x00\x00\x00\x0112")); err != nil {
		t.Errorf("a message with something behind it: %v", err)
	}
	if _, _, err := readMessage(strings.NewReader("X\xff\xff\xff\xff12")); err == nil {
		t.Error("a message of 4 GiB was taken")
	}
}

func TestUnwritten(t *testing.T) {
	const smaps = `00400000-00500000 r-xp 00000000 fe:00 1234 /bin/agent host
Size:               1024 kB
Rss:                 512 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00500000-00600000 r--p 00100000 fe:00 1234 /bin/agent host
Anonymous:             4 kB
00600000-00700000 rw-p 00200000 fe:00 1234 /bin/agent host
Anonymous:             0 kB
00700000-00800000 r--p 00000000 00:00 0
Anonymous:             0 kB
00800000-00900000 r--p 00000000 00:00 0 [vvar]
Anonymous:             0 kB
00900000-00a00000 r--p 00300000 fe:00 1234 /lib/x
Anonymous:             0 kB
`
	got := unwritten(bufio.NewScanner(strings.NewReader(smaps)))
	if want := []mapping{{0x400000, 0x500000}, {0x900000, 0xa00000}}; !slices.Equal(got, want) {
		t.Errorf("unwritten = %x, want %x", got, want)
	}
	for _, bad := range []string{"", "x-y r-xp 0 0 0 /x\nAnonymous: 0 kB\n", "5-4 r-xp 0 0 0 /x\nAnonymous: 0 kB\n", "Anonymous: 0 kB\n"} {
		if got := unwritten(bufio.NewScanner(strings.NewReader(bad))); got != nil {
			t.Errorf("unwritten(%q) = %x, want none", bad, got)
		}
	}
}

// FuzzProcFiles: names of processes and files are anyone's choice and stand in
// what we read of /proc.
func FuzzProcFiles(f *testing.F) {
	f.Add("bash", "/bin/x")
	f.Add("a) R 1 1 1", "/x\nAnonymous: 0 kB")
	f.Fuzz(func(t *testing.T, name, file string) {
		content := "7 (" + name + ") S 12 34 34 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200"
		if s, ok := parseStat(7, []byte(content)); !ok || s != (stat{relative{7, 123456}, 'S', 12, 34}) {
			t.Errorf("parseStat(%q) = %+v, %v", content, s, ok)
		}
		for _, m := range unwritten(bufio.NewScanner(strings.NewReader("400000-500000 rw-p 0 fe:00 1 " + file))) {
			if m.start >= m.end {
				t.Errorf("unwritten with the file %q = %x", file, m)
			}
		}
	})
}

// TestShimIsSmall: the budget of the host and its shim together is 15 MiB.
func TestShimIsSmall(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	c := start(t, Spec{Argv: []string{"/bin/cat"}, Supervise: true})
	s, ok := readStat(c.Pid())
	if !ok {
		t.Fatal("the child is gone")
	}
	var size int
	small := func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.ppid))
		if err != nil {
			t.Fatal(err)
		}
		_, rss, _ := strings.Cut(string(status), "VmRSS:")
		_, _ = fmt.Sscan(rss, &size)
		return size > 0 && size < 4<<10
	}
	// It trims itself after it has told us that the child is started.
	if !eventually(patience, small) {
		t.Errorf("the shim has %d KiB, want less than 4 MiB", size)
	}
}

// BenchmarkStart measures from Start to the exit of a child that does nothing.
func BenchmarkStart(b *testing.B) {
	for _, supervise := range []bool{false, true} {
		b.Run(fmt.Sprint("supervise=", supervise), func(b *testing.B) {
			for b.Loop() {
				c, err := Start(b.Context(), Spec{Argv: []string{"/bin/true"}, NoInput: true, Supervise: supervise})
				if err != nil {
					b.Fatal(err)
				}
				for range c.Lines() {
				}
				c.Close()
			}
		})
	}
}

// BenchmarkLines measures the way of a line of 100 bytes from a child to us.
func BenchmarkLines(b *testing.B) {
	c, err := Start(b.Context(), Spec{Argv: []string{"/usr/bin/yes", strings.Repeat("x", 99)}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.SetBytes(100)
	for b.Loop() {
		<-c.Lines()
	}
}
