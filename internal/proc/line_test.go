package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll reads lines until the stream ends, in short form: "text", "text~" for
// a partial line, "#n" for n bytes dropped.
func readAll(t *testing.T, r *lineReader) []string {
	t.Helper()
	var got []string
	for {
		line, err := r.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("next: %v", err)
			}
			return got
		}
		s := string(line.Data)
		if line.Oversize() {
			s = fmt.Sprintf("#%d", line.Dropped)
		}
		if line.Partial {
			s += "~"
		}
		got = append(got, s)
	}
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", readSize)
	for _, test := range []struct {
		name string
		in   string
		max  int
		want []string
	}{
		{"empty", "", 10, nil},
		{"lines", "a\nbc\n", 10, []string{"a", "bc"}},
		{"empty lines", "\n\na\n", 10, []string{"", "", "a"}},
		{"CR LF", "a\r\n\r\nb\r\n", 10, []string{"a", "", "b"}},
		{"CR inside", "a\rb\n", 10, []string{"a\rb"}},
		{"no end", "a\nbc", 10, []string{"a", "bc~"}},
		{"no end but CR", "a\r", 10, []string{"a~"}},
		{"at the cap", "12345\n12345\r\n12345", 5, []string{"12345", "12345", "12345~"}},
		{"over the cap", "123456\nok\n", 5, []string{"#6", "ok"}},
		{"far over the cap", long + long + "\nok\n", 5, []string{fmt.Sprint("#", 2*readSize), "ok"}},
		{"over the cap at the end", "ok\n" + long, 5, []string{"ok", fmt.Sprintf("#%d~", readSize)}},
		{"two over the cap", "1234567\n123456\r\n1\n", 5, []string{"#7", "#7", "1"}},
		{"longer than a read", long + "y\nz\n", 2 * readSize, []string{long + "y", "z"}},
		{"NUL and broken UTF-8", "a\x00\xff\n", 10, []string{"a\x00\xff"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for how, in := range map[string]io.Reader{
				"whole":      strings.NewReader(test.in),
				"by one":     iotest.OneByteReader(strings.NewReader(test.in)),
				"with error": iotest.DataErrReader(strings.NewReader(test.in)),
			} {
				got := readAll(t, newLineReader(in, Stdout, test.max))
				if fmt.Sprintf("%.100q", got) != fmt.Sprintf("%.100q", test.want) {
					t.Errorf("%s: got %.100q, want %.100q", how, got, test.want)
				}
			}
		})
	}
}

// endless yields n bytes without a line end.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.n))
	for i := range n {
		p[i] = 'z'
	}
	e.n -= int64(n)
	return n, nil
}

func TestLineReaderMemoryIsBounded(t *testing.T) {
	const size, max = 500 << 20, 1 << 20
	var before, after runtime.MemStats
	r := newLineReader(&endless{n: size}, Stdout, max)
	runtime.ReadMemStats(&before)
	line, err := r.next()
	runtime.ReadMemStats(&after)
	if err != nil || line.Dropped != size || line.Data != nil || !line.Partial {
		t.Fatalf("next = %d bytes, dropped %d, %v; want %d dropped", len(line.Data), line.Dropped, err, size)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16*max {
		t.Errorf("a line of %d bytes took %d bytes in all, want a small multiple of %d", size, used, max)
	}
}

// FuzzLineReader compares with splitting the whole text.
func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), uint16(3))
	f.Add([]byte("12345678\n1\n"), uint16(4))
	f.Fuzz(func(t *testing.T, in []byte, max16 uint16) {
		max := int(max16)%64 + 1
		var want []string
		for rest := in; len(rest) > 0; {
			line, after, ended := bytes.Cut(rest, []byte("\n"))
			rest = after
			data := bytes.TrimSuffix(line, []byte("\r"))
			s := string(data)
			if len(data) > max {
				s = "#"
			}
			if !ended {
				s += "~"
			}
			want = append(want, s)
		}
		r := newLineReader(iotest.HalfReader(bytes.NewReader(in)), Stdout, max)
		var got []string
		for {
			line, err := r.next()
			if err != nil {
				break
			}
			s := string(line.Data)
			if line.Oversize() {
				s = "#"
			}
			if line.Partial {
				s += "~"
			}
			got = append(got, s)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("max %d: got %q, want %q", max, got, want)
		}
	})
}

func BenchmarkLineReader(b *testing.B) {
	line := []byte(strings.Repeat("x", 300) + "\n")
	b.SetBytes(int64(len(line)))
	r := newLineReader(&repeat{line: line, n: b.N}, Stdout, DefaultMaxLine)
	for {
		if _, err := r.next(); err != nil {
			return
		}
	}
}

// repeat yields a line n times.
type repeat struct {
	line []byte
	n    int
	rest []byte
}

func (r *repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(r.rest) == 0 {
			if r.n == 0 {
				break
			}
			r.n--
			r.rest = r.line
		}
		m := copy(p[n:], r.rest)
		r.rest = r.rest[m:]
		n += m
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A line of many MB takes its size twice, whatever its length: once in pieces, once
// whole.
func TestHugeLineIsNotCopiedAgainAndAgain(t *testing.T) {
	const size = 20<<20 + 12345
	want := bytes.Repeat([]byte("0123456789abcde "), size/16+1)[:size]
	in := append(bytes.Clone(want), '\n')
	r := newLineReader(bytes.NewReader(in), Stdout, 64<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l, err := r.next()
	runtime.ReadMemStats(&after)
	if err != nil || !bytes.Equal(l.Data, want) {
		t.Fatalf("a line of %d bytes, %v; want the one of %d", len(l.Data), err, size)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 2*size+2*maxPiece {
		t.Errorf("a line of %d bytes took %d", size, used)
	}
}
