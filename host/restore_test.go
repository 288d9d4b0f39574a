package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nrednav/cuid2"
)

// Metadata that nobody understands are still somebody's: they are kept aside.
func TestGarbledMetadataAreKept(t *testing.T) {
	for _, garbled := range []string{`{"id":`, `{}`, "", `{"id":"somebodyelse","agent":"x"}`} {
		synctest.Test(t, func(t *testing.T) {
			state, id := t.TempDir(), cuid2.Generate()
			dir := SessionDir(state, id)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, metaFile), []byte(garbled), 0o600); err != nil {
				t.Fatal(err)
			}
			st, _ := opened(t, fakeAdapter{}, func(c *Config) { c.StateDir, c.ID = state, id })
			st.end()
			kept, err := filepath.Glob(filepath.Join(dir, metaFile+".bad-*"))
			if err != nil || len(kept) != 1 {
				t.Fatalf("kept aside are %q, %v; want one file", kept, err)
			}
			if got, err := os.ReadFile(kept[0]); err != nil || string(got) != garbled {
				t.Errorf("%s holds %q, %v; want %q", kept[0], got, err, garbled)
			}
			if m, err := readMeta(state, id); err != nil || m.Facts.NativeSession != "native-1" {
				t.Errorf("the new metadata are %+v, %v", m, err)
			}
		})
	}
}

// Metadata that cannot be read may be whole: the session does not start over them.
func TestUnreadableMetadataAreNotReplaced(t *testing.T) {
	state, id := t.TempDir(), cuid2.Generate()
	// A directory in the file's place cannot be read, by root neither.
	meta := filepath.Join(SessionDir(state, id), metaFile)
	if err := os.MkdirAll(filepath.Join(meta, "precious"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Config{ID: id, Dir: t.TempDir(), StateDir: state, Adapter: fakeAdapter{}})
	if err == nil {
		s.Kill()
		t.Fatal("a session started over metadata that it could not read")
	}
	if !strings.Contains(err.Error(), "reading the session's metadata") {
		t.Errorf("Start = %v, want an error about the metadata", err)
	}
	if _, err := os.Stat(filepath.Join(meta, "precious")); err != nil {
		t.Error(err)
	}
}
