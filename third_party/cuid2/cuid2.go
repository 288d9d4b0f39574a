// Package cuid2 makes CUID2 identifiers: short, collision resistant, unguessable
// strings that start with a letter and hold only lower-case letters and digits.
//
// It is written from the public CUID2 specification
// (github.com/paralleldrive/cuid2, README, sections "The Solution" and
// "Parameterized Length") and has the exported API of github.com/nrednav/cuid2
// v1.1.0, whose import path it bears; see README.md for why it exists.
//
// An identifier is one random letter followed by the base-36 digits of a
// SHA3-512 digest over the time, fresh entropy, a session counter and a
// fingerprint of the process. Nothing of these can be read back from it, so
// identifiers tell neither their age nor their order.
//
// Everything here is safe for concurrent use, provided a caller's own Counter
// and random function are. There is no I/O after the first identifier.
//
// Test with: go test ./... (and -bench . for the cost of an identifier).
package cuid2

import (
	"crypto/sha3"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"sync"
	"time"
)

const (
	// DefaultIdLength is the length of what Generate returns, in characters:
	// the specification's default, about 4.0e18 identifiers to a 50 % chance of
	// one collision.
	DefaultIdLength int = 24
	// MinIdLength is the shortest length Init and IsCuid take.
	MinIdLength int = 2
	// MaxIdLength is the longest length Init and IsCuid take.
	MaxIdLength int = 32
	// MaxSessionCount bounds the random start of the default session counter:
	// the specification's value, about 22,000 hosts to a 50 % chance that two
	// start at the same count.
	MaxSessionCount int64 = 476782367
)

// digits are those of base 36 in the order of strconv.FormatInt.
const digits = "0123456789abcdefghijklmnopqrstuvwxyz"

// chunkDigits base-36 digits are cut from the digest at once: 36^12 is the
// largest power below 2^63, so that one 64-bit division yields twelve.
const (
	chunkDigits        = 12
	chunkBase   uint64 = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36
)

// Generate returns a new identifier of DefaultIdLength characters made with the
// default configuration. It is safe for concurrent use and never blocks on
// anything but the operating system's random source.
func Generate() string {
	return defaultGenerate()()
}

var defaultGenerate = sync.OnceValue(func() func() string {
	// Without options there is nothing Init could refuse.
	generate, _ := Init()
	return generate
})

// Init returns a generator with the given options. The generator is safe for
// concurrent use if the Counter and the random function given are. The error
// names the option that was refused; there is no partial generator.
func Init(options ...Option) (func() string, error) {
	config := Config{Length: DefaultIdLength}
	for _, option := range options {
		if option == nil {
			continue
		}
		if err := option(&config); err != nil {
			return nil, fmt.Errorf("initialising the cuid2 generator: %w", err)
		}
	}
	source := entropy{config.RandomFunc}
	if config.SessionCounter == nil {
		config.SessionCounter = NewSessionCounter(startCount(source))
	}
	if config.Fingerprint == "" {
		config.Fingerprint = processFingerprint(source)
	}
	g := generator{
		source:      source,
		counter:     config.SessionCounter,
		length:      config.Length,
		fingerprint: config.Fingerprint,
	}
	return g.next, nil
}

type generator struct {
	source      entropy
	counter     Counter
	length      int
	fingerprint string
}

// next makes one identifier. With the default length and fingerprint the hash
// input stays below SHA3-512's block of 72 bytes, so one permutation does.
func (g *generator) next() string {
	var random [4 + MaxIdLength]byte
	seed := random[:4+g.length]
	g.source.fill(seed)

	var stack [128]byte
	input := strconv.AppendInt(stack[:0], time.Now().UnixMilli(), 36)
	input = append(input, seed[4:]...)
	input = strconv.AppendInt(input, g.counter.Increment(), 36)
	input = append(input, g.fingerprint...)
	digest := sha3.Sum512(input)

	var id [MaxIdLength]byte
	id[0] = letter(binary.LittleEndian.Uint32(seed))
	base36(id[1:g.length], &digest)
	return string(id[:g.length])
}

// letter maps 32 random bits to a..z; the bias of the multiplication is below
// 1 in 1.6e8.
func letter(random uint32) byte {
	return 'a' + byte(uint64(random)*26>>32)
}

// base36 fills dst (at most 31 digits) from the first 256 bits of the digest.
// 31 digits hold 160.3 bits, so the bias of the modulus is below 2^-95.
func base36(dst []byte, digest *[64]byte) {
	var limbs [4]uint64
	for i := range limbs {
		limbs[i] = binary.BigEndian.Uint64(digest[8*i:])
	}
	for at := 0; at < len(dst); {
		var chunk uint64
		for i := range limbs {
			limbs[i], chunk = bits.Div64(chunk, limbs[i], chunkBase)
		}
		for n := 0; n < chunkDigits && at < len(dst); n++ {
			dst[at] = digits[chunk%36]
			chunk /= 36
			at++
		}
	}
}

// IsCuid reports whether s has the form of a CUID2 identifier: MinIdLength to
// MaxIdLength characters, a lower-case letter first, lower-case letters and
// digits after it. It can't know whether s was ever generated.
func IsCuid(s string) bool {
	if len(s) < MinIdLength || len(s) > MaxIdLength {
		return false
	}
	if s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := 1; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
