package hook

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agenthost/agenthost/internal/peercred"
)

const (
	socketName = "hook"
	tokenName  = "hook.token"
	// patience is how long a caller may take to send its request, which it has at hand,
	// and to take the answer. One that is slower is cut off, and has none.
	patience = 30 * time.Second
)

// Options of a Server. Zero fields mean defaults.
type Options struct {
	// Dir is where the socket lies: absolute, and short enough for one. Nobody else
	// may enter it.
	Dir string
	// MaxRequest is the longest request taken whole, in bytes. Default 64 MiB.
	MaxRequest int64
	// MaxOpen is how many requests may be open at once; the next wait. Default 256.
	MaxOpen int
	// Logger is nil for silence.
	Logger *slog.Logger
}

// Request is a hook's.
type Request struct {
	// ID names it for Reply.
	ID string
	// Data is what the hook got on its standard input.
	Data []byte
	// Dropped is the length of a request over the limit; Data is then empty.
	Dropped int64
}

// Server takes requests. Its methods are safe for concurrent use.
type Server struct {
	o        Options
	token    string
	listener *net.UnixListener
	take     func(Request)
	slots    chan struct{} // one token for each open connection
	closing  chan struct{}
	once     sync.Once
	wg       sync.WaitGroup

	mu      sync.Mutex
	n       int                    // guarded by mu
	conns   map[*net.UnixConn]bool // guarded by mu
	waiting map[string]chan reply  // guarded by mu; by ID
	over    bool                   // guarded by mu
}

// Listen serves a socket in o.Dir, which it takes the place of one that is left there
// in. take gets each request, from a goroutine of its own; it may block, but not on
// Close. The caller closes.
func Listen(o Options, take func(Request)) (*Server, error) {
	o.MaxRequest = cmp.Or(o.MaxRequest, 64<<20)
	o.MaxOpen = cmp.Or(o.MaxOpen, 256)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		o: o, token: rand.Text(), take: take, slots: make(chan struct{}, o.MaxOpen), closing: make(chan struct{}),
		conns: map[*net.UnixConn]bool{}, waiting: map[string]chan reply{},
	}
	path := Socket(o.Dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	token := filepath.Join(o.Dir, tokenName)
	if err := os.Remove(token); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err // writing to it would keep its mode
	}
	if err := os.WriteFile(token, []byte(s.token), 0o600); err != nil {
		return nil, err
	}
	var err error
	if s.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
		return nil, fmt.Errorf("listening for hooks: %w", err)
	}
	// Until here the directory's mode is the guard, and the token.
	if err := os.Chmod(path, 0o600); err != nil {
		s.listener.Close()
		return nil, err
	}
	s.wg.Go(s.accept)
	return s, nil
}

// Socket is the path of the socket in a directory.
func Socket(dir string) string { return filepath.Join(dir, socketName) }

func (s *Server) accept() {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.closing:
			return
		}
		c, err := s.listener.AcceptUnix()
		if err != nil {
			select {
			case <-s.closing:
				return
			case <-time.After(50 * time.Millisecond): // out of descriptors, say
				<-s.slots
				continue
			}
		}
		if !s.add(c) {
			c.Close()
			return
		}
		s.wg.Go(func() {
			defer func() { <-s.slots }()
			defer s.remove(c)
			if err := s.serve(c); err != nil {
				s.o.Logger.Warn("a hook was not answered", "err", err)
			}
		})
	}
}

func (s *Server) add(c *net.UnixConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.conns[c] = true
	return true
}

func (s *Server) remove(c *net.UnixConn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// serve takes one request and answers it.
func (s *Server) serve(c *net.UnixConn) error {
	if !peercred.Own(c) {
		return errors.New("the caller is another user")
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	r, err := readRequest(bufio.NewReader(c), s.token, s.o.MaxRequest)
	if err != nil {
		return fmt.Errorf("reading a hook's request: %w", err)
	}
	id, answer := s.open()
	defer s.forget(id)
	s.take(Request{ID: id, Data: r.data, Dropped: r.dropped})
	if err := c.SetDeadline(time.Time{}); err != nil {
		return nil // it is gone
	}
	select {
	case a := <-answer:
		s.answer(c, a)
	case <-s.hungUp(c):
		// Closing looks like it. An answer that was given is given.
		select {
		case a := <-answer:
			s.answer(c, a)
		default:
		}
	}
	return nil
}

// hungUp is closed when the caller does not wait any more: it has said all it has to.
func (s *Server) hungUp(c net.Conn) <-chan struct{} {
	gone := make(chan struct{})
	s.wg.Go(func() {
		defer close(gone)
		_, _ = c.Read(make([]byte, 1))
	})
	return gone
}

func (s *Server) answer(c net.Conn, a reply) {
	err := c.SetDeadline(time.Now().Add(patience))
	if err == nil {
		err = writeReply(c, a)
	}
	if err != nil {
		s.o.Logger.Debug("a hook did not wait for its answer", "err", err)
	}
}

func (s *Server) open() (id string, answer chan reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	id = fmt.Sprintf("h%d", s.n)
	answer = make(chan reply, 1)
	s.waiting[id] = answer
	return id, answer
}

func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
}

// Reply answers a request: what the hook prints, and its exit status of 0 to 125. It
// does not wait. One that is answered already, or whose hook is gone, is ignored.
func (s *Server) Reply(id string, output []byte, code int) {
	if code < 0 || code > 125 {
		code = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.waiting[id]
	if answer == nil {
		return
	}
	select {
	case answer <- reply{code, append([]byte(nil), output...)}:
	default:
	}
}

// Close refuses further requests and leaves the open ones without an answer, but for
// those that Reply has one for. It returns when take is called no more.
func (s *Server) Close() {
	s.once.Do(func() {
		s.mu.Lock()
		s.over = true
		for c := range s.conns {
			// What waits for an answer is woken, and may write the one it has.
			_ = c.CloseRead()
		}
		s.mu.Unlock()
		close(s.closing)
		s.listener.Close()
	})
	s.wg.Wait()
}
