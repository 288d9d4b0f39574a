//go:build !unix

package policy

import "os"

// readlink gives what the symlink path leads to, "" when it is no link; gone says
// that there is nothing of that name.
func readlink(path string) (target string, gone bool) {
	target, err := os.Readlink(path)
	if err != nil {
		return "", os.IsNotExist(err)
	}
	return target, false
}
