package e2e

import (
	"bufio"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/agenthost/agenthost/internal/agentlab"
)

// browser is a Chromium without a window, driven by its DevTools protocol.
type browser struct {
	t  testing.TB
	ws *websocket.Conn

	mu      sync.Mutex
	last    int
	answers map[int]chan answer // guarded by mu
	tabs    map[string]*tab     // guarded by mu, by DevTools session
}

// answer is one of the browser's, or what it tells.
type answer struct {
	ID        int            `json:"id"`
	SessionID string         `json:"sessionId"`
	Method    string         `json:"method"`
	Params    jsontext.Value `json:"params"`
	Result    jsontext.Value `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// tab is a page in the browser.
type tab struct {
	*browser
	session string

	mu       sync.Mutex
	problems []string // guarded by mu: what the browser finds wrong with the page
}

// browserProgram is AGENTHOST_BROWSER, or what of the browsers that know the protocol is
// installed.
func browserProgram(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("AGENTHOST_BROWSER"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium or Chrome is installed, and AGENTHOST_BROWSER names none: the page is not tried in a real browser")
	return ""
}

// startBrowser starts one of the lab's own, which ends with the test.
func startBrowser(t testing.TB, lab *agentlab.Lab) *browser {
	t.Helper()
	cmd := exec.Command(
		browserProgram(t), "--headless", "--remote-debugging-port=0", "--user-data-dir="+t.TempDir(), "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-extensions", "--window-size=900,600", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "about:blank",
	)
	cmd.Env, cmd.Dir = append(environ(lab), "DBUS_SESSION_BUS_ADDRESS=disabled:"), lab.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its helpers end with it
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	address, said := devTools(stderr, time.Minute)
	if address == "" {
		t.Fatalf("the browser does not start:\n%s", said)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := &browser{t: t, answers: map[int]chan answer{}, tabs: map[string]*tab{}}
	if b.ws, _, err = websocket.Dial(ctx, address, nil); err != nil {
		t.Fatal(err)
	}
	b.ws.SetReadLimit(64 << 20)
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read()
	}()
	t.Cleanup(func() {
		_ = b.ws.CloseNow()
		<-read
	})
	return b
}

// devTools is the address that a browser says, and what it said so far. It is empty when the
// browser does not say it in time. What the browser says later is read and forgotten.
func devTools(stderr io.Reader, within time.Duration) (address, said string) {
	lines := make(chan string)
	enough := make(chan struct{})
	defer close(enough)
	go func() {
		defer func() { _, _ = io.Copy(io.Discard, stderr) }()
		defer close(lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-enough:
				return
			}
		}
	}()
	late := time.After(within)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return "", said + "and nothing more"
			}
			said += line + "\n"
			if _, address, found := strings.Cut(line, "DevTools listening on "); found {
				return address, said
			}
		case <-late:
			return "", said + fmt.Sprintf("and nothing more in %v", within)
		}
	}
}

// A browser that says nothing, or too little, or ends, is not waited for.
func TestDevTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, "it hangs\n") }()
		if address, said := devTools(r, time.Minute); address != "" || !strings.Contains(said, "it hangs\nand nothing more in 1m0s") {
			t.Errorf("one that hangs: %q, %q", address, said)
		}
		_ = w.Close()
	})
	if address, said := devTools(strings.NewReader("it ends\n"), time.Minute); address != "" || !strings.Contains(said, "it ends") {
		t.Errorf("one that ends: %q, %q", address, said)
	}
	if address, _ := devTools(strings.NewReader("a\nDevTools listening on ws://x\nb\n"), time.Minute); address != "ws://x" {
		t.Errorf("one that starts: %q", address)
	}
}

// read hands out what the browser says, until the connection ends.
func (b *browser) read() {
	for {
		_, data, err := b.ws.Read(context.Background())
		if err != nil {
			return
		}
		var a answer
		if err := json.Unmarshal(data, &a); err != nil {
			b.t.Errorf("the browser says %.200q: %v", data, err)
			return
		}
		b.mu.Lock()
		waits, t := b.answers[a.ID], b.tabs[a.SessionID]
		delete(b.answers, a.ID)
		b.mu.Unlock()
		if waits != nil {
			waits <- a
		} else if t != nil {
			t.told(a)
		}
	}
}

// call calls a method of the browser, or of a tab, that must succeed.
func (b *browser) call(session, method string, params map[string]any) jsontext.Value {
	b.t.Helper()
	a := b.try(session, method, params)
	if a.Error != nil {
		b.t.Fatalf("%s: %s", method, a.Error.Message)
	}
	return a.Result
}

func (b *browser) try(session, method string, params map[string]any) answer {
	b.t.Helper()
	b.mu.Lock()
	b.last++
	id, got := b.last, make(chan answer, 1)
	b.answers[id] = got
	b.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		message["sessionId"] = session
	}
	data, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.ws.Write(b.t.Context(), websocket.MessageText, data); err != nil {
		b.t.Fatal(err)
	}
	select {
	case a := <-got:
		return a
	case <-time.After(patience):
		b.t.Fatalf("%s: no answer", method)
		return answer{}
	}
}

// open opens a page in a tab of its own.
func (b *browser) open(url string) *tab {
	b.t.Helper()
	var target struct {
		TargetID string `json:"targetId"`
	}
	var session struct {
		SessionID string `json:"sessionId"`
	}
	into(b.t, b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}), &target)
	into(b.t, b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}), &session)
	t := &tab{browser: b, session: session.SessionID}
	b.mu.Lock()
	b.tabs[t.session] = t
	b.mu.Unlock()
	for _, domain := range []string{"Runtime.enable", "Log.enable", "Page.enable"} {
		t.do(domain, nil)
	}
	t.do("Page.navigate", map[string]any{"url": url})
	return t
}

func into(t testing.TB, data jsontext.Value, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// told notes what the browser finds wrong with the page.
func (t *tab) told(a answer) {
	var p struct {
		Type  string `json:"type"`
		Entry struct {
			Source, Level, Text, URL string
		} `json:"entry"`
		ExceptionDetails jsontext.Value `json:"exceptionDetails"`
	}
	_ = json.Unmarshal(a.Params, &p, json.MatchCaseInsensitiveNames(true)) // some are of another shape
	problem := ""
	switch {
	case a.Method == "Log.entryAdded" && p.Entry.Level != "verbose" && p.Entry.Level != "info":
		problem = p.Entry.Source + ": " + p.Entry.Text + " " + p.Entry.URL
	case a.Method == "Runtime.exceptionThrown":
		problem = "exception: " + string(p.ExceptionDetails)
	case a.Method == "Runtime.consoleAPICalled":
		problem = "console." + p.Type + ": " + string(a.Params)
	default:
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, problem)
}

// wrong is what was wrong since it was asked last.
func (t *tab) wrong() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.problems
	t.problems = nil
	return all
}

func (t *tab) do(method string, params map[string]any) jsontext.Value {
	t.t.Helper()
	return t.call(t.session, method, params)
}

// eval is the value of an expression in the page, as a string; "" when the page goes away
// meanwhile, to another one.
func (t *tab) eval(script string) string {
	t.t.Helper()
	var r struct {
		Result struct {
			Value jsontext.Value `json:"value"`
		} `json:"result"`
		ExceptionDetails jsontext.Value `json:"exceptionDetails"`
	}
	a := t.try(t.session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true})
	if a.Error != nil && (strings.Contains(a.Error.Message, "context") || strings.Contains(a.Error.Message, "navigated")) {
		return ""
	}
	if a.Error != nil {
		t.t.Fatalf("%s: %s", script, a.Error.Message)
	}
	into(t.t, a.Result, &r)
	if r.ExceptionDetails != nil {
		t.t.Fatalf("%s: %s", script, r.ExceptionDetails)
	}
	var s string
	if json.Unmarshal(r.Result.Value, &s) != nil {
		return string(r.Result.Value)
	}
	return s
}

// click clicks on what a selector finds, where it is.
func (t *tab) click(selector string) {
	t.t.Helper()
	at := strings.Fields(t.eval(fmt.Sprintf("(() => { const r = document.querySelector(%q).getBoundingClientRect(); return (r.x + r.width / 2) + ' ' + (r.y + r.height / 2); })()", selector)))
	x, _ := strconv.ParseFloat(at[0], 64)
	y, _ := strconv.ParseFloat(at[1], 64)
	for _, what := range []string{"mousePressed", "mouseReleased"} {
		t.do("Input.dispatchMouseEvent", map[string]any{"type": what, "x": x, "y": y, "button": "left", "clickCount": 1})
	}
}

// press presses keys, one after the other: those of a text, "\r" for Enter.
func (t *tab) press(text string) {
	t.t.Helper()
	for _, r := range text {
		key := map[string]any{"type": "keyDown", "text": string(r), "key": string(r)}
		if r == '\r' {
			key["key"], key["code"], key["windowsVirtualKeyCode"] = "Enter", "Enter", 13
		}
		t.do("Input.dispatchKeyEvent", key)
		t.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key["key"]})
	}
}
