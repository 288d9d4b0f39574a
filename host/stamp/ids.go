package stamp

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"strconv"
)

// idSet remembers every id of a session in 8 bytes each. Two ids that share a
// hash would be taken for one; the seed is random, so that nobody can make such
// a pair, and for a million ids chance makes one in 4·10^7 sessions.
type idSet struct {
	seed   maphash.Seed
	hashes map[uint64]struct{}
}

func newIDSet() idSet {
	return idSet{seed: maphash.MakeSeed(), hashes: map[uint64]struct{}{}}
}

func (s idSet) add(id string) { s.hashes[maphash.String(s.seed, id)] = struct{}{} }

func (s idSet) has(id string) bool {
	_, ok := s.hashes[maphash.String(s.seed, id)]
	return ok
}

// maxCallID bounds a native call id that is taken over: ids go into every
// envelope of the call and into URLs.
const maxCallID = 128

// uniqueCall makes the session's id of a native call and uses it: the native id
// when it is short, printable ASCII without spaces and unused, else one derived
// from it. Equal histories give equal ids.
func (s *Stamper) uniqueCall(native string) string {
	id := native
	if !plainID(native) {
		sum := sha256.Sum256([]byte(native))
		id = "call-" + hex.EncodeToString(sum[:12])
	}
	base := id
	for n := 2; s.used.has(id); n++ {
		id = base + "~" + strconv.Itoa(n)
	}
	s.used.add(id)
	return id
}

// plainID reports whether a native id can be a call id as it is.
func plainID(id string) bool {
	if id == "" || len(id) > maxCallID {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] >= 0x7f {
			return false
		}
	}
	return true
}
