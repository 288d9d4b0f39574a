package shim

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestShimByHand: someone sets the variable for fun.
func TestShimByHand(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = []string{Variable + "=1"}
	out, err := command.CombinedOutput()
	if command.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "only the program itself sets "+Variable) {
		t.Errorf("%v, %q; want exit status 2 and an explanation", err, out)
	}
}

func TestLaunchRoundTrip(t *testing.T) {
	for _, l := range []Launch{
		{Argv: []string{"/bin/x"}},
		{Argv: []string{"/bin/x", "", "a b", "-"}, Dir: "/tmp", Env: []string{"A=1", "B=", ""}},
		{Argv: []string{"x"}, Env: []string{""}, Terminal: true},
	} {
		var wire bytes.Buffer
		if err := SendLaunch(&wire, l); err != nil {
			t.Fatal(err)
		}
		got, err := readLaunch(&wire)
		if err != nil || got.Dir != l.Dir || got.Terminal != l.Terminal || !slices.Equal(got.Argv, l.Argv) || !slices.Equal(got.Env, l.Env) {
			t.Errorf("%+v became %+v, %v", l, got, err)
		}
	}
}

// FuzzReadLaunch: whatever comes over the socket, the shim doesn't panic, and
// what it takes survives a round trip.
func FuzzReadLaunch(f *testing.F) {
	var wire bytes.Buffer
	_ = SendLaunch(&wire, Launch{Argv: []string{"/bin/x", "a"}, Dir: "/", Env: []string{"A=1"}})
	f.Add(wire.Bytes())
	f.Add([]byte("\x00\x00\x00\x0a3\x00\x00true\x005\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := readLaunch(bytes.NewReader(in))
		if err != nil {
			return
		}
		if len(l.Argv) == 0 {
			t.Fatal("a launch without a command was taken")
		}
		var again bytes.Buffer
		if err := SendLaunch(&again, l); err != nil {
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
	_ = sendMessage(&wire, Started, 123456)
	_ = sendMessage(&wire, Exited, int(syscall.WaitStatus(7<<8)))
	for _, want := range []string{"S 123456", "X 1792"} {
		kind, number, err := ReadMessage(&wire)
		if got := fmt.Sprintf("%c %d", kind, number); err != nil || got != want {
			t.Errorf("ReadMessage = %s, %v, want %s", got, err, want)
		}
	}
	if _, _, err := ReadMessage(strings.NewReader("X\x00\x00\x00\x0112")); err != nil {
		t.Errorf("a message with something behind it: %v", err)
	}
	if _, _, err := ReadMessage(strings.NewReader("X\xff\xff\xff\xff12")); err == nil {
		t.Error("a message of 4 GiB was taken")
	}
}

// TestImports: a shim runs before what is ready late, see the package's doc.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	for _, late := range []string{"bytes", "strings", "unicode", "fmt", "reflect", "bufio", "golang.org/x/sys/unix"} {
		if slices.Contains(deps, late) {
			t.Errorf("%s is imported, and with it the shim has to wait for most of the program", late)
		}
	}
}
