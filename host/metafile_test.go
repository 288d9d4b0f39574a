package host

import (
	"encoding/json/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nrednav/cuid2"
)

// What was put is found at once, whatever becomes of the host, and under its name in
// the end; what is not whole hides nothing.
func TestMetaWriter(t *testing.T) {
	state, id := t.TempDir(), cuid2.Generate()
	dir := SessionDir(state, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	want := func(when, title string) {
		t.Helper()
		if m, err := readMeta(state, id); err != nil || m.Title != title {
			t.Errorf("%s: metadata %+v, %v, want the title %q", when, m, err, title)
		}
	}
	content := func(title string) []byte {
		data, err := json.Marshal(Meta{ID: id, Title: title})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	w := newMetaWriter(dir)
	for _, title := range []string{"one", "two", "three"} {
		if err := w.put(content(title)); err != nil {
			t.Fatal(err)
		}
		want("put", title)
	}
	if err := w.wait(); err != nil {
		t.Fatal(err)
	}
	want("on the disk", "three")
	next := filepath.Join(dir, metaFile+newSuffix)
	if _, err := os.Stat(next); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", next, err)
	}
	for name, c := range map[string][]byte{"nothing": nil, "a half": content("four")[:9], "holes": make([]byte, 99)} {
		if err := os.WriteFile(next, c, 0o600); err != nil {
			t.Fatal(err)
		}
		want("a crash of the machine left "+name, "three")
	}
	if err := os.WriteFile(next, content("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("a host that was killed", "four")
}

// A disk that fails is told by the next put, and at the end.
func TestMetaWriterFails(t *testing.T) {
	dir := t.TempDir()
	w := newMetaWriter(dir)
	// A directory cannot be replaced by a file.
	if err := os.MkdirAll(filepath.Join(dir, metaFile, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.put([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := w.put([]byte("{}")); err == nil {
		t.Error("the next put tells no error")
	}
	if err := w.wait(); err == nil {
		t.Error("the end tells no error")
	}
	if err := newMetaWriter(filepath.Join(dir, "missing")).put(nil); err == nil {
		t.Error("a put into a directory that isn't there tells no error")
	}
}
