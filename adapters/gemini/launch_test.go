package gemini_test

import (
	"io/fs"

	"github.com/agenthost/agenthost/adapters/gemini"
)

// bare is a machine without settings files, whose state directory is root's.
var bare = gemini.Machine{
	OS:       "linux",
	ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	Insecure: func(string) string { return "" },
}
