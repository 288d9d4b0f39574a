//go:build unix

package gemini

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// insecure follows Gemini CLI's own check of system settings: the directory and
// all above it must be root's and not writable by others, and links root's.
func insecure(dir string) string {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if why := insecureDir(d); why != "" {
			return why
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

func insecureDir(dir string) string {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if os.Geteuid() != 0 {
			return "it would not belong to root"
		}
		return "" // we make it, 0700
	}
	if err != nil {
		return err.Error()
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return insecureLink(dir, info)
	}
	return insecureInfo(dir, info)
}

// insecureLink checks a link and what it leads to.
func insecureLink(dir string, link fs.FileInfo) string {
	if s, ok := link.Sys().(*syscall.Stat_t); !ok || s.Uid != 0 {
		return dir + " is a link that does not belong to root"
	}
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err.Error()
	}
	return insecure(target)
}

func insecureInfo(dir string, info fs.FileInfo) string {
	switch s, ok := info.Sys().(*syscall.Stat_t); {
	case !info.IsDir():
		return dir + " is not a directory"
	case !ok || s.Uid != 0:
		return dir + " does not belong to root"
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Sprintf("%s is writable by others (%v)", dir, info.Mode().Perm())
	}
	return ""
}
