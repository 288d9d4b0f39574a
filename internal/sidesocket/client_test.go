//go:build unix

package sidesocket

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agenthost/agenthost/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m, "sidesocket.", "coder/websocket") }

const patience = 20 * time.Second

// program serves a socket; its connections come out of conns.
type program struct {
	t     *testing.T
	path  string
	conns chan *websocket.Conn
	done  chan struct{}
	http  *http.Server
}

func newProgram(t *testing.T) *program {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &program{t: t, path: filepath.Join(dir, "s"), conns: make(chan *websocket.Conn, 8), done: make(chan struct{})}
}

// listen begins to serve. A second connection waits until the first one's is over.
func (p *program) listen() {
	p.t.Helper()
	l, err := net.Listen("unix", p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		c.SetReadLimit(-1)
		p.conns <- c
		<-p.done
		_ = c.CloseNow()
	})}
	go func() { _ = p.http.Serve(l) }()
}

// end is the end of the program.
func (p *program) end() {
	close(p.done)
	if p.http != nil {
		p.http.Close()
	}
}

func (p *program) conn() *websocket.Conn {
	p.t.Helper()
	return within(p.t, "a connection", p.conns)
}

func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func say(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c *websocket.Conn, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kind, data, err := c.Read(ctx)
	if err != nil || string(data) != want || kind != websocket.MessageText {
		t.Fatalf("the program read %q of kind %v, %v; want %q", data, kind, err, want)
	}
}

// client connects to p.
func (p *program) client(o Options) (*Client, chan Message, chan struct{}) {
	messages, connected := make(chan Message, 64), make(chan struct{}, 8)
	o.Path, o.Done = p.path, p.done
	o.Receive = func(m Message) { messages <- m }
	o.Connected = func() { connected <- struct{}{} }
	if o.Failed == nil {
		o.Failed = func(err error) { p.t.Errorf("Failed(%v)", err) }
	}
	return New(o), messages, connected
}

func TestConversation(t *testing.T) {
	p := newProgram(t)
	c, messages, connected := p.client(Options{MaxMessage: 100})
	if err := c.Write([]byte("early")); err != nil { // before anybody listens
		t.Fatal(err)
	}
	p.listen()
	conn := p.conn()
	within(t, "call of Connected", connected)
	hear(t, conn, "early")
	say(t, conn, "one")
	say(t, conn, strings.Repeat("x", 101))
	say(t, conn, strings.Repeat("y", 100))
	for _, want := range []Message{{Data: []byte("one")}, {Dropped: 101}, {Data: []byte(strings.Repeat("y", 100))}} {
		if m := within(t, "message", messages); string(m.Data) != string(want.Data) || m.Dropped != want.Dropped {
			t.Errorf("message = %q, dropped %d; want %q, %d", m.Data, m.Dropped, want.Data, want.Dropped)
		}
	}
	// What is said last is received.
	say(t, conn, "last")
	go func() {
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}()
	if m := within(t, "message", messages); string(m.Data) != "last" {
		t.Errorf("message = %q, want the last one", m.Data)
	}
	p.end()
	c.Close()
	if err := c.Write([]byte("late")); err != nil {
		t.Errorf("Write when all is over = %v, want nil", err)
	}
}

// A connection that breaks is made again. What was meant for the old one does not get
// to the new one.
func TestReconnect(t *testing.T) {
	p := newProgram(t)
	p.listen()
	c, messages, _ := p.client(Options{})
	conn := p.conn()
	say(t, conn, "one")
	if m := within(t, "message", messages); string(m.Data) != "one" {
		t.Errorf("message = %q, want one", m.Data)
	}
	for range 3 {
		_ = conn.CloseNow()
		if m := within(t, "message", messages); !m.Reconnected {
			t.Errorf("message = %+v, want the news of a connection", m)
		}
		conn = p.conn()
		_ = c.Write([]byte("for the old one"))
		c.Resume()
		if err := c.Write([]byte("for the new one")); err != nil {
			t.Fatal(err)
		}
		hear(t, conn, "for the new one")
	}
	p.end()
	c.Close()
}

func TestNobodyListens(t *testing.T) {
	p := newProgram(t)
	failed := make(chan error, 1)
	c, _, _ := p.client(Options{Patience: 50 * time.Millisecond, Failed: func(err error) { failed <- err }})
	if err := within(t, "failure", failed); err == nil {
		t.Error("Failed(nil), want a reason")
	}
	c.Close()
	// One that ends before is none of our failures.
	p = newProgram(t)
	c, _, _ = p.client(Options{})
	p.end()
	c.Close()
	// Nor is one that is given up.
	p = newProgram(t)
	c, _, _ = p.client(Options{})
	c.Close()
}

func TestFull(t *testing.T) {
	p := newProgram(t)
	c, _, _ := p.client(Options{MaxQueued: 10})
	if err := c.Write(make([]byte, 20)); err != nil {
		t.Errorf("a single message over the bound = %v, want nil", err)
	}
	if err := c.Write([]byte("x")); err != ErrFull {
		t.Errorf("Write = %v, want ErrFull", err)
	}
	c.Close()
}
