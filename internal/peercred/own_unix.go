//go:build unix

package peercred

import (
	"net"
	"os"
)

// Own reports whether the other end is this user, or root. A system that does not
// tell has the mode of the socket.
func Own(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	uid, known := -1, false
	if err := raw.Control(func(fd uintptr) { uid, known = peerUID(int(fd)) }); err != nil {
		return false
	}
	return !known || uid == os.Geteuid() || uid == 0
}
