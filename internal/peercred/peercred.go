// Package peercred tells whose program is at the other end of a unix socket.
//
// Where the system does not tell (neither Linux nor macOS), everybody passes: the mode
// of the socket and of its directory is the guard there.
//
// Test with: go test ./internal/peercred.
package peercred
