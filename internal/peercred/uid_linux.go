package peercred

import "syscall"

// peerUID is the user at the other end of a unix socket.
func peerUID(fd int) (int, bool) {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return -1, true // nobody
	}
	return int(cred.Uid), true
}
