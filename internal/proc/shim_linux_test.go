package proc

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/internal/proc/kin"
)

// TestFamilySignalSparesStrangers: an id that another process has taken over is
// never signalled.
func TestFamilySignalSparesStrangers(t *testing.T) {
	c := start(t, Spec{Argv: []string{"/bin/cat"}})
	s, ok := kin.ReadStat(c.Pid())
	if !ok {
		t.Fatal("the child is gone")
	}
	kin.Family{{Pid: s.Pid, Start: s.Start + 1}}.Signal(syscall.SIGKILL)
	_ = c.Write([]byte("alive\n"))
	if got := next(t, c); got != "alive" {
		t.Errorf("got %q, want alive", got)
	}
	kin.Family{s.Process}.Signal(syscall.SIGTERM)
	within(t, "the end of the right one", c.Done())
	if exit := c.Exit(); exit.Signal != syscall.SIGTERM {
		t.Errorf("exit = %v, want signal: terminated", exit)
	}
}

// TestSurvivorsAreNobodyElse: nothing that isn't a child's may ever be found.
func TestSurvivorsAreNobodyElse(t *testing.T) {
	for _, group := range []int{-1, 0, 1} {
		if found := kin.Survivors(group, MarkerName, newMarker(), nil); len(found) != 0 {
			t.Errorf("survivors of group %d = %v, want none", group, found)
		}
	}
	// These would end the test if they were sent.
	self, _ := kin.ReadStat(os.Getpid())
	kin.Family{self.Process, {Pid: 1}}.Signal(syscall.SIGKILL)
}

// TestNoDescriptorLeaks: neither children nor failed starts leave any.
func TestNoDescriptorLeaks(t *testing.T) {
	leaksNoDescriptors(t, func() {
		Prestart().Close()
		for _, argv := range [][]string{{"/bin/true"}, {"/no/such/program"}, nil} {
			for _, supervise := range []bool{false, true} {
				c, err := Start(t.Context(), Spec{Argv: argv, Supervise: supervise})
				if err == nil {
					c.Close()
				}
			}
		}
	})
}

// leaksNoDescriptors fails when rounds leave descriptors open.
func leaksNoDescriptors(t *testing.T, round func()) {
	t.Helper()
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
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

// TestShimIsSmall: the budget of the host and its shim together is 15 MiB.
func TestShimIsSmall(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	c := start(t, Spec{Argv: []string{"/bin/cat"}, Supervise: true})
	s, ok := kin.ReadStat(c.Pid())
	if !ok {
		t.Fatal("the child is gone")
	}
	var size int
	small := func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Parent))
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

// FuzzUnwritten: names of files are anyone's choice and stand in what we read of
// /proc.
func FuzzUnwritten(f *testing.F) {
	f.Add("/bin/x")
	f.Add("/x\nAnonymous: 0 kB")
	f.Fuzz(func(t *testing.T, file string) {
		for _, m := range unwritten(bufio.NewScanner(strings.NewReader("400000-500000 rw-p 0 fe:00 1 " + file))) {
			if m.start >= m.end {
				t.Errorf("unwritten with the file %q = %x", file, m)
			}
		}
	})
}
