package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	contracts "github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/relay/wire"
)

// world is a relay, a host that dials in, and a person somewhere else.
type world struct {
	t     *testing.T
	lab   *agentlab.Lab
	url   string // of the relay, http://
	admin string // file with the operator's token
	token string // file with the person's token
	host  *daemonProcess
	c     *client.Client
}

// daemonProcess is a program that runs until the test ends it.
type daemonProcess struct {
	cmd  *exec.Cmd
	errs *lockedBuffer
	done chan struct{}
}

// background starts a program of ours and returns the first line it prints.
func background(t *testing.T, lab *agentlab.Lab, program string, args ...string) (*daemonProcess, string) {
	t.Helper()
	p := &daemonProcess{errs: &lockedBuffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(filepath.Dir(binary(t)), program), args...)
	p.cmd.Env, p.cmd.Dir, p.cmd.Stderr = environ(lab), lab.Dir, p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	go func() {
		defer close(p.done)
		_, _ = io.Copy(io.Discard, r)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() { p.stop(t) })
	if err != nil {
		<-p.done
		t.Fatalf("%s %q said nothing: %v\n%s", program, args, err, p.errs)
	}
	return p, strings.TrimSpace(line)
}

// stop ends the program as a service manager does.
func (p *daemonProcess) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Errorf("it does not end:\n%s", p.errs)
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func newWorld(t *testing.T, lab *agentlab.Lab) *world {
	t.Helper()
	w := &world{t: t, lab: lab}
	data := filepath.Join(lab.Home, "relay")
	_, line := background(t, lab, "agenthost", "relay", "--listen", "127.0.0.1:0", "--data", data)
	w.url = strings.TrimPrefix(line, "relay at ")
	w.admin = filepath.Join(data, "operator.token")
	config := filepath.Join(lab.Home, ".config", "agenthost", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	var agents strings.Builder
	for _, a := range []string{"claude", "codex", "gemini"} {
		fmt.Fprintf(&agents, "  %s:\n    passEnv: ['AGENTLAB_*', 'SCRIPTMODEL_*']\n", a)
	}
	if err := os.WriteFile(config, []byte("agents:\n"+agents.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	hostToken := w.newToken("host")
	w.token = w.newToken("control")
	w.host, _ = background(t, lab, "agenthost", "serve", "--relay", strings.Replace(w.url, "http", "ws", 1), "--token-file", hostToken)
	secret, err := os.ReadFile(w.token)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w.c, err = client.Dial(ctx, strings.Replace(w.url, "http", "ws", 1), client.Options{Token: strings.TrimSpace(string(secret)), ClientType: contract.ClientPhone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.c.Close)
	deadline(t, "the host at the relay", func() bool {
		hosts, err := w.c.Hosts(ctx)
		return err == nil && len(hosts) == 1 && hosts[0].Online
	})
	return w
}

// newToken makes a token and puts it into a file.
func (w *world) newToken(scope string) string {
	w.t.Helper()
	path := filepath.Join(w.lab.Home, scope+".token")
	out := w.run("token", "create", "--relay", w.url, "--token-file", w.admin, "--tenant", "me", "--scope", scope)
	if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// run runs an agenthost command line that must succeed, and returns what it prints.
func (w *world) run(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.t.Fatalf("agenthost %q: %v\nthe host:\n%s", args, err, w.hostLog())
	}
	return out
}

func (w *world) hostLog() string {
	if w.host == nil {
		return ""
	}
	return w.host.errs.String()
}

func (w *world) try(args ...string) (string, error) {
	cmd := exec.Command(binary(w.t), args...)
	cmd.Env, cmd.Dir = environ(w.lab), w.lab.Dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, errs.String())
	}
	return strings.TrimSpace(string(out)), err
}

// remote runs a viewer's command through the relay.
func (w *world) remote(args ...string) string {
	w.t.Helper()
	return w.run(append(args, "--relay", w.url, "--token-file", w.token)...)
}

// post is curl for what is sent to a session: its path is that behind /v1/sessions/.
func (w *world) post(path, body string) (int, string) {
	w.t.Helper()
	return w.curl(http.MethodPost, "/"+path, body)
}

// sse reads the first n envelopes as server-sent events.
func (w *world) sse(id string, n int) []string {
	w.t.Helper()
	secret, err := os.ReadFile(w.token)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/v1/sessions/"+id+"/envelopes?from=0", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var lines []string
	for s := bufio.NewScanner(resp.Body); len(lines) < n && s.Scan(); {
		if data, ok := strings.CutPrefix(s.Text(), "data: "); ok && strings.HasPrefix(data, `{"id"`) {
			lines = append(lines, data)
		}
	}
	return lines
}

// watch follows a session through the relay, from its beginning, as a session of the
// tests.
func (w *world) watch(id string) *session {
	w.t.Helper()
	s := &session{t: w.t, lab: w.lab, errs: &lockedBuffer{}, done: make(chan struct{})}
	s.grown = sync.NewCond(&s.mu)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(s.done)
		next := int64(0)
		for item, err := range w.c.Subscribe(ctx, client.Subscription{Session: id}) {
			if err != nil {
				if ctx.Err() == nil {
					w.t.Errorf("watching: %v", err)
				}
				break
			}
			if item.Envelope == nil {
				continue
			}
			if item.Next != next+1 {
				w.t.Errorf("position %d, want %d", item.Next-1, next)
			}
			next = item.Next
			s.take(bytes.Clone(item.Envelope))
		}
		s.mu.Lock()
		s.ended = true
		s.grown.Broadcast()
		s.mu.Unlock()
	}()
	w.t.Cleanup(func() { cancel(); <-s.done })
	return s
}

// TestRelay: the agent's host on one side, a person on the other, a relay between.
func TestRelay(t *testing.T) {
	for _, agent := range []string{"claude", "codex", "gemini"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel() // it is waiting for agents most of the time
			lab := agentlab.New(t)
			if agent == "codex" {
				codexMayAsk(t, lab)
			}
			w := newWorld(t, lab)
			flags := wire.SpawnParams{Agent: agent, Dir: w.lab.Dir, Title: "from afar"}
			if agent == "codex" {
				flags.Model = codexModels()[0]
			}
			var spawned wire.SessionResult
			w.do("POST", "", flags, &spawned)
			made := spawned.Session
			s := w.watch(made.ID)
			w.decisions(s, made.ID)
			w.abort(s, made.ID)
			w.switchMode(s, made.ID, agent)
			if agent == "gemini" {
				w.refuses(made.ID)
			} else {
				w.steer(s, made.ID)
				w.question(s, made.ID, agent, "Blue", func(q contract.PermissionRequest) { w.remote("answer", made.ID, "Blue", "--call", q.Call) })
				w.rewindAndFork(s, made.ID)
			}
			w.overHTTP(s, made.ID, agent)
			w.goOn(s, made.ID)
			w.same(s, made.ID)
		})
	}
}

// touch is a prompt whose tool needs a permission.
func touch(file, text string) string { return script("shell touch "+file, "text "+text) }

func ask(s *session) contract.PermissionRequest {
	s.t.Helper()
	p, _ := wait[contract.PermissionRequest](s, nil)
	return p
}

// decisions are given by a command and over HTTP, and a second one is told who was
// first.
func (w *world) decisions(s *session, id string) {
	w.t.Helper()
	w.remote("send", id, touch("one.txt", "first done"))
	call := ask(s).Call
	w.remote("approve", id, call)
	if status, body := w.post(id+"/permissions/"+call, `{"decision":"reject-once"}`); status != http.StatusConflict || !strings.Contains(body, `"resolved"`) {
		w.t.Errorf("a second decision: %d %s, want 409 resolved", status, body)
	}
	w.completed(s)
	if _, err := os.Stat(filepath.Join(w.lab.Dir, "one.txt")); err != nil {
		w.t.Errorf("what was allowed was not done: %v", err)
	}
	if status, body := w.post(id+"/messages", mustJSON(w.t, map[string]string{"text": touch("two.txt", "second done")})); status/100 != 2 {
		w.t.Fatalf("a message over HTTP: %d %s", status, body)
	}
	call = ask(s).Call
	if status, body := w.post(id+"/permissions/"+call, `{"decision":"reject-once"}`); status/100 != 2 {
		w.t.Fatalf("a decision over HTTP: %d %s", status, body)
	}
	r, _ := wait[contract.PermissionResponse](s, nil)
	if r.Decision != contract.RejectOnce || r.By == nil || r.By.Resolver != contract.ByClient || r.By.TokenID == "" {
		w.t.Errorf("the decision in the stream is %+v", r)
	}
	s.turnEnd()
	if _, err := os.Stat(filepath.Join(w.lab.Dir, "two.txt")); err == nil {
		w.t.Error("what was rejected was done")
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func (w *world) completed(s *session) {
	w.t.Helper()
	if end := s.turnEnd(); end.Status != contract.TurnCompleted {
		w.t.Errorf("the turn ended as %+v\nthe host:\n%s", end, w.hostLog())
	}
}

func (w *world) abort(s *session, id string) {
	w.t.Helper()
	w.remote("send", id, script("shell touch w.txt && sleep 300"))
	w.remote("approve", id, ask(s).Call)
	wait[contract.PermissionResponse](s, nil)
	w.remote("abort", id)
	if end := s.turnEnd(); end.Status != contract.TurnCancelled {
		w.t.Errorf("the aborted turn ended as %+v", end)
	}
	deadline(w.t, "the aborted command is gone", func() bool { return !runs(w.t, w.lab, "300") })
}

func (w *world) switchMode(s *session, id, agent string) {
	w.t.Helper()
	w.remote("mode", id, "acceptEdits")
	c, _ := wait(s, func(c contract.AgentConfigurationChanged) bool { return c.PermissionMode != "" })
	if c.PermissionMode != contract.ModeAcceptEdits {
		w.t.Errorf("the mode is %s", c.PermissionMode)
	}
	if got := w.remote("mode", id); got != "acceptEdits" {
		w.t.Errorf("agenthost mode says %q", got)
	}
	w.remote("mode", id, "default")
	if _, err := w.try("mode", id, "bypassPermissions", "--relay", w.url, "--token-file", w.token); err == nil || !strings.Contains(err.Error(), "bypassPermissions") {
		w.t.Errorf("bypassPermissions from afar: %v, want it refused by name", err)
	}
	model := map[string]string{"claude": "claude-haiku-4-5", "codex": codexModels()[1]}[agent]
	if model == "" {
		return
	}
	w.remote("model", id, model)
	changed, _ := wait(s, func(c contract.AgentConfigurationChanged) bool { return c.Model != "" })
	if changed.Model != model {
		w.t.Errorf("the model is %q, want %q", changed.Model, model)
	}
}

func (w *world) steer(s *session, id string) {
	w.t.Helper()
	w.remote("send", id, script("shell touch v.txt && sleep 3", "text steered turn done"))
	w.remote("approve", id, ask(s).Call)
	wait[contract.PermissionResponse](s, nil)
	w.remote("steer", id, "and mind the tests")
	s.next("steer", func(e contract.Envelope) bool {
		ev, ok := e.Event.(contract.Text)
		return ok && e.Role == contract.RoleUser && ev.Steer
	})
	w.completed(s)
}

// refuses: what an agent cannot do is refused at once, with the reason.
func (w *world) refuses(id string) {
	w.t.Helper()
	got, err := w.c.Session(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range []contracts.Capability{contracts.CapSteer, contracts.CapRewind, contracts.CapFork} {
		if got.Missing[c] == "" {
			w.t.Errorf("nobody is told why the agent has no %s", c)
		}
	}
	for c, args := range map[contracts.Capability][]string{contracts.CapRewind: {"rewind", id, "x"}, contracts.CapFork: {"fork", id}} {
		out, err := w.try(append(args, "--relay", w.url, "--token-file", w.token)...)
		if err == nil || !strings.Contains(err.Error(), got.Missing[c]) {
			w.t.Errorf("agenthost %q: %s, %v, want it refused with the reason %q", args, out, err, got.Missing[c])
		}
	}
}

// question has the agent ask a person, who answers as give does.
func (w *world) question(s *session, id, agent, answer string, give func(q contract.PermissionRequest)) {
	w.t.Helper()
	line, heard := claudeQuestion, `Which colour?\"=\"`+answer
	if agent == "codex" {
		line, heard = codexQuestion, `\"colour\":{\"answers\":[\"`+answer+`\"]}`
	}
	w.remote("send", id, script(line, "text answered"))
	q := ask(s)
	if q.Question == nil || len(q.Question.Questions) != 1 {
		w.t.Fatalf("the question is %+v", q)
	}
	give(q)
	w.completed(s)
	if !modelHeard(w.lab, heard) {
		w.t.Errorf("the answer %s did not reach the model", answer)
	}
}

// rewindAndFork goes back to before a message, and branches off.
func (w *world) rewindAndFork(s *session, id string) {
	w.t.Helper()
	w.remote("send", id, script("text the answer that stays"))
	w.completed(s)
	sent := w.remote("send", id, script("text the answer that goes"))
	w.completed(s)
	w.remote("rewind", id, sent)
	w.remote("send", id, script("text after the rewind"))
	w.completed(s)
	heard := lastHeard(w.lab)
	if strings.Contains(heard, "the answer that goes") || !strings.Contains(heard, "the answer that stays") {
		w.t.Errorf("after the rewind the model hears:\n%.2000s", heard)
	}
	branch := w.remote("fork", id)
	if branch == id || branch == "" {
		w.t.Fatalf("the fork is session %q", branch)
	}
	f := w.watch(branch)
	w.remote("send", branch, script("text in the branch"))
	w.completed(f)
	if heard := lastHeard(w.lab); !strings.Contains(heard, "the answer that stays") {
		w.t.Errorf("the branch does not know what was before:\n%.2000s", heard)
	}
}

// goOn stops the agent, kills the host, and goes on.
func (w *world) goOn(s *session, id string) {
	w.t.Helper()
	w.againOverHTTP(s, id)
	w.remote("stop", id)
	deadline(w.t, "the session being stopped", func() bool {
		got, err := w.c.Session(w.t.Context(), id)
		return err == nil && got.State == wire.StateStopped
	})
	w.remote("send", id, script("text here again"))
	w.completed(s)
	// kill -9 in the middle of a turn.
	w.remote("send", id, script("shell touch w.txt && sleep 300"))
	w.remote("approve", id, ask(s).Call)
	wait[contract.PermissionResponse](s, nil)
	_ = w.host.cmd.Process.Kill()
	<-w.host.done
	_, err := w.c.Abort(w.t.Context(), wire.AbortParams{Session: id})
	if code := client.Code(err); code != wire.CodeHostOffline && code != wire.CodeUnknown && code != wire.CodeTimeout {
		w.t.Errorf("a command to a host that was killed: %v", err)
	}
	// It comes again with another token: the host was the old one's, until it is released.
	hosts, err := w.c.Hosts(w.t.Context())
	if err != nil || len(hosts) != 1 {
		w.t.Fatalf("the hosts are %+v, %v", hosts, err)
	}
	w.run("token", "release", hosts[0].ID, "--relay", w.url, "--token-file", w.admin, "--tenant", "me")
	w.host, _ = background(w.t, w.lab, "agenthost", "serve", "--relay", strings.Replace(w.url, "http", "ws", 1), "--token-file", w.newToken("host"))
	if end := s.turnEnd(); end.Status != contract.TurnFailed {
		w.t.Errorf("the turn of the killed host ended as %+v", end)
	}
	deadline(w.t, "the host at the relay", func() bool {
		hosts, err := w.c.Hosts(w.t.Context())
		return err == nil && len(hosts) == 1 && hosts[0].Online
	})
	w.remote("send", id, script("text back from the dead"))
	w.completed(s)
}

// same: what came through the relay, over WebSocket and as server-sent events, is what
// the host's journal has, byte for byte.
func (w *world) same(s *session, id string) {
	w.t.Helper()
	local := strings.Split(w.run("logs", id, "--output", "envelopes"), "\n")
	deadline(w.t, "the last envelopes", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.lines) >= len(local)
	})
	sse := w.sse(id, len(local))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(sse) < len(local) {
		w.t.Fatalf("%d server-sent events, want %d", len(sse), len(local))
	}
	for i, line := range local {
		if got := string(s.lines[i]); got != line || sse[i] != line {
			w.t.Fatalf("envelope %d\nrelay %s\nSSE   %s\nhost  %s", i, got, sse[i], line)
		}
	}
	s.validate("extended", s.lines)
	s.validate("strict", s.strict())
	var list []jsontext.Value
	if err := json.Unmarshal([]byte(w.remote("ls", "--json")), &list); err != nil || len(list) == 0 {
		w.t.Errorf("agenthost ls: %d sessions, %v", len(list), err)
	}
}
