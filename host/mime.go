package host

import (
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// mimeOf is the media type of a file, by its name and else by its first bytes;
// without parameters.
func mimeOf(path string) string {
	t := mime.TypeByExtension(filepath.Ext(path))
	if t == "" {
		t = sniff(path)
	}
	t, _, _ = strings.Cut(t, ";")
	return t
}

func sniff(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := f.Read(head)
	return http.DetectContentType(head[:n])
}
