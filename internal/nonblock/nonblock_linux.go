package nonblock

import (
	"io"
	"os"
	"syscall"
	"unsafe"
)

const (
	// full is from how many bytes on a read was as long as a terminal gives.
	full = 4000
	// most is how much is written at once: the scheduler waits for it.
	most = 8 << 10
)

func read(f *os.File, p []byte) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		for n < len(p) {
			got, errno := call(syscall.SYS_READ, fd, p[n:])
			n += got
			switch {
			case errno == syscall.EAGAIN:
				return n > 0
			case errno != 0:
				failed = errno
				return true
			case got < full:
				return true
			}
		}
		return true
	})
	switch {
	case n > 0:
		return n, nil // an error comes again
	case failed != nil:
		return 0, os.NewSyscallError("read", failed)
	case err == nil:
		err = io.EOF
	}
	return 0, err
}

func write(f *os.File, p []byte) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = conn.Write(func(fd uintptr) bool {
		for n < len(p) {
			took, errno := call(syscall.SYS_WRITE, fd, p[n:min(len(p), n+most)])
			n += took
			switch {
			case errno == syscall.EAGAIN, errno == 0 && took == 0:
				return false
			case errno != 0:
				failed = errno
				return true
			}
		}
		return true
	})
	if failed != nil {
		err = os.NewSyscallError("write", failed)
	}
	return n, err
}

// call reads into or writes from p, which is not empty.
func call(number, fd uintptr, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), 0
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
