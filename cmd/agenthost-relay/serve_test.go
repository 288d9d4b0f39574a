package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAllowedHosts(t *testing.T) {
	for _, c := range []struct {
		listen string
		hosts  []string
		want   []string
	}{
		{"127.0.0.1:7480", nil, []string{"127.0.0.1"}},
		{"10.0.0.5:7480", []string{"relay.example"}, []string{"relay.example", "10.0.0.5"}},
		{"[fd00::5]:7480", nil, []string{"fd00::5"}},
		{"relay.example:443", nil, []string{"relay.example"}},
		{":443", []string{"relay.example"}, []string{"relay.example"}},
		{"0.0.0.0:443", nil, nil},
		{"[::]:443", nil, nil},
	} {
		if got := allowedHosts(&flags{listen: c.listen, hosts: c.hosts}); !slices.Equal(got, c.want) {
			t.Errorf("allowedHosts(--listen %s --allow-host %v) = %v, want %v", c.listen, c.hosts, got, c.want)
		}
	}
}

func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "operator.token")
	if err := writeWhole(path, []byte("secret\n")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file has mode %v, want it private", info.Mode())
	}
	// What cannot become the file leaves nothing behind.
	occupied := filepath.Join(dir, "occupied")
	if err := os.MkdirAll(filepath.Join(occupied, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(occupied, []byte("secret\n")); err == nil {
		t.Error("a directory was replaced by a file")
	}
	left, err := fs.Glob(os.DirFS(dir), "*.*")
	if err != nil || !slices.Equal(left, []string{"operator.token"}) {
		t.Errorf("in the directory: %v, %v, want the token alone", left, err)
	}
}
