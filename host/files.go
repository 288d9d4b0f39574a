package host

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/nrednav/cuid2"
)

// maxFile is the largest file that may go with a prompt, in bytes. Agents send
// it to a model in one request; larger ones are refused with the size.
const maxFile = 32 << 20

// Import copies the file at path into the session and gives the file event and
// the attachment for it. The copy is what the stream's ref names.
func (s *Session) Import(path string) (contract.File, adapters.Attachment, error) {
	src, err := os.Open(path)
	if err != nil {
		return contract.File{}, adapters.Attachment{}, err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return contract.File{}, adapters.Attachment{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return contract.File{}, adapters.Attachment{}, fmt.Errorf("file %q: want a regular file of at most %d bytes, got %s of %d", path, maxFile, info.Mode().Type(), info.Size())
	}
	ref := s.cfg.NewID()
	dst, err := s.createFile(ref)
	if err != nil {
		return contract.File{}, adapters.Attachment{}, err
	}
	var content bytes.Buffer
	n, err := io.Copy(io.MultiWriter(dst, &content), src)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return contract.File{}, adapters.Attachment{}, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return contract.File{}, adapters.Attachment{}, err
	}
	file := contract.File{Ref: ref, Name: filepath.Base(path), Size: n}
	return file, attachment(file.Name, abs, content.Bytes()), nil
}

// attachment is a file as it goes to an agent. What only the model can look at
// goes with its content; any other file the agent reads itself.
func attachment(name, path string, content []byte) adapters.Attachment {
	a := adapters.Attachment{Name: name, MIME: mimeOf(name, content), Path: path}
	kind, _, _ := strings.Cut(a.MIME, "/")
	if kind == "image" || kind == "audio" || a.MIME == "application/pdf" {
		a.Data = content
	}
	return a
}

func (s *Session) createFile(ref string) (*os.File, error) {
	dir := filepath.Join(s.dir, "files")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, ref), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// filePath finds the file that a ref of this session names.
func (s *Session) filePath(ref string) (string, error) {
	if !cuid2.IsCuid(ref) {
		return "", fmt.Errorf("ev.ref: want the ref of an uploaded file, got %q", ref)
	}
	path := filepath.Join(s.dir, "files", ref)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("ev.ref: no uploaded file %q", ref)
	}
	return path, nil
}
