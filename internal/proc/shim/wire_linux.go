package shim

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
)

// Version is that of the protocol between program and shim.
const Version = "3"

// Messages of the shim: a letter, the length of the payload in four bytes, the
// payload, a number. Commands to it are single letters.
const (
	Started = 'S' // process id
	Refused = 'E' // errno
	Exited  = 'X' // wait status

	Terminate = 'T'
	HangUp    = 'H'
	Kill      = 'K'
)

// sendMessage writes a message with a number as payload.
func sendMessage(w io.Writer, kind byte, number int) error {
	payload := strconv.Itoa(number)
	message := append(appendUint32([]byte{kind}, uint32(len(payload))), payload...)
	_, err := w.Write(message)
	return err
}

// ReadMessage reads what a shim says.
func ReadMessage(r io.Reader) (kind byte, number int, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, err
	}
	payload := make([]byte, min(uint32At(head[1:]), 32))
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, 0, err
	}
	number, err = strconv.Atoi(string(payload))
	return head[0], number, err
}

// Not encoding/binary: see the package's doc.

func appendUint32(b []byte, n uint32) []byte {
	return append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func uint32At(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// SendStreams hands descriptors over to a shim, with a byte to carry them. This
// process keeps its own.
func SendStreams(socket *os.File, stdin, stdout, stderr *os.File) error {
	conn, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	rights := syscall.UnixRights(int(stdin.Fd()), int(stdout.Fd()), int(stderr.Fd()))
	var sent error
	err = conn.Write(func(fd uintptr) bool {
		sent = syscall.Sendmsg(int(fd), []byte{0}, rights, nil, syscall.MSG_NOSIGNAL)
		return sent != syscall.EAGAIN
	})
	return errors.Join(err, sent)
}

// readStreams receives three descriptors that SendStreams sent, closed on exec. It
// blocks; the end of the socket is io.EOF.
func readStreams(socket int) (streams [3]uintptr, err error) {
	control := make([]byte, syscall.CmsgSpace(4*len(streams)))
	var n, controlled int
	for {
		n, controlled, _, _, err = syscall.Recvmsg(socket, make([]byte, 1), control, syscall.MSG_CMSG_CLOEXEC)
		if err != syscall.EINTR {
			break
		}
	}
	switch {
	case err != nil:
		return streams, err
	case n == 0:
		return streams, io.EOF
	}
	messages, err := syscall.ParseSocketControlMessage(control[:controlled])
	if err != nil || len(messages) != 1 {
		return streams, errBadLaunch
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != len(streams) {
		return streams, errBadLaunch
	}
	for i, fd := range fds {
		streams[i] = uintptr(fd)
	}
	return streams, nil
}

// descriptor reads from a descriptor that blocks.
type descriptor int

func (d descriptor) Read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(d), p)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Launch is what a shim starts. Argv[0] is the executable's path.
type Launch struct {
	Dir string
	// Terminal says that the streams are a terminal, to become the controlling one.
	Terminal  bool
	Argv, Env []string
}

// maxLaunch bounds the description of a launch: Linux takes 6 MiB of arguments
// and environment at most (3/4 of _STK_LIM).
const maxLaunch = 8 << 20

var errBadLaunch = errors.New("bad launch")

// SendLaunch writes what the shim starts: strings with a NUL after each, which the
// caller keeps out of them: version, directory, whether the streams are a terminal,
// number of arguments, arguments, environment.
func SendLaunch(w io.Writer, l Launch) error {
	var fields []byte
	for _, list := range [][]string{{Version, l.Dir, strconv.FormatBool(l.Terminal), strconv.Itoa(len(l.Argv))}, l.Argv, l.Env} {
		for _, s := range list {
			fields = append(append(fields, s...), 0)
		}
	}
	if len(fields) > maxLaunch {
		return syscall.E2BIG
	}
	_, err := w.Write(append(appendUint32(nil, uint32(len(fields))), fields...))
	return err
}

// readLaunch reads what SendLaunch wrote.
func readLaunch(r io.Reader) (Launch, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Launch{}, err
	}
	size := uint32At(head[:])
	if size == 0 || size > maxLaunch {
		return Launch{}, errBadLaunch
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(r, content); err != nil {
		return Launch{}, err
	}
	fields := cutFields(content)
	if len(fields) < 4 || fields[0] != Version {
		return Launch{}, errBadLaunch
	}
	terminal, err := strconv.ParseBool(fields[2])
	if err != nil {
		return Launch{}, errBadLaunch
	}
	argc, err := strconv.Atoi(fields[3])
	if err != nil || argc < 1 || argc > len(fields)-4 {
		return Launch{}, errBadLaunch
	}
	return Launch{Dir: fields[1], Terminal: terminal, Argv: fields[4 : 4+argc], Env: fields[4+argc:]}, nil
}

// cutFields cuts at NULs; one at the end ends the last field.
func cutFields(content []byte) []string {
	var fields []string
	begin := 0
	for i, b := range content {
		if b == 0 {
			fields = append(fields, string(content[begin:i]))
			begin = i + 1
		}
	}
	if begin < len(content) {
		fields = append(fields, string(content[begin:]))
	}
	return fields
}
