package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// Attach copies the file at path into the session under a ref that names it
// already, as that of an upload, and gives the file event and the attachment for
// it. A ref that the session has is not copied again.
func (s *Session) Attach(ref, name, path string) (contract.File, adapters.Attachment, error) {
	if !cuid2.IsCuid(ref) {
		return contract.File{}, adapters.Attachment{}, fmt.Errorf("ref: want a cuid2, got %q", ref)
	}
	if name != filepath.Base(name) || !filepath.IsLocal(name) {
		return contract.File{}, adapters.Attachment{}, fmt.Errorf("name: want that of a file, got %q", name)
	}
	info, err := os.Stat(path)
	if err != nil {
		return contract.File{}, adapters.Attachment{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return contract.File{}, adapters.Attachment{}, fmt.Errorf("file %q: want a regular file of at most %d bytes, got %s of %d", name, maxFile, info.Mode().Type(), info.Size())
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return contract.File{}, adapters.Attachment{}, err
	}
	if err := s.keepFile(ref, content); err != nil {
		return contract.File{}, adapters.Attachment{}, err
	}
	named, err := s.nameFile(ref, name)
	if err != nil {
		return contract.File{}, adapters.Attachment{}, err
	}
	file := contract.File{Ref: ref, Name: name, Size: int64(len(content)), Image: picture(content)}
	return file, attachment(name, named, content), nil
}

// keepFile stores the content of a ref.
func (s *Session) keepFile(ref string, content []byte) error {
	path := filepath.Join(s.dir, "files", ref)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(content)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replaceFile(path, content)
}

// nameFile gives a file of the session a path that ends in its name: agents read
// what it is from that.
func (s *Session) nameFile(ref, name string) (string, error) {
	src, dst := filepath.Join(s.dir, "files", ref), filepath.Join(s.dir, "attached", ref, name)
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return "", err
	}
	err := os.Link(src, dst)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return dst, nil
	}
	// A file system without links.
	content, err := os.ReadFile(src)
	if err != nil {
		return "", err
	}
	return dst, os.WriteFile(dst, content, 0o600)
}
