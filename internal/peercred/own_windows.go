package peercred

import "net"

// Own is true: sockets lie below the user's profile, where others have no access.
func Own(*net.UnixConn) bool { return true }
