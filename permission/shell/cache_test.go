package shell

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// What the cache gives is what Read gives, and what it keeps is bounded.
func TestCache(t *testing.T) {
	c := NewCache()
	for _, src := range []string{"git status", "ls | head", "", "((", "rm x; ls", strings.Repeat("x", maxCachedText+1)} {
		want := Read(src)
		for range 2 {
			got := c.Read(src)
			if got.Opaque != want.Opaque || got.Normal() != want.Normal() || !reflect.DeepEqual(got.Commands, want.Commands) {
				t.Errorf("Read(%.20q) = %+v, want %+v", src, got, want)
			}
		}
		if first, again := c.Read(src), c.Read(src); len(src) <= maxCachedText && first != again {
			t.Errorf("%q is read again", src)
		}
	}
	for i := range 3 * maxCached {
		c.Read(fmt.Sprint("echo ", i))
	}
	if len(c.byText) > maxCached || c.recent.Len() != len(c.byText) {
		t.Errorf("%d scripts are kept, want %d at most", len(c.byText), maxCached)
	}
	for i := range 40 {
		c.Read(fmt.Sprint("echo ", i, strings.Repeat(" x", maxCachedText/4)))
	}
	if c.bytes > maxCachedBytes {
		t.Errorf("%d bytes are kept, want %d at most", c.bytes, maxCachedBytes)
	}
	var none *Cache
	if got := none.Read("ls"); len(got.Commands) != 1 {
		t.Errorf("without a cache: %+v", got)
	}
}

// Many readers share a script.
func TestCacheIsShared(t *testing.T) {
	c := NewCache()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 200 {
				s := c.Read(fmt.Sprint("echo ", (i+k)%20))
				if k%3 == 0 {
					s.Slim()
				}
				if s.Normal() != fmt.Sprint("echo ", (i+k)%20) {
					t.Errorf("got %q", s.Normal())
				}
			}
		})
	}
	wg.Wait()
}

// A script without the memory that only Normal needs is read again for it.
func TestSlim(t *testing.T) {
	c := NewCache()
	for _, src := range []string{"git   status", "a |  b && { c; }", "cat <<X\nx\nX", "(("} {
		want := Read(src)
		for range 2 {
			s := c.Read(src)
			s.Slim()
			if got := s.Normal(); got != want.Normal() {
				t.Errorf("Normal of %q = %q, want %q", src, got, want.Normal())
			}
			s.Slim()
			if got := s.Normal(); got != want.Normal() {
				t.Errorf("Normal of %q = %q when it was made before, want %q", src, got, want.Normal())
			}
		}
	}
	if s := c.Read("echo  x"); s.normal.file == nil {
		t.Error("what was parsed is gone before it was wanted")
	} else if s.Slim(); s.normal.file != nil {
		t.Error("what was parsed is kept")
	}
}
