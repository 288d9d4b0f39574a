package claude

import (
	"crypto/sha1" // a name, not a secret: RFC 9562 defines version 5 with SHA-1
	"encoding/hex"
)

// namespace is the UUID under which all names of this package are hashed.
var namespace = [16]byte{0x5b, 0x0d, 0x1f, 0x5e, 0x9a, 0x3c, 0x5c, 0x0e, 0x8f, 0x5d, 0x2f, 0x6a, 0x51, 0x7e, 0xc0, 0xde}

// The kinds of names.
const (
	nameSession = "session"
	nameMessage = "message"
	nameOp      = "op"
)

// uuid derives a UUID of version 5 (RFC 9562, section 5.5) from a name. A
// Protocol draws no random numbers, and the CLI drops a message whose UUID it
// has seen, so one name must stand for one thing.
func uuid(kind, name string) string {
	h := sha1.New()
	h.Write(namespace[:])
	h.Write([]byte(kind + "/" + name))
	b := h.Sum(nil)[:16]
	b[6] = b[6]&0x0f | 0x50
	b[8] = b[8]&0x3f | 0x80
	s := hex.EncodeToString(b)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// MessageUUID is the native id of the message that a Prompt or Steer with the
// given envelope id becomes: the point that rewind names.
func MessageUUID(envelope string) string { return uuid(nameMessage, envelope) }

// SessionUUID is the native id that a new session gets.
func SessionUUID(session string) string { return uuid(nameSession, session) }
