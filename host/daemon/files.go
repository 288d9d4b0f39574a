package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/relay/wire"
)

// The bounds of uploads.
const (
	// maxUpload is the largest file, in bytes: what may go with a prompt.
	maxUpload = 32 << 20
	// fresh is for how long an upload that was written to is not taken away for
	// others: whoever made it is about to send it.
	fresh = time.Hour
	// maxName is the longest name of a file, in bytes.
	maxName = 200
)

// fileStore keeps uploads: a directory for each, named by its ref, which is made
// here, so that nothing of what a client says becomes a path.
type fileStore struct {
	dir   string
	limit int64

	mu sync.Mutex
	// busy are the uploads that somebody writes to, guarded by mu.
	busy map[string]bool
}

const (
	uploadInfo = "upload.json"
	uploadData = "data"
)

func openFiles(dir string, limit int64) (*fileStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &fileStore{dir: dir, limit: limit, busy: map[string]bool{}}, nil
}

// cleanName is a file's name as it is shown and given to agents: its last element,
// without what a terminal or a file system could take for something else.
func cleanName(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`:*?"<>|`, r) {
			return -1
		}
		return r
	}, name)
	for len(name) > maxName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return cmp.Or(strings.Trim(name, " ."), "file")
}

// create begins an upload.
func (s *fileStore) create(p wire.UploadParams) (wire.Upload, error) {
	if p.Size < 0 {
		return wire.Upload{}, wire.Errorf(wire.CodeInvalid, "size: want 0 or more, got %d", p.Size)
	}
	if p.Size > maxUpload {
		return wire.Upload{}, wire.Errorf(wire.CodeTooLarge, "size: want at most %d bytes, got %d", maxUpload, p.Size)
	}
	if p.SHA256 != "" && (len(p.SHA256) != 64 || strings.Trim(p.SHA256, "0123456789abcdef") != "") {
		return wire.Upload{}, wire.Errorf(wire.CodeInvalid, "sha256: want 64 digits of lower-case hex")
	}
	mediaType := ""
	if p.MimeType != "" {
		t, _, err := mime.ParseMediaType(p.MimeType)
		if err != nil {
			return wire.Upload{}, wire.Errorf(wire.CodeInvalid, "mimeType: want a media type, got %q", p.MimeType)
		}
		mediaType = t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.makeRoomLocked(p.Size); err != nil {
		return wire.Upload{}, err
	}
	u := wire.Upload{Ref: cuid2.Generate(), Name: cleanName(p.Name), MimeType: mediaType, Size: p.Size, SHA256: p.SHA256}
	dir := filepath.Join(s.dir, u.Ref)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return wire.Upload{}, err
	}
	data, err := json.Marshal(u)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, uploadData), nil, 0o600)
	}
	if err == nil {
		err = replace(filepath.Join(dir, uploadInfo), data, false)
	}
	return u, err
}

// stored is an upload in the directory.
type stored struct {
	ref      string
	size     int64 // that it has or will have
	modified time.Time
}

// makeRoomLocked removes old uploads until there is room for one more.
func (s *fileStore) makeRoomLocked(size int64) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var all []stored
	var sum int64
	for _, e := range entries {
		u, err := s.stat(e.Name())
		if err != nil {
			continue
		}
		info, err := os.Stat(filepath.Join(s.dir, e.Name(), uploadData))
		if err != nil {
			continue
		}
		all = append(all, stored{e.Name(), max(u.Size, u.Offset), info.ModTime()})
		sum += max(u.Size, u.Offset)
	}
	slices.SortFunc(all, func(a, b stored) int { return a.modified.Compare(b.modified) })
	for _, f := range all {
		if sum+size <= s.limit {
			return nil
		}
		if time.Since(f.modified) < fresh || s.busy[f.ref] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.dir, f.ref)); err != nil {
			return err
		}
		sum -= f.size
	}
	if sum+size > s.limit {
		return wire.Errorf(wire.CodeTooLarge, "the uploaded files of this host may have %d bytes, %d are in use: try again later", s.limit, sum)
	}
	return nil
}

// stat is an upload as it stands.
func (s *fileStore) stat(ref string) (wire.Upload, error) {
	if !cuid2.IsCuid(ref) {
		return wire.Upload{}, wire.Errorf(wire.CodeNotFound, "no upload %q", ref)
	}
	data, err := os.ReadFile(filepath.Join(s.dir, ref, uploadInfo))
	if errors.Is(err, fs.ErrNotExist) {
		return wire.Upload{}, wire.Errorf(wire.CodeNotFound, "no upload %q", ref)
	}
	if err != nil {
		return wire.Upload{}, err
	}
	var u wire.Upload
	if err := json.Unmarshal(data, &u); err != nil {
		return wire.Upload{}, fmt.Errorf("reading the upload %s: %w", ref, err)
	}
	info, err := os.Stat(filepath.Join(s.dir, ref, uploadData))
	if err != nil {
		return wire.Upload{}, err
	}
	u.Offset = info.Size()
	return u, nil
}

// append adds what r gives at offset. What arrived before r failed is kept.
func (s *fileStore) append(ctx context.Context, ref string, offset int64, r io.Reader) (wire.Upload, error) {
	s.mu.Lock()
	if s.busy[ref] {
		s.mu.Unlock()
		return wire.Upload{}, wire.Errorf(wire.CodeBusy, "another request writes to the upload %s", ref)
	}
	s.busy[ref] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, ref)
	}()
	u, err := s.stat(ref)
	if err != nil {
		return wire.Upload{}, err
	}
	if offset != u.Offset {
		return u, wire.Errorf(wire.CodeConflict, "offset: want %d, got %d", u.Offset, offset).WithData(u)
	}
	f, err := os.OpenFile(filepath.Join(s.dir, ref, uploadData), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return u, err
	}
	// One byte more than wanted tells that there is too much.
	n, rerr := io.Copy(f, io.LimitReader(readerOf(ctx, r), u.Size-u.Offset+1))
	u.Offset += n
	if u.Offset > u.Size {
		_ = f.Truncate(u.Size)
		u.Offset = u.Size
		rerr = wire.Errorf(wire.CodeTooLarge, "the upload %s has %d bytes, more were sent", ref, u.Size)
	}
	if err := errors.Join(rerr, f.Sync(), f.Close()); err != nil {
		return u, err
	}
	if u.Offset == u.Size {
		return u, s.verify(u)
	}
	return u, nil
}

// readerOf reads r until ctx ends.
func readerOf(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(p)
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// verify checks the sum of a whole upload. One of another sum is removed: none of
// it can be trusted.
func (s *fileStore) verify(u wire.Upload) error {
	if u.SHA256 == "" {
		return nil
	}
	f, err := os.Open(filepath.Join(s.dir, u.Ref, uploadData))
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != u.SHA256 {
		_ = os.RemoveAll(filepath.Join(s.dir, u.Ref))
		return wire.Errorf(wire.CodeInvalid, "sha256: want %s, got %s: send the file again", u.SHA256, got)
	}
	return nil
}

// whole finds an upload that is complete.
func (s *fileStore) whole(ref string) (wire.Upload, string, error) {
	u, err := s.stat(ref)
	if err != nil {
		return u, "", err
	}
	if u.Offset != u.Size {
		return u, "", wire.Errorf(wire.CodeInvalid, "the upload %s is not whole: it has %d of %d bytes", ref, u.Offset, u.Size)
	}
	return u, filepath.Join(s.dir, ref, uploadData), nil
}

// Create implements gateway.Files.
func (d *Daemon) Create(_ context.Context, _ wire.Caller, p wire.UploadParams) (wire.Upload, error) {
	u, err := d.files.create(p)
	return u, fileError(err)
}

// Append implements gateway.Files.
func (d *Daemon) Append(ctx context.Context, ref string, offset int64, r io.Reader) (wire.Upload, error) {
	u, err := d.files.append(ctx, ref, offset, r)
	return u, fileError(err)
}

// Stat implements gateway.Files.
func (d *Daemon) Stat(_ context.Context, ref string) (wire.Upload, error) {
	u, err := d.files.stat(ref)
	return u, fileError(err)
}

// Open implements gateway.Files. It finds the files of sessions, too, which stay
// when an upload goes.
func (d *Daemon) Open(_ context.Context, ref string) (io.ReadCloser, wire.Upload, error) {
	u, path, err := d.files.whole(ref)
	if err != nil {
		var found bool
		if u, path, found = d.sessionFile(ref); !found {
			return nil, u, fileError(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, u, fileError(err)
	}
	return f, u, nil
}

// sessionFile finds a file that a session has.
func (d *Daemon) sessionFile(ref string) (wire.Upload, string, bool) {
	if !cuid2.IsCuid(ref) {
		return wire.Upload{}, "", false
	}
	paths, err := filepath.Glob(filepath.Join(escapeGlob(d.cfg.StateDir), "sessions", "*", "files", ref))
	if err != nil || len(paths) == 0 {
		return wire.Upload{}, "", false
	}
	info, err := os.Stat(paths[0])
	if err != nil || !info.Mode().IsRegular() {
		return wire.Upload{}, "", false
	}
	return wire.Upload{Ref: ref, Name: ref, Size: info.Size(), Offset: info.Size()}, paths[0], true
}

// escapeGlob makes a path a pattern of itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// fileError keeps paths of this machine out of what callers are told.
func fileError(err error) error {
	var w *wire.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &w):
		return w
	case errors.Is(err, context.Canceled), errors.Is(err, io.ErrUnexpectedEOF):
		return wire.Errorf(wire.CodeUnknown, "the connection ended before the piece did")
	}
	return err
}
