package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/relay/wire"
)

// wireline is a way to a server that can be cut.
type wireline struct {
	net.Listener
	to string

	mu   sync.Mutex
	cut  bool       // guarded by mu
	ends []net.Conn // guarded by mu
}

func newWireline(t *testing.T, to string) *wireline {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wireline{Listener: l, to: to}
	t.Cleanup(func() {
		w.set(true)
		_ = l.Close()
	})
	go w.serve()
	return w
}

func (w *wireline) serve() {
	for {
		in, err := w.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", w.to)
		w.mu.Lock()
		if err != nil || w.cut {
			_ = in.Close()
			if out != nil {
				_ = out.Close()
			}
		} else {
			w.ends = append(w.ends, in, out)
			pass := func(a, b net.Conn) {
				_, _ = io.Copy(a, b)
				_, _ = a.Close(), b.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
		w.mu.Unlock()
	}
}

// set cuts the line, or mends it.
func (w *wireline) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.ends {
		_ = c.Close()
	}
	w.ends = nil
}

// page is that of an agent's screen.
type page struct {
	*tab
	display
}

func pageOf(t *tab) page {
	return page{t, display{t.t, func() string {
		return t.eval("document.querySelector('.xterm-rows')?.innerText.replace(/\\u00a0/g, ' ') ?? ''")
	}}}
}

// says waits until the line at the top says a text, and that the keyboard is locked or not.
func (p page) says(text string, locked bool) {
	p.tab.t.Helper()
	said := ""
	defer func() {
		if p.tab.t.Failed() {
			p.tab.t.Logf("the page says %q", said)
		}
	}()
	deadline(p.tab.t, "the page with "+strconv.Quote(text), func() bool {
		said = p.eval("(document.getElementById('status')?.textContent ?? '') + (document.querySelector('header')?.className === 'locked' ? ' [locked]' : '')")
		return strings.Contains(said, text) && strings.HasSuffix(said, " [locked]") == locked
	})
}

// TestPage: an agent's screen in a page of a real browser, over a relay.
func TestPage(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	b := startBrowser(t, lab) // skips without one
	w := newWorld(t, lab)
	secret := func(scope string) string {
		data, err := os.ReadFile(w.newToken(scope))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(data))
	}
	admin := secret("admin")
	w.run("run", "pty", "--detach", "--", "bash", "--norc", "--noprofile")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	id := ""
	deadline(t, "the session at the relay", func() bool {
		list, err := w.c.Sessions(ctx, wire.SessionsParams{})
		if err == nil && len(list) == 1 {
			id = list[0].ID
		}
		return id != ""
	})
	l := newWireline(t, strings.TrimPrefix(w.url, "http://"))
	url := "http://" + l.Addr().String() + "/terminal/" + id

	p := pageOf(b.open(url + "#token=" + admin))
	p.shows("bash-")
	if hash := p.eval("location.href"); strings.Contains(hash, admin) {
		t.Errorf("the address keeps the token: %s", hash)
	}
	p.says("holds control", true)
	p.click("#take")
	p.says("you hold control", false)
	p.click("#screen")
	p.press("echo a$((1+1))b\r")
	p.shows("\na2b")
	p.click("#fit")
	p.until("a screen of the window's size", func(string) bool { return p.eval("document.querySelector('.xterm-rows').children.length") != "24" })
	p.click("#screen")
	p.press("stty size\r")
	p.until("the size at the agent", func(screen string) bool {
		rows := p.eval("document.querySelector('.xterm-rows').children.length")
		return regexp.MustCompile(`(?m)^` + rows + ` \d+$`).MatchString(screen)
	})

	// Somebody else takes the keyboard, and gives it back.
	if _, err := w.c.Control(ctx, wire.ControlParams{Session: id}); err != nil {
		t.Fatal(err)
	}
	p.says("phone", true)
	p.press("echo lost\r")
	p.says("keys do not go", true)
	p.click("#take")
	p.says("you hold control", false)
	p.click("#screen")
	p.press("echo b$((1+2))c\r")
	p.shows("\nb3c")
	if strings.Contains(p.screen(), "lost") {
		t.Errorf("what was typed while another one held control was typed:\n%s", p.screen())
	}
	if wrong := p.wrong(); len(wrong) > 0 {
		t.Errorf("the browser finds wrong: %q", wrong)
	}

	// The connection is cut, and comes back.
	l.set(true)
	p.says("the connection is lost", true)
	p.press("echo gone\r")
	l.set(false)
	p.says("you hold control", false)
	p.press("echo c$((1+3))d\r")
	p.shows("\nc4d")
	if strings.Contains(p.screen(), "gone") {
		t.Errorf("what was typed while the connection was lost was typed:\n%s", p.screen())
	}
	for _, wrong := range p.wrong() {
		if !strings.HasPrefix(wrong, "network: ") && !strings.Contains(wrong, "WebSocket connection to") {
			t.Errorf("the browser finds wrong: %s", wrong)
		}
	}

	// Who may not type is told so, and so is who has no token that counts.
	q := pageOf(b.open(url + "#token=" + secret("control")))
	q.shows("\nc4d")
	q.click("#take")
	q.says("admin", true)
	q.click("#screen")
	q.press("echo never\r")
	q.says("keys do not go", true)
	p.says("browser", true)
	for _, wrong := range q.wrong() {
		t.Errorf("the browser finds wrong: %s", wrong)
	}
	q.eval("location.hash = 'token=no" + admin + "'")
	q.says("the token does not count", true)
	q.eval("sessionStorage.clear(); location.reload()")
	q.says("the address needs #token=", true)
	p.click("#take")
	p.says("you hold control", false)
	if strings.Contains(p.screen(), "never") {
		t.Error("a token without the scope admin typed")
	}

	// No page of another origin comes in with the token.
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<p>hello") }))
	defer foreign.Close()
	q.do("Page.navigate", map[string]any{"url": foreign.URL})
	deadline(t, "the foreign page", func() bool { return q.eval("location.href") == foreign.URL+"/" })
	if got := q.eval("new Promise((done) => { const ws = new WebSocket('ws://" + l.Addr().String() + "/v1/ws', ['agenthost.v1', 'bearer." + admin + "']); ws.onopen = () => done('open'); ws.onclose = () => done('refused'); })"); got != "refused" {
		t.Errorf("a WebSocket of a foreign page is %s", got)
	}
	if got := q.eval("fetch('" + url + "').then(() => 'read', () => 'refused')"); got != "refused" {
		t.Errorf("the page is %s by a foreign page", got)
	}
}
