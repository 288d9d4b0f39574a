// Package syncdir makes the names in a directory durable: a file that was made, renamed or
// removed there is so after a crash of the system, too.
//
// Test with: go test ./internal/syncdir.
package syncdir
