package proc

import (
	"bufio"
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Trim gives back the pages of the executable that starting this program has
// touched. A program that has come to wait for others needs few of them any more,
// and what it does need comes back from the page cache. It makes a shim three to
// four times smaller, and a host by a third. It takes some milliseconds.
func Trim() {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer smaps.Close()
	for _, m := range unwritten(bufio.NewScanner(smaps)) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// unwritten lists the read-only mappings of files in proc_pid_smaps(5) that hold no
// page of their own. One that does (relocated data of a position-independent
// executable is read-only too) would lose it.
func unwritten(smaps *bufio.Scanner) []mapping {
	var all []mapping
	var current mapping
	candidate := false
	for smaps.Scan() {
		fields := bytes.Fields(smaps.Bytes())
		switch {
		case len(fields) < 2:
		case len(fields) >= 6 && fields[5][0] == '/' && len(fields[1]) == 4:
			current, candidate = parseRange(fields[0])
			candidate = candidate && fields[1][0] == 'r' && fields[1][1] == '-'
		case len(fields) >= 5 && len(fields[1]) == 4:
			candidate = false // not of a file
		case string(fields[0]) == "Anonymous:" && candidate && string(fields[1]) == "0":
			all = append(all, current)
		}
	}
	return all
}

// parseRange parses "start-end" in hexadecimal.
func parseRange(field []byte) (mapping, bool) {
	low, high, ok := bytes.Cut(field, []byte{'-'})
	start, err1 := strconv.ParseUint(string(low), 16, strconv.IntSize)
	end, err2 := strconv.ParseUint(string(high), 16, strconv.IntSize)
	return mapping{uintptr(start), uintptr(end)}, ok && err1 == nil && err2 == nil && start < end
}
