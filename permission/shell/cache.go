package shell

import (
	"container/list"
	"sync"
)

// Bounds of a Cache. A script takes some 20 times the memory of its text.
const (
	// maxCached is how many scripts are kept, maxCachedBytes how much text they
	// have together, maxCachedText each of them. What is beyond is read again.
	maxCached      = 1024
	maxCachedBytes = 256 << 10
	maxCachedText  = 16 << 10
)

// Cache keeps the scripts that were read lately: an agent asks for one thing again
// and again, and each ask is read when it is shown, when it is decided, and when the
// rules change. It is safe for concurrent use; nobody may change the scripts it
// gives. A nil *Cache keeps nothing.
type Cache struct {
	mu sync.Mutex
	// The rest is guarded by mu.
	byText map[string]*list.Element // of cached
	recent list.List                // the latest in front
	bytes  int

	kits kits
}

type cached struct {
	text   string
	script *Script
}

// NewCache returns an empty Cache.
func NewCache() *Cache { return &Cache{byText: map[string]*list.Element{}} }

// Read is the package's Read.
func (c *Cache) Read(src string) *Script {
	if c == nil || len(src) > maxCachedText {
		s := Read(src)
		return &s
	}
	c.mu.Lock()
	if e := c.byText[src]; e != nil {
		c.recent.MoveToFront(e)
		c.mu.Unlock()
		return e.Value.(*cached).script
	}
	c.mu.Unlock()
	s := read(src, &c.kits)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText[src] == nil {
		c.byText[src] = c.recent.PushFront(&cached{text: src, script: &s})
		c.bytes += len(src)
	}
	for c.recent.Len() > maxCached || c.bytes > maxCachedBytes {
		old := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.byText, old.text)
		c.bytes -= len(old.text)
	}
	return &s
}
