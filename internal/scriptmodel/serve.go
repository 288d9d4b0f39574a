package scriptmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	pathpkg "path"
	"slices"
	"time"
)

// A Local is a Server that listens on this machine.
type Local struct {
	*Server
	// URL is the base URL, without a slash at its end.
	URL string

	http   *http.Server
	served chan error // gets the result of Serve, once
}

// Start listens on addr ("127.0.0.1:0" for any free port) and serves New() there
// until Close.
func Start(addr string) (*Local, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for the scripted model: %w", err)
	}
	l := &Local{Server: New(), URL: "http://" + ln.Addr().String(), served: make(chan error, 1)}
	l.http = &http.Server{Handler: l.Server, ReadHeaderTimeout: 10 * time.Second}
	go func() { l.served <- l.http.Serve(ln) }()
	return l, nil
}

// Close cuts all answers and connections and waits for the listener. It may be
// called once.
func (l *Local) Close() error {
	l.Server.Close()
	err := l.http.Close()
	if served := <-l.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// ListenAndServe serves a scripted model on addr until ctx ends. It writes to out
// how each agent is pointed at it, then a line for each request. It returns nil
// when ctx ended it.
func ListenAndServe(ctx context.Context, addr string, out io.Writer) error {
	l, err := Start(addr)
	if err != nil {
		return err
	}
	if err := describe(out, l.URL); err != nil {
		return errors.Join(err, l.Close())
	}
	for seq := 0; ; seq++ {
		r, err := l.Await(ctx, func(r Request) bool { return r.Seq == seq })
		if err != nil {
			return l.Close()
		}
		line := fmt.Sprintf("%s %s: %s %d", r.Method, r.Path, r.Kind, r.Status)
		if r.Script != "" {
			line += fmt.Sprintf(", step %d of %q", r.Step+1, brief(r.Script))
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return errors.Join(err, l.Close())
		}
	}
}

// describe writes what agents need to be told.
func describe(out io.Writer, base string) error {
	text := fmt.Sprintf("scripted model at %s\n\nA prompt says what the model answers:\n  SCRIPT: shell ls ;; text done\n", base) +
		"\n# The files below take the place of your own settings and log-ins: use a home for them alone,\n" +
		"# not below /tmp, and the agents' directory for /path/to/project.\nexport HOME=$(mktemp -d ~/scripted.XXXXXX)\n"
	for _, s := range Setups(base, "/path/to/project") {
		text += "\n# " + s.Agent + "\n"
		if s.Note != "" {
			text += "# " + s.Note + "\n"
		}
		for _, e := range s.Env {
			text += "export " + e + "\n"
		}
		for _, path := range slices.Sorted(maps.Keys(s.Files)) {
			if dir := pathpkg.Dir(path); dir != "." {
				text += "mkdir -p ~/" + dir + "\n"
			}
			text += "cat > ~/" + path + " <<'END'\n" + s.Files[path] + "END\n"
		}
	}
	_, err := io.WriteString(out, text+"\n")
	return err
}
