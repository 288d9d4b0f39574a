package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/relay/wire"
)

// MaxFile is the largest file taken, in bytes: hosts take no larger ones.
const MaxFile = 32 << 20

// CreateFile begins an upload, under p.Ref when that is set. CodeConflict says that
// there is one of that name.
func (t *Tenant) CreateFile(ctx context.Context, p wire.UploadParams) (wire.Upload, error) {
	if p.Size < 0 || p.Size > MaxFile {
		return wire.Upload{}, wire.Errorf(wire.CodeTooLarge, "size: want 0 to %d bytes, got %d", MaxFile, p.Size)
	}
	if p.SHA256 != "" && (len(p.SHA256) != 2*sha256.Size || !isHex(p.SHA256)) {
		return wire.Upload{}, wire.Errorf(wire.CodeInvalid, "sha256: want 64 lower-case hex digits")
	}
	if len(p.Name) > 255 || len(p.MimeType) > 255 {
		return wire.Upload{}, wire.Errorf(wire.CodeInvalid, "name and mimeType: want at most 255 bytes")
	}
	if p.Ref == "" {
		p.Ref = cuid2.Generate()
	}
	if !ValidName(p.Ref) {
		return wire.Upload{}, wire.Errorf(wire.CodeInvalid, "ref: want 1 to 64 letters, digits, - and _, got %q", p.Ref)
	}
	u := wire.Upload{Ref: p.Ref, Name: p.Name, MimeType: p.MimeType, Size: p.Size, SHA256: p.SHA256}
	value, err := wire.Marshal(u)
	if err != nil {
		return wire.Upload{}, wire.Errorf(wire.CodeInvalid, "name: want text, got %q", p.Name)
	}
	_, err = t.kv.Create(ctx, "u."+u.Ref, value)
	t.store.wrote("kv_"+t.name, err)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return wire.Upload{}, wire.Errorf(wire.CodeConflict, "file %s is there already", u.Ref)
	}
	if err != nil {
		return wire.Upload{}, fmt.Errorf("storing an upload: %w", err)
	}
	return u, nil
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (t *Tenant) fileSubject(ref string) string { return "up." + t.name + "." + ref }

// StatFile says how far an upload is.
func (t *Tenant) StatFile(ctx context.Context, ref string) (wire.Upload, error) {
	u, _, err := t.statFile(ctx, ref)
	return u, err
}

// statFile also returns the sequence of the upload's last message, 0 for none.
func (t *Tenant) statFile(ctx context.Context, ref string) (u wire.Upload, seq uint64, err error) {
	none := wire.Errorf(wire.CodeNotFound, "no file %q", ref)
	if !ValidName(ref) {
		return u, 0, none
	}
	e, err := t.kv.Get(ctx, "u."+ref)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return u, 0, none
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &u)
	}
	if err != nil {
		return u, 0, fmt.Errorf("reading upload %s: %w", ref, err)
	}
	msg, err := t.files.GetLastMsgForSubject(ctx, t.fileSubject(ref))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return u, 0, nil
	}
	if err != nil {
		return u, 0, fmt.Errorf("reading upload %s: %w", ref, err)
	}
	m, err := markOf(msg.Header)
	if err != nil {
		return u, 0, err
	}
	u.Offset = m.next()
	return u, msg.Sequence, nil
}

// AppendFile adds what r gives at offset, where the upload must end. What came before
// r failed is kept. A file that is whole and has another sum than it should is
// removed, with CodeInvalid.
func (t *Tenant) AppendFile(ctx context.Context, ref string, offset int64, r io.Reader) (wire.Upload, error) {
	u, seq, err := t.statFile(ctx, ref)
	if err != nil {
		return u, err
	}
	if offset != u.Offset {
		return u, wire.Errorf(wire.CodeConflict, "offset: want %d, got %d", u.Offset, offset).WithData(u)
	}
	buf := make([]byte, t.payload)
	for done := false; !done; {
		n, readErr := io.ReadFull(r, buf)
		done = readErr != nil
		if u.Offset+int64(n) > u.Size {
			return u, wire.Errorf(wire.CodeTooLarge, "the file is longer than the %d bytes that were announced", u.Size)
		}
		if n > 0 {
			msg := &nats.Msg{Subject: t.fileSubject(ref), Header: mark{pos: u.Offset, count: int64(n), part: -1}.header(), Data: buf[:n]}
			ack, err := t.putPiece(ctx, msg, seq)
			if !isFull(err) { // of files, which is no fault
				t.store.wrote("up_"+t.name, err)
			}
			if isWrongSequence(err) {
				return u, wire.Errorf(wire.CodeConflict, "another upload of the same file is under way")
			}
			if isFull(err) {
				return u, wire.Errorf(wire.CodeTooLarge, "there is no room for more files")
			}
			if err != nil {
				return u, fmt.Errorf("storing a piece of upload %s: %w", ref, err)
			}
			u.Offset, seq = u.Offset+int64(n), ack.Sequence
		}
		if done && !errors.Is(readErr, io.EOF) && !errors.Is(readErr, io.ErrUnexpectedEOF) {
			return u, fmt.Errorf("reading the body: %w", readErr)
		}
	}
	if u.Offset == u.Size && u.SHA256 != "" {
		return u, t.checkSum(ctx, u)
	}
	return u, nil
}

// pieceTime bounds storing a piece, which goes on when the request that brought it is
// over: a connection that breaks off ends it before all that came is stored.
const pieceTime = 30 * time.Second

func (t *Tenant) putPiece(ctx context.Context, msg *nats.Msg, seq uint64) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pieceTime)
	defer cancel()
	return t.store.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(seq))
}

func (t *Tenant) checkSum(ctx context.Context, u wire.Upload) error {
	sum := sha256.New()
	if err := t.copyFile(ctx, u, sum); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != u.SHA256 {
		if err := t.RemoveFile(ctx, u.Ref); err != nil {
			return err
		}
		return wire.Errorf(wire.CodeInvalid, "sha256: want %s, got %s: the upload is removed", u.SHA256, got)
	}
	return nil
}

// OpenFile reads a file that is whole.
func (t *Tenant) OpenFile(ctx context.Context, ref string) (io.ReadCloser, wire.Upload, error) {
	u, err := t.StatFile(ctx, ref)
	if err != nil {
		return nil, u, err
	}
	if u.Offset != u.Size {
		return nil, u, wire.Errorf(wire.CodeConflict, "file %s is not whole: %d of %d bytes", ref, u.Offset, u.Size)
	}
	ctx, cancel := context.WithCancel(ctx)
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(t.copyFile(ctx, u, pw)) }()
	return &fileReader{pr, cancel}, u, nil
}

// fileReader ends its writer when it is closed.
type fileReader struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (r *fileReader) Close() error {
	r.cancel()
	return r.PipeReader.Close()
}

// copyFile writes a whole file to w.
func (t *Tenant) copyFile(ctx context.Context, u wire.Upload, w io.Writer) error {
	var at int64
	for seq := uint64(1); at < u.Size; {
		msg, err := t.files.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(t.fileSubject(u.Ref)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return wire.Errorf(wire.CodeNotFound, "file %s is no longer kept", u.Ref)
		}
		if err != nil {
			return fmt.Errorf("reading file %s: %w", u.Ref, err)
		}
		m, err := markOf(msg.Header)
		if err != nil {
			return err
		}
		if m.pos != at {
			return wire.Errorf(wire.CodeNotFound, "the beginning of file %s is no longer kept", u.Ref)
		}
		if _, err := w.Write(msg.Data); err != nil {
			return err
		}
		at, seq = m.next(), msg.Sequence+1
	}
	return nil
}

// RemoveFile forgets a file.
func (t *Tenant) RemoveFile(ctx context.Context, ref string) error {
	if !ValidName(ref) {
		return wire.Errorf(wire.CodeNotFound, "no file %q", ref)
	}
	if err := t.kv.Purge(ctx, "u."+ref); err != nil {
		return fmt.Errorf("removing file %s: %w", ref, err)
	}
	if err := t.files.Purge(ctx, jetstream.WithPurgeSubject(t.fileSubject(ref))); err != nil {
		return fmt.Errorf("removing file %s: %w", ref, err)
	}
	return nil
}
