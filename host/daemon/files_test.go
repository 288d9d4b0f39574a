package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sum(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }

// upload sends a file in two pieces.
func (w *world) upload(name string, content []byte) wire.Upload {
	w.t.Helper()
	u, err := w.Create(w.t.Context(), here, wire.UploadParams{Name: name, Size: int64(len(content)), SHA256: sum(content)})
	if err != nil {
		w.t.Fatal(err)
	}
	half := len(content) / 2
	for _, piece := range [][]byte{content[:half], content[half:]} {
		if u, err = w.Append(w.t.Context(), u.Ref, u.Offset, bytes.NewReader(piece)); err != nil {
			w.t.Fatal(err)
		}
	}
	return u
}

// TestUpload: a file comes in pieces, is sent with a message, and stands in the
// stream with all that is known of it.
func TestUpload(t *testing.T) {
	w := newWorld(t, nil)
	content := picture(t)
	u := w.upload("../../shot.png", content)
	if u.Name != "shot.png" || u.Offset != u.Size {
		t.Fatalf("the upload is %+v", u)
	}
	s := w.start("")
	p := wire.SendParams{Session: s.ID, ID: cuid2.Generate(), Text: "look", Files: []wire.FileRef{{Ref: u.Ref}}}
	for range 2 {
		must[wire.SentResult](w, wire.SessionSend, p)
	}
	w.until(s.ID, func(s wire.Session) bool { return idle(s) && s.End >= 6 })
	equal(t, w.words(s.ID), "file:shot.png", "user:look", "turn-start", "agent:file shot.png image/png "+itoa(len(content)), "agent:look", "turn-end:completed")
	for e := range w.records(s.ID) {
		if f, ok := e.Event.(contract.File); ok {
			if f.Ref != u.Ref || f.Size != u.Size || f.Image == nil || f.Image.Width != 40 || f.Image.Height != 30 || f.Image.Thumbhash == "" {
				t.Errorf("the file is %+v %+v", f, f.Image)
			}
		}
		if text, ok := e.Event.(contract.Text); ok && e.Role == contract.RoleUser {
			if len(text.Refs) != 1 || text.Refs[0].Ref != u.Ref {
				t.Errorf("the message refers to %+v", text.Refs)
			}
		}
	}
	// It stays when the upload goes.
	if err := os.RemoveAll(filepath.Join(w.state, "files", u.Ref)); err != nil {
		t.Fatal(err)
	}
	r, got, err := w.Open(t.Context(), u.Ref)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := io.ReadAll(r); err != nil || !bytes.Equal(data, content) || got.Size != u.Size {
		t.Errorf("the file read again has %d bytes, %v", len(data), err)
	}
}

// TestUploadCut: what came before a connection broke is kept, and goes on there.
func TestUploadCut(t *testing.T) {
	w := newWorld(t, nil)
	u, err := w.Create(t.Context(), here, wire.UploadParams{Name: "a", Size: 10})
	if err != nil {
		t.Fatal(err)
	}
	broken := io.MultiReader(strings.NewReader("0123"), iotestErr{})
	if u, err = w.Append(t.Context(), u.Ref, 0, broken); err == nil || u.Offset != 4 {
		t.Fatalf("the broken piece gave %+v, %v", u, err)
	}
	if _, _, err := w.Open(t.Context(), u.Ref); err == nil {
		t.Error("half a file can be read")
	}
	_, err = w.Append(t.Context(), u.Ref, 0, strings.NewReader("0123"))
	w.code(err, wire.CodeConflict)
	if u, err = w.Append(t.Context(), u.Ref, 4, strings.NewReader("456789")); err != nil || u.Offset != 10 {
		t.Fatalf("the rest gave %+v, %v", u, err)
	}
	u, err = w.Append(t.Context(), u.Ref, 10, strings.NewReader("x"))
	w.code(err, wire.CodeTooLarge)
	if got, _ := w.Stat(t.Context(), u.Ref); got.Offset != 10 {
		t.Errorf("after too much the upload is %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	u, _ = w.Create(t.Context(), here, wire.UploadParams{Name: "b", Size: 1})
	_, err = w.Append(ctx, u.Ref, 0, strings.NewReader("x"))
	w.code(err, wire.CodeUnknown)
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestUploadRefused: what is wrong with an upload is said, and nothing of what a
// client names becomes a path.
func TestUploadRefused(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.FilesBytes = 100 })
	for name, tc := range map[string]struct {
		p    wire.UploadParams
		code wire.Code
	}{
		"negative":   {wire.UploadParams{Size: -1}, wire.CodeInvalid},
		"huge":       {wire.UploadParams{Size: 1 << 40}, wire.CodeTooLarge},
		"no room":    {wire.UploadParams{Size: 101}, wire.CodeTooLarge},
		"sum":        {wire.UploadParams{Size: 1, SHA256: "abc"}, wire.CodeInvalid},
		"media type": {wire.UploadParams{Size: 1, MimeType: "a b c\n"}, wire.CodeInvalid},
	} {
		_, err := w.Create(t.Context(), here, tc.p)
		if !errors.Is(err, &wire.Error{Code: tc.code}) {
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
	for _, ref := range []string{"", "..", "../sessions", "/etc/passwd", `..\x`, "a/b", strings.Repeat("a", 500), cuid2.Generate(), "upload.json"} {
		_, err := w.Stat(t.Context(), ref)
		w.code(err, wire.CodeNotFound)
		_, _, err = w.Open(t.Context(), ref)
		w.code(err, wire.CodeNotFound)
		_, err = w.Append(t.Context(), ref, 0, strings.NewReader("x"))
		w.code(err, wire.CodeNotFound)
	}
	u, err := w.Create(t.Context(), here, wire.UploadParams{Name: "a", Size: 1, SHA256: sum([]byte("y"))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Append(t.Context(), u.Ref, 0, strings.NewReader("x"))
	w.code(err, wire.CodeInvalid)
	_, err = w.Stat(t.Context(), u.Ref)
	w.code(err, wire.CodeNotFound)
	s := w.start("")
	u, _ = w.Create(t.Context(), here, wire.UploadParams{Name: "a", Size: 5})
	_, err = do[wire.SentResult](w, here, wire.SessionSend, wire.SendParams{Session: s.ID, Text: "x", Files: []wire.FileRef{{Ref: u.Ref}}})
	w.code(err, wire.CodeInvalid)
}

// TestMakeRoom: old uploads go for new ones, new ones do not.
func TestMakeRoom(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.FilesBytes = 100 })
	old := w.upload("old", make([]byte, 60))
	_, err := w.Create(t.Context(), here, wire.UploadParams{Size: 60})
	w.code(err, wire.CodeTooLarge)
	long := time.Now().Add(-2 * fresh)
	if err := os.Chtimes(filepath.Join(w.state, "files", old.Ref, uploadData), long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(t.Context(), here, wire.UploadParams{Size: 60}); err != nil {
		t.Errorf("with an old one to go: %v", err)
	}
	_, err = w.Stat(t.Context(), old.Ref)
	w.code(err, wire.CodeNotFound)
}

func TestCleanName(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt": "a.txt", "/etc/passwd": "passwd", `C:\x\y.doc`: "y.doc", "..": "file", "": "file", "a/..": "file", ". x .": "x",
		"a\x1b[31mb": "a[31mb", "\u202egnp.exe": "gnp.exe", "\xff": "file", strings.Repeat("ä", 300): strings.Repeat("ä", 100),
	} {
		if got := cleanName(name); got != want {
			t.Errorf("cleanName(%q) = %q, want %q", name, got, want)
		}
	}
}

// FuzzCleanName: a cleaned name is one element of a path, whatever it was.
func FuzzCleanName(f *testing.F) {
	for _, s := range []string{"a", "../x", `..\..`, "\x00", "a:b", "…"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := cleanName(s)
		if got == "" || len(got) > maxName || got != filepath.Base(got) || !filepath.IsLocal(got) || strings.ContainsAny(got, "/\\\x00\n\x1b") {
			t.Errorf("cleanName(%q) = %q", s, got)
		}
		if again := cleanName(got); again != got {
			t.Errorf("cleanName(%q) = %q, once more %q", s, got, again)
		}
	})
}
