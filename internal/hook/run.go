package hook

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthost/agenthost/internal/peercred"
)

const (
	// maxInput is how much of a hook's input is kept; of more only the length is told.
	maxInput = 64 << 20
	// exitClosed is the status by which agents take a hook to have said no.
	exitClosed = 2
)

// CommandLine is what an agent is to run for a hook, for sh: exe are the words of a
// command that ends up in Run. A command that cannot be run at all counts as a host
// that is gone.
func CommandLine(exe []string, socket string, closed bool) string {
	var words []string
	for _, w := range exe {
		words = append(words, quote(w))
	}
	if closed {
		words = append(words, "--closed")
	}
	words = append(words, quote(socket))
	// From 126 on it is sh that speaks: the command was not found, or killed.
	line := strings.Join(words, " ")
	if closed {
		return line + `; r=$?; [ $r -lt 126 ] || { echo "agenthost cannot be asked" >&2; r=2; }; exit $r`
	}
	return line + `; r=$?; [ $r -lt 126 ] || r=0; exit $r`
}

// quote makes one word for sh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Run is the hook: it hands stdin to the host at the socket that args name, and prints
// its reply. args are as CommandLine makes them. It returns the exit status. A reply
// with another status than 0 is printed on stderr too, where agents look for reasons.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	closed := len(args) > 0 && args[0] == "--closed"
	if closed {
		args = args[1:]
	}
	if len(args) != 1 {
		fmt.Fprintf(stderr, "hook: want the path of a socket, got %d arguments\n", len(args))
		return exitClosed
	}
	r, err := ask(args[0], stdin)
	if err != nil {
		if !closed {
			return 0
		}
		fmt.Fprintf(stderr, "agenthost cannot be asked: %v\n", err)
		return exitClosed
	}
	if _, err := stdout.Write(r.output); err != nil && closed {
		return exitClosed
	}
	if r.code != 0 {
		_, _ = stderr.Write(r.output)
	}
	return r.code
}

// ask hands a request to the host.
func ask(socket string, stdin io.Reader) (reply, error) {
	r, err := readInput(stdin, maxInput)
	if err != nil {
		return reply{}, err
	}
	token, err := os.ReadFile(filepath.Join(filepath.Dir(socket), tokenName))
	if err != nil {
		return reply{}, err
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return reply{}, err
	}
	defer c.Close()
	if !peercred.Own(c) {
		return reply{}, errors.New("the socket is another user's")
	}
	if err := writeRequest(c, string(token), r); err != nil {
		return reply{}, err
	}
	return readReply(bufio.NewReader(c))
}

// readInput reads to the end, and keeps no more than limit.
func readInput(r io.Reader, limit int64) (request, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil || int64(len(data)) <= limit {
		return request{data: data}, err
	}
	rest, err := io.Copy(io.Discard, r)
	return request{dropped: int64(len(data)) + rest}, err
}
