package policy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// inMounts is set in the process that may mount, to the directory it works in.
const inMounts = "AGENTHOST_TEST_MOUNTS"

// A mount is a place of its own: what lies below it has the name that it has there, for
// every kind of rule, whatever else has the same content. Nobody but root can make one
// in the session's directory.
func TestMounts(t *testing.T) {
	if root := os.Getenv(inMounts); root != "" {
		mounted(t, root)
		return
	}
	root := tree(t, "w/app/mnt/", "w/app/a.txt", "other/secret/x", "w/app/link -> mnt/secret")
	cmd := exec.Command(os.Args[0], "-test.run=^TestMounts$", "-test.v")
	cmd.Env = append(os.Environ(), inMounts+"="+root)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && len(out) == 0:
		t.Skipf("this machine gives tests no mounts of their own: %v", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("this machine gives tests no mounts of their own:\n%s", out)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
}

func mounted(t *testing.T, root string) {
	app := filepath.Join(root, "w/app")
	if err := syscall.Mount(filepath.Join(root, "other"), filepath.Join(app, "mnt"), "", syscall.MS_BIND, ""); err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat(filepath.Join(app, "mnt/secret/x")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rules, path string
		want        Verdict
	}{
		{"[{allow: 'read(${cwd}/**)'}]", "mnt/secret/x", Allow},
		{"[{allow: 'read(${cwd}/**)'}]", "mnt/new", Allow},
		{"[{allow: 'read(${cwd}/**)'}]", "mnt/..", Allow},
		{"[{allow: 'read(${cwd}/**)'}]", "mnt/../..", Ask},
		{"[{allow: 'read(ROOT/other/**)'}]", "mnt/secret/x", Ask},
		{"[{allow: 'read(mnt/secret/*)'}]", "link/x", Allow},
		{"[{deny: 'read(mnt/**)'}, {allow: 'read(**)'}]", "mnt/secret/x", Deny},
		{"[{deny: 'read(mnt/**)'}, {allow: 'read(**)'}]", "link/x", Deny},
		{"[{deny: 'read(**/secret/**)'}, {allow: 'read(**)'}]", "mnt/secret/x", Deny},
		// The rule is about another name of the file. A sandbox knows files, rules names.
		{"[{deny: 'read(ROOT/other/**)'}, {allow: 'read(**)'}]", "mnt/secret/x", Allow},
	} {
		p, err := Parse(fmt.Append(nil, "rules: ", strings.ReplaceAll(tt.rules, "ROOT", root)), testEnv)
		if err != nil {
			t.Fatal(err)
		}
		if e := Explain(p, pathUse(t, "read", "path", tt.path, app), contract.ModeDefault); e.Verdict != tt.want {
			t.Errorf("with %s, %s is %s, want %s", tt.rules, tt.path, e.Verdict, tt.want)
		}
	}
}
