package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agenthost/agenthost/host"
)

// What changed is read, also when it changed twice in a moment; what rests is not.
func TestLister(t *testing.T) {
	dir := t.TempDir()
	write := func(id string, updated int64) {
		t.Helper()
		path := filepath.Join(host.SessionDir(dir, id), "session.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".tmp", fmt.Appendf(nil, `{"id":%q,"agent":"x","updated":%d}`, id, updated), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".tmp", path); err != nil {
			t.Fatal(err)
		}
	}
	// rest makes a session look as if it had been left alone for a while.
	rest := func(id string) {
		t.Helper()
		past := time.Now().Add(-time.Hour)
		if err := os.Chtimes(host.SessionDir(dir, id), past, past); err != nil {
			t.Fatal(err)
		}
	}
	l := host.Lister{StateDir: dir}
	list := func(changed, unread, gone []string) {
		t.Helper()
		got, err := l.List()
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range got.Changed {
			ids = append(ids, fmt.Sprint(m.ID, m.Updated))
		}
		slices.Sort(got.Gone)
		if !slices.Equal(ids, changed) || !slices.Equal(got.Unread, unread) || !slices.Equal(got.Gone, gone) {
			t.Errorf("changed %v, unread %v, gone %v; want %v, %v, %v", ids, got.Unread, got.Gone, changed, unread, gone)
		}
	}
	list(nil, nil, nil)
	write("a", 1)
	write("b", 2)
	if err := os.MkdirAll(host.SessionDir(dir, "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	list([]string{"b2", "a1"}, []string{"broken"}, nil)
	write("a", 3) // in the same moment, as far as the file system tells
	list([]string{"a3", "b2"}, []string{"broken"}, nil)
	for _, id := range []string{"a", "b", "broken"} {
		rest(id)
	}
	list([]string{"a3", "b2"}, []string{"broken"}, nil)
	list(nil, nil, nil)
	write("b", 4)
	list([]string{"b4"}, nil, nil)
	if err := os.RemoveAll(host.SessionDir(dir, "a")); err != nil {
		t.Fatal(err)
	}
	rest("b")
	list([]string{"b4"}, nil, []string{"a"})
	list(nil, nil, nil)
}

func BenchmarkLister(b *testing.B) {
	dir := b.TempDir()
	past := time.Now().Add(-time.Hour)
	for i := range 5000 {
		id := fmt.Sprintf("s%06d", i)
		path := host.SessionDir(dir, id)
		if err := os.MkdirAll(path, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "session.json"), fmt.Appendf(nil, `{"id":%q,"agent":"x"}`, id), 0o600); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(path, past, past); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if all, err := host.List(dir); err != nil || len(all) != 5000 {
				b.Fatal(len(all), err)
			}
		}
	})
	b.Run("changed", func(b *testing.B) {
		l := host.Lister{StateDir: dir}
		for b.Loop() {
			if _, err := l.List(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
