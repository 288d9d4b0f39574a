package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// rawFrame is a frame that says how long it is, with what comes of it, masked as from a
// viewer.
func rawFrame(first byte, length uint64, payload string) string {
	head := []byte{first, 0x80 | 127}
	switch {
	case length < 126:
		head[1] = 0x80 | byte(length)
	case length <= 0xffff:
		head = binary.BigEndian.AppendUint16([]byte{first, 0x80 | 126}, uint16(length))
	default:
		head = binary.BigEndian.AppendUint64(head, length)
	}
	return string(head) + "mask" + payload
}

// whole is a frame that is all there.
func whole(first byte, payload string) string {
	return rawFrame(first, uint64(len(payload)), payload)
}

const (
	textEnd  = 0x81 // a text frame that is a message
	textMore = 0x01
	goesOn   = 0x00
	goesEnd  = 0x80
	pingEnd  = 0x89
	closeEnd = 0x88
)

// What is over the limit is refused at its header, however the bytes come, and what came
// before and comes after is passed on.
func TestHeaders(t *testing.T) {
	full, half := strings.Repeat("x", 200), strings.Repeat("y", 100)
	for _, c := range []struct {
		name         string
		before, over string
		after        string // what can be read behind the error
	}{
		{"a full one", whole(textEnd, full), "", ""},
		{"an empty one", whole(textEnd, ""), "", ""},
		{"full ones", whole(textEnd, full) + whole(0x82, full) + whole(textEnd, full), "", ""},
		{"a full one in parts", whole(textMore, half) + whole(pingEnd, "?") + whole(goesOn, "") + whole(goesEnd, half) + whole(textEnd, full), "", ""},
		{"one byte over", "", rawFrame(textEnd, 201, full+"x"), whole(closeEnd, "\x03\xe8")},
		{"a terabyte", "", rawFrame(textEnd, 1<<40, "x"), ""},
		{"more than there are numbers", whole(textEnd, "a"), rawFrame(0x82, 1<<64-1, "x"), ""},
		{"parts that are over together", whole(textMore, full) + whole(pingEnd, "?"), rawFrame(goesEnd, 1, "x"), whole(closeEnd, "\x03\xe8")},
		{"parts that wrap around", whole(textMore, full), rawFrame(goesOn, 1<<64-100, "x"), ""},
	} {
		for how, reader := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
			"in halves": iotest.HalfReader, "with the end": iotest.DataErrReader,
		} {
			h := &headers{from: reader(strings.NewReader(c.before + c.over + c.after)), limit: 200}
			got, err := io.ReadAll(h)
			if c.over == "" {
				if err != nil || string(got) != c.before {
					t.Errorf("%s, %s: %q, %v, want %q", c.name, how, got, err, c.before)
				}
				continue
			}
			// Of the header itself the reader may have seen a part.
			rest, ok := strings.CutPrefix(string(got), c.before)
			if !errors.Is(err, errOver) || !ok || len(rest) > 14 || !strings.HasPrefix(c.over, rest) {
				t.Errorf("%s, %s: %q, %v, want %q", c.name, how, got, err, c.before)
			}
			if after, err := io.ReadAll(h); err != nil || string(after) != c.after {
				t.Errorf("%s, %s: then %q, %v, want %q", c.name, how, after, err, c.after)
			}
		}
	}
}

// What came with the request is looked at first.
func TestHeadersEarly(t *testing.T) {
	all := whole(textEnd, "a") + rawFrame(textEnd, 1<<40, "x")
	for cut := range all {
		h := &headers{from: strings.NewReader(all[cut:]), limit: 200, rest: []byte(all[:cut])}
		if got, err := io.ReadAll(h); !errors.Is(err, errOver) || !strings.HasPrefix(string(got), whole(textEnd, "a")) {
			t.Errorf("cut at %d: %q, %v", cut, got, err)
		}
	}
}

// However the bytes are cut, the same is passed on up to the first refusal, nothing is made
// up, and no message passes that is over the limit.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte(whole(textEnd, "abc")+rawFrame(goesOn, 1<<40, "x")), uint8(3))
	f.Add([]byte(whole(textMore, strings.Repeat("x", 40))+whole(pingEnd, "")+whole(goesEnd, "abc")), uint8(1))
	f.Add([]byte("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xffxx"), uint8(7))
	f.Fuzz(func(t *testing.T, all []byte, cut uint8) {
		const limit = 50
		one := &headers{from: iotest.OneByteReader(bytes.NewReader(all)), limit: limit}
		want, wantErr := io.ReadAll(one)
		at := min(int(cut), len(all))
		two := &headers{from: bytes.NewReader(all[at:]), limit: limit, rest: bytes.Clone(all[:at])}
		got, err := io.ReadAll(two)
		if !errors.Is(err, wantErr) || !bytes.HasPrefix(all, want) || !bytes.HasPrefix(want, got) || len(want)-len(got) > 14 {
			t.Fatalf("%q, %v and byte by byte %q, %v of %q", got, err, want, wantErr, all)
		}
		if err == nil && !bytes.Equal(got, all) {
			t.Fatalf("%q of %q without a refusal", got, all)
		}
		if one.sum > limit+1 || err == nil && one.sum > limit {
			t.Fatalf("a message of %d bytes", one.sum)
		}
		for n := 0; ; n++ { // it ends
			if _, err := io.ReadAll(two); err == nil {
				return
			}
			if n > len(all) {
				t.Fatal("it refuses without end")
			}
		}
	})
}
