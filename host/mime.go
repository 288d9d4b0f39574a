package host

import (
	"mime"
	"net/http"
	"path/filepath"
	"strings"
)

// mimeOf is the media type of a file, by its name and else by its content;
// without parameters.
func mimeOf(name string, content []byte) string {
	t := mime.TypeByExtension(filepath.Ext(name))
	if t == "" {
		t = http.DetectContentType(content)
	}
	t, _, _ = strings.Cut(t, ";")
	return t
}
