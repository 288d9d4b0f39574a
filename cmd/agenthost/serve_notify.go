package main

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// notify tells systemd how the service is (sd_notify(3)): a datagram of lines to
// the socket that NOTIFY_SOCKET names. Elsewhere it does nothing.
func notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if strings.HasPrefix(path, "@") { // the abstract name space
		path = "\x00" + path[1:]
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return // whoever started us does not want to know
	}
	defer c.Close()
	_, _ = c.Write([]byte(state))
}

// watchdog gives systemd the signs of life that it asked for, until ctx ends.
func watchdog(ctx context.Context) {
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if pid := os.Getenv("WATCHDOG_PID"); err != nil || usec <= 0 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return
	}
	tick := time.NewTicker(time.Duration(usec) * time.Microsecond / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			notify("WATCHDOG=1")
		case <-ctx.Done():
			return
		}
	}
}
