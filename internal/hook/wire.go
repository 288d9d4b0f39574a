package hook

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	greeting = "agenthost-hook"
	version  = "1"
	// maxHeader is the longest first line of either side, in bytes.
	maxHeader = 256
)

// The errors of the wire.
var (
	errToken  = errors.New("want the token of this session")
	errHeader = errors.New("want a first line of this protocol")
)

// request is what a hook asks.
type request struct {
	data    []byte
	dropped int64
}

func writeRequest(w io.Writer, token string, r request) error {
	b := fmt.Appendf(nil, "%s %s %s %d %d\n", greeting, version, token, len(r.data), r.dropped)
	_, err := w.Write(append(b, r.data...))
	return err
}

// readRequest reads a request whole. What is longer than limit is thrown away and
// counted.
func readRequest(r *bufio.Reader, token string, limit int64) (request, error) {
	fields, err := readHeader(r, 5)
	if err != nil {
		return request{}, err
	}
	if fields[0] != greeting || fields[1] != version {
		return request{}, errHeader
	}
	if subtle.ConstantTimeCompare([]byte(fields[2]), []byte(token)) != 1 {
		return request{}, errToken
	}
	length, err := count(fields[3])
	if err != nil {
		return request{}, err
	}
	dropped, err := count(fields[4])
	if err != nil {
		return request{}, err
	}
	if length > limit {
		if err := whole(io.CopyN(io.Discard, r, length)); err != nil {
			return request{}, err
		}
		return request{dropped: max(length, dropped)}, nil
	}
	data, err := readBody(r, length)
	if err != nil {
		return request{}, err
	}
	if dropped > 0 {
		data = nil
	}
	return request{data: data, dropped: dropped}, nil
}

// reply is what the host answers.
type reply struct {
	code   int
	output []byte
}

func writeReply(w io.Writer, r reply) error {
	_, err := w.Write(append(fmt.Appendf(nil, "%d %d\n", r.code, len(r.output)), r.output...))
	return err
}

func readReply(r *bufio.Reader) (reply, error) {
	fields, err := readHeader(r, 2)
	if err != nil {
		return reply{}, err
	}
	code, err := count(fields[0])
	if err != nil || code > 255 {
		return reply{}, errHeader
	}
	length, err := count(fields[1])
	if err != nil {
		return reply{}, err
	}
	output, err := readBody(r, length)
	return reply{code: int(code), output: output}, err
}

// readHeader reads a line of n words.
func readHeader(r *bufio.Reader, n int) ([]string, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull), err == nil && len(line) > maxHeader:
		return nil, errHeader
	case err != nil:
		return nil, err
	}
	fields := strings.Split(string(line[:len(line)-1]), " ")
	if len(fields) != n {
		return nil, errHeader
	}
	return fields, nil
}

// count reads a number of bytes, as it is written here and in no other way.
func count(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, errHeader
	}
	return n, nil
}

// readBody reads n bytes. The memory grows with what came, not with what was said.
func readBody(r io.Reader, n int64) ([]byte, error) {
	var b bytes.Buffer
	if err := whole(io.CopyN(&b, r, n)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// whole makes an end that comes too early an error of its own.
func whole(_ int64, err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
