package proc

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Messages of the shim: a letter, the length of the payload in four bytes, the
// payload. Commands to it are single letters.
const (
	msgStarted = 'S' // process id
	msgRefused = 'E' // errno
	msgExited  = 'X' // wait status

	cmdTerminate = 'T'
	cmdKill      = 'K'
)

// sendMessage writes a message with a number as payload.
func sendMessage(w io.Writer, kind byte, number int) error {
	payload := strconv.Itoa(number)
	message := append([]byte{kind, 0, 0, 0, 0}, payload...)
	binary.BigEndian.PutUint32(message[1:5], uint32(len(payload)))
	_, err := w.Write(message)
	return err
}

// readMessage reads what sendMessage wrote.
func readMessage(r io.Reader) (kind byte, number int, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, err
	}
	payload := make([]byte, min(binary.BigEndian.Uint32(head[1:]), 32))
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, 0, err
	}
	number, err = strconv.Atoi(string(payload))
	return head[0], number, err
}

// sendStreams hands descriptors over to the other end of a socket, with a byte to
// carry them. This process keeps its own.
func sendStreams(socket *os.File, streams ...*os.File) error {
	fds := make([]int, len(streams))
	for i, f := range streams {
		fds[i] = int(f.Fd())
	}
	conn, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	rights := syscall.UnixRights(fds...)
	var sent error
	err = conn.Write(func(fd uintptr) bool {
		sent = syscall.Sendmsg(int(fd), []byte{0}, rights, nil, syscall.MSG_NOSIGNAL)
		return sent != syscall.EAGAIN
	})
	return errors.Join(err, sent)
}

// readStreams receives three descriptors that sendStreams sent, closed on exec.
// It blocks; the end of the socket is io.EOF.
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

// maxLaunch bounds the description of a launch: Linux takes 6 MiB of arguments
// and environment at most (3/4 of _STK_LIM).
const maxLaunch = 8 << 20

var errBadLaunch = errors.New("bad launch")

// sendLaunch writes what the shim starts: strings with a NUL after each, which
// check keeps out of them: directory, number of arguments, arguments,
// environment.
func sendLaunch(w io.Writer, l Launch) error {
	var b strings.Builder
	for _, list := range [][]string{{shimVersion, l.Dir, strconv.Itoa(len(l.Argv))}, l.Argv, l.Env} {
		for _, s := range list {
			b.WriteString(s)
			b.WriteByte(0)
		}
	}
	if b.Len() > maxLaunch {
		return syscall.E2BIG
	}
	message := binary.BigEndian.AppendUint32(nil, uint32(b.Len()))
	_, err := w.Write(append(message, b.String()...))
	return err
}

// readLaunch reads what sendLaunch wrote.
func readLaunch(r io.Reader) (Launch, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Launch{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size == 0 || size > maxLaunch {
		return Launch{}, errBadLaunch
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(r, content); err != nil {
		return Launch{}, err
	}
	fields := strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00")
	if len(fields) < 3 || fields[0] != shimVersion {
		return Launch{}, errBadLaunch
	}
	argc, err := strconv.Atoi(fields[2])
	if err != nil || argc < 1 || argc > len(fields)-3 {
		return Launch{}, errBadLaunch
	}
	return Launch{Dir: fields[1], Argv: fields[3 : 3+argc], Env: fields[3+argc:]}, nil
}
