package gatewaytest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/agenthost/agenthost/relay/wire"
)

type upload struct {
	meta  wire.Upload
	bytes []byte
}

// Create implements gateway.Files.
func (b *Backend) Create(_ context.Context, _ wire.Caller, p wire.UploadParams) (wire.Upload, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.Size < 0 || p.Size > 1<<20 {
		return wire.Upload{}, wire.Errorf(wire.CodeTooLarge, "size: want 0 to %d, got %d", 1<<20, p.Size)
	}
	u := &upload{meta: wire.Upload{Ref: b.id("f"), Name: p.Name, MimeType: p.MimeType, Size: p.Size, SHA256: p.SHA256}}
	b.uploads[u.meta.Ref] = u
	return u.meta, nil
}

// Append implements gateway.Files.
func (b *Backend) Append(_ context.Context, ref string, offset int64, r io.Reader) (wire.Upload, error) {
	data, failed := io.ReadAll(io.LimitReader(r, 1<<20+1)) // what came before a failure counts
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.uploads[ref]
	switch {
	case u == nil:
		return wire.Upload{}, wire.Errorf(wire.CodeNotFound, "no file %q", ref)
	case offset != u.meta.Offset:
		return u.meta, wire.Errorf(wire.CodeConflict, "offset: want %d, got %d", u.meta.Offset, offset).WithData(u.meta)
	case offset+int64(len(data)) > u.meta.Size:
		return u.meta, wire.Errorf(wire.CodeTooLarge, "more than the %d bytes of the file", u.meta.Size)
	}
	u.bytes = append(u.bytes, data...)
	u.meta.Offset += int64(len(data))
	if sum := sha256.Sum256(u.bytes); failed == nil && u.meta.Offset == u.meta.Size && u.meta.SHA256 != "" && hex.EncodeToString(sum[:]) != u.meta.SHA256 {
		delete(b.uploads, ref)
		return u.meta, wire.Errorf(wire.CodeInvalid, "sha256: the file has another one")
	}
	return u.meta, nil
}

// Stat implements gateway.Files.
func (b *Backend) Stat(_ context.Context, ref string) (wire.Upload, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if u := b.uploads[ref]; u != nil {
		return u.meta, nil
	}
	return wire.Upload{}, wire.Errorf(wire.CodeNotFound, "no file %q", ref)
}

// Open implements gateway.Files.
func (b *Backend) Open(_ context.Context, ref string) (io.ReadCloser, wire.Upload, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.uploads[ref]
	if u == nil || u.meta.Offset != u.meta.Size {
		return nil, wire.Upload{}, wire.Errorf(wire.CodeNotFound, "no whole file %q", ref)
	}
	return io.NopCloser(bytes.NewReader(bytes.Clone(u.bytes))), u.meta, nil
}
