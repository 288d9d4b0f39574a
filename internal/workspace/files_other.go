//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

// nonblock: there are no FIFOs among the files here.
const nonblock = 0

// hasOtherLinks can't be told here.
func hasOtherLinks(fs.FileInfo) bool { return true }

func keepOwner(*os.File, fs.FileInfo) {}
