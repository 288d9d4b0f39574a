package cuid2

import (
	"crypto/rand"
	"crypto/sha3"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"sync"
)

// entropy fills slices with random bytes: from random, numbers in [0, 1), or
// from crypto/rand when that is nil. It is a struct and not an interface so that
// the slices stay on the stack.
type entropy struct {
	random func() float64
}

func (e entropy) fill(p []byte) {
	if e.random == nil {
		fillFromOS(p)
		return
	}
	for i := range p {
		// A number outside of the contract must not break the identifier.
		p[i] = byte(int64(e.random()*256) & 0xff)
	}
}

// blockSize bytes are read from the operating system at once, enough for about
// 36 identifiers; what a pooled block still holds when the garbage collector
// drops it is lost, which costs nothing but a read.
const blockSize = 1024

type block struct {
	bytes [blockSize]byte
	used  int
}

var blocks = sync.Pool{New: func() any { return &block{used: blockSize} }}

// fillFromOS draws from crypto/rand through pooled blocks: a system call for each
// identifier would cost more than the rest of it.
func fillFromOS(p []byte) {
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	if blockSize-b.used < len(p) {
		// It never returns an error: a system without randomness ends the program.
		_, _ = rand.Read(b.bytes[:])
		b.used = 0
	}
	fresh := b.bytes[b.used : b.used+len(p)]
	copy(p, fresh)
	// A memory image taken later must not tell the identifiers made before.
	clear(fresh)
	b.used += len(p)
}

// startCount draws the first value of the default session counter.
func startCount(source entropy) int64 {
	var b [8]byte
	source.fill(b[:])
	return int64(binary.LittleEndian.Uint64(b[:]) % uint64(MaxSessionCount))
}

// processFingerprint hashes what tells this process from others: the names (not
// the values, which can be secrets) of its environment variables, its id, its
// host's name, and fresh entropy. It has 32 base-36 characters, the
// specification's bigLength, of which 31 carry 160 bits.
func processFingerprint(source entropy) string {
	var input strings.Builder
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		input.WriteString(name)
	}
	host, _ := os.Hostname() // without a name the entropy still tells hosts apart
	input.WriteString(host)
	input.WriteString(strconv.Itoa(os.Getpid()))
	var fresh [32]byte
	source.fill(fresh[:])
	input.Write(fresh[:])
	digest := sha3.Sum512([]byte(input.String()))
	fingerprint := make([]byte, 31)
	base36(fingerprint, &digest)
	return string(fingerprint)
}
