package workspace

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// ReadText returns the text of a file, or some lines of it: from line (1 is the
// first, 0 means the same) on, at most limit lines (0 means all). Lines keep their
// ends, so that consecutive pieces make up the file; a line past the end is the
// empty text. The errors are those of this package and fs.ErrNotExist,
// fs.ErrPermission and the like.
func (w *Workspace) ReadText(path string, line, limit int) (string, error) {
	if line < 0 || limit < 0 {
		return "", fmt.Errorf("reading %q: want a line and a limit >= 0, got %d and %d", path, line, limit)
	}
	text, err := w.read(path)
	if err != nil {
		return "", fmt.Errorf("reading %q: %w", path, err)
	}
	return cut(text, line, limit), nil
}

func (w *Workspace) read(path string) (string, error) {
	place, err := w.locate(path)
	if err != nil {
		return "", err
	}
	file, info, err := openRegular(place, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info.Size() > MaxFile {
		return "", ErrTooLarge
	}
	var text strings.Builder
	text.Grow(int(info.Size()))
	// The size is a promise that a growing file and those of /proc don't keep.
	n, err := io.Copy(&text, io.LimitReader(file, MaxFile+1))
	switch {
	case err != nil:
		return "", plain(err)
	case n > MaxFile:
		return "", ErrTooLarge
	}
	return text.String(), checkText(text.String())
}

// openRegular opens a file if it is a regular one. It looks before it opens, as
// opening a device can do something, and again after, as the file can be another
// one by then: O_NONBLOCK keeps a FIFO from blocking even so.
func openRegular(p place, flag int) (*os.File, os.FileInfo, error) {
	info, err := p.root.dir.Stat(p.name)
	if err != nil {
		return nil, nil, outside(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, kind(info)
	}
	file, err := p.root.dir.OpenFile(p.name, flag|nonblock, 0)
	if err != nil {
		return nil, nil, outside(err)
	}
	info, err = file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = kind(info)
	}
	if err != nil {
		file.Close()
		return nil, nil, plain(err)
	}
	return file, info, nil
}

// kind says what is there instead of a regular file.
func kind(info os.FileInfo) error {
	what := "something else"
	switch mode := info.Mode(); {
	case mode.IsDir():
		what = "a directory"
	case mode&os.ModeNamedPipe != 0:
		what = "a FIFO"
	case mode&os.ModeDevice != 0:
		what = "a device"
	case mode&os.ModeSocket != 0:
		what = "a socket"
	}
	return fmt.Errorf("%w but %s", ErrNotRegular, what)
}

func checkText(text string) error {
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return fmt.Errorf("%w: it holds NUL bytes", ErrNotText)
	case !utf8.ValidString(text):
		return ErrNotText
	}
	return nil
}

// cut returns the lines of a text from line on, at most limit of them.
func cut(text string, line, limit int) string {
	for ; line > 1 && text != ""; line-- {
		_, text, _ = strings.Cut(text, "\n")
	}
	if limit == 0 {
		return text
	}
	end := 0
	for ; limit > 0 && end < len(text); limit-- {
		n := strings.IndexByte(text[end:], '\n')
		if n < 0 {
			return text
		}
		end += n + 1
	}
	return text[:end]
}
