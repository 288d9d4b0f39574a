//go:build unix

package peercred

import (
	"net"
	"path/filepath"
	"testing"
)

func TestOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]net.Conn{"client": client, "server": server} {
		if !Own(c.(*net.UnixConn)) {
			t.Errorf("Own = false at the %s of our own socket, want true", name)
		}
		c.Close()
		if Own(c.(*net.UnixConn)) {
			t.Errorf("Own = true at the closed %s, want false", name)
		}
	}
}
