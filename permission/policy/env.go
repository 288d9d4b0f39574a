package policy

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Env is what a policy knows of the machine.
type Env struct {
	// Home is the user's home directory, absolute; ~ means nothing when empty.
	Home string
	// Windows: paths have drives, backslashes and names with a second spelling.
	Windows bool

	// links are set while one request is analysed.
	links *links
}

// HostEnv is the environment of this process.
func HostEnv() Env {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		home = ""
	}
	return Env{Home: filepath.ToSlash(home), Windows: runtime.GOOS == "windows"}
}

// fold makes two spellings equal that some file system or shell takes for the
// same: case, composed characters, characters that are ignored.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return foldWide(s)
		}
	}
	return strings.ToLower(s)
}

func foldWide(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F, r == 0xFEFF, r == 0x00AD:
			return -1 // HFS+ ignores them in names
		}
		return r
	}, s)
	return strings.ToLower(norm.NFKC.String(strings.ToLower(s)))
}
