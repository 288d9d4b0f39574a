package peercred

import "golang.org/x/sys/unix"

// peerUID is the user at the other end of a unix socket.
func peerUID(fd int) (int, bool) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, true // nobody
	}
	return int(cred.Uid), true
}
