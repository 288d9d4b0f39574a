package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/wire"
)

// TestSpawn: a session is started once for an id, its prompt sent once.
func TestSpawn(t *testing.T) {
	w := newWorld(t, nil)
	p := wire.SpawnParams{ID: cuid2.Generate(), Agent: "fake", Dir: w.work, Title: "mine", Prompt: &wire.SendParams{Text: "hello"}}
	for range 2 {
		s := must[wire.SessionResult](w, wire.SessionSpawn, p).Session
		if s.ID != p.ID || s.Agent != "fake" || s.Title != "mine" || s.Dir != w.work || s.Version == 0 {
			t.Errorf("spawn = %+v", s)
		}
	}
	s := w.until(p.ID, idle)
	equal(t, w.words(p.ID), "user:hello", "turn-start", "agent:hello", "turn-end:completed")
	if s.Native != "native-"+p.ID || s.State != wire.StateRunning || s.Usage == nil || s.Usage.InputTokens != 10 || s.End != 4 {
		t.Errorf("the metadata are %+v", s)
	}
	if !slices.Contains(s.Capabilities, session.CapSteer) || s.Missing[session.CapStash] != "fakes have no stash" {
		t.Errorf("capabilities %v, missing %v", s.Capabilities, s.Missing)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.children) != 1 {
		t.Errorf("%d agents were started, want 1", len(w.children))
	}
}

// TestSpawnRefused: what cannot start is told, and leaves nothing half begun.
func TestSpawnRefused(t *testing.T) {
	w := newWorld(t, nil)
	remote := wire.Caller{Scope: wire.ScopeAdmin, ClientType: contract.ClientPhone}
	for name, tc := range map[string]struct {
		p      wire.SpawnParams
		caller wire.Caller
		code   wire.Code
	}{
		"no agent":       {wire.SpawnParams{Dir: w.work}, here, wire.CodeInvalid},
		"unknown agent":  {wire.SpawnParams{Agent: "nobody", Dir: w.work}, here, wire.CodeNotFound},
		"relative dir":   {wire.SpawnParams{Agent: "fake", Dir: "work"}, here, wire.CodeInvalid},
		"missing dir":    {wire.SpawnParams{Agent: "fake", Dir: filepath.Join(w.work, "none")}, here, wire.CodeInvalid},
		"bad id":         {wire.SpawnParams{ID: "../x", Agent: "fake", Dir: w.work}, here, wire.CodeInvalid},
		"another host":   {wire.SpawnParams{Host: "h", Agent: "fake", Dir: w.work}, here, wire.CodeNotFound},
		"resume, fork":   {wire.SpawnParams{Agent: "fake", Dir: w.work, Resume: "a", Fork: "b"}, here, wire.CodeInvalid},
		"bypass remote":  {wire.SpawnParams{Agent: "fake", Dir: w.work, Mode: "bypassPermissions"}, remote, wire.CodeForbidden},
		"bypass, no opt": {wire.SpawnParams{Agent: "fake", Dir: w.work, Mode: "bypassPermissions"}, here, wire.CodeForbidden},
		"viewer":         {wire.SpawnParams{Agent: "fake", Dir: w.work}, wire.Caller{Scope: wire.ScopeView}, wire.CodeForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := do[wire.SessionResult](w, tc.caller, wire.SessionSpawn, tc.p)
			w.code(err, tc.code)
		})
	}
	if all, _ := w.Sessions(t.Context(), wire.SessionsParams{}); len(all) != 0 {
		t.Errorf("sessions are left: %+v", all)
	}
	_, err := do[any](w, here, "session.dance", nil)
	w.code(err, wire.CodeUnknownMethod)
	_, err = do[any](w, here, wire.SessionsList, nil)
	w.code(err, wire.CodeUnknownMethod)
}

// TestFailed: a session whose agent does not start, or does not open, stays and says
// why.
func TestFailed(t *testing.T) {
	w := newWorld(t, nil)
	p := wire.SpawnParams{ID: cuid2.Generate(), Agent: "fake", Dir: w.work, SystemPrompt: "do not start"}
	_, err := do[wire.SessionResult](w, here, wire.SessionSpawn, p)
	w.code(err, wire.CodeInvalid)
	s, err := w.Session(t.Context(), p.ID)
	if err != nil || s.State != wire.StateFailed || s.Error == nil || !strings.Contains(s.Error.Message, "does not want") {
		t.Errorf("the session is %+v, %v; want it failed", s, err)
	}
	p = wire.SpawnParams{ID: cuid2.Generate(), Agent: "fake", Dir: w.work, SystemPrompt: "refuse to open"}
	_, _ = do[wire.SessionResult](w, here, wire.SessionSpawn, p)
	s = w.until(p.ID, func(s wire.Session) bool { return s.State == wire.StateFailed })
	if s.Error == nil || s.Error.Code != contract.CodeAuthRequired {
		t.Errorf("the error is %+v, want that a login is needed", s.Error)
	}
}

// TestGoOn: a stopped session goes on with the next message, with its native
// session and its configuration, in the same stream.
func TestGoOn(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	w.until(s.ID, idle)
	must[wire.SessionResult](w, wire.SessionConfigure, wire.ConfigureParams{Session: s.ID, Model: "big", PermissionMode: contract.ModePlan})
	stopped := must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID}).Session
	if stopped.State != wire.StateStopped {
		t.Errorf("the state after a stop is %s", stopped.State)
	}
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID}) // again: nothing
	sent := w.send(s.ID, "two")
	again, err := do[wire.SentResult](w, here, wire.SessionSend, wire.SendParams{Session: s.ID, ID: sent.ID, Text: "two"})
	if err != nil || again != sent {
		t.Errorf("the message sent again gave %+v, %v; want %+v", again, err, sent)
	}
	w.until(s.ID, func(s wire.Session) bool { return s.Usage != nil && s.Usage.InputTokens == 20 })
	equal(t, w.words(s.ID), "user:one", "turn-start", "agent:one", "turn-end:completed", "agent-configuration-changed",
		"user:two", "turn-start", "agent:two", "turn-end:completed")
	w.mu.Lock()
	defer w.mu.Unlock()
	if want := []string{"/bin/fake", "resume=native-" + s.ID, "mode=plan", "model=big"}; !slices.Equal(w.argv[1], want) {
		t.Errorf("the agent was started again as %q, want %q", w.argv[1], want)
	}
	if w.med.Mode(s.ID) != contract.ModePlan {
		t.Errorf("the mode is %s, want that in which it was stopped", w.med.Mode(s.ID))
	}
}

// TestDead: an agent that dies ends its turn, and is there again for the next one.
func TestDead(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("die")
	w.until(s.ID, func(s wire.Session) bool { return s.State == wire.StateStopped && s.Status == session.StatusError })
	must[wire.SessionResult](w, wire.SessionResume, wire.SessionRef{Session: s.ID})
	w.until(s.ID, func(s wire.Session) bool { return s.State == wire.StateRunning })
	w.send(s.ID, "again")
	w.until(s.ID, idle)
	if got := w.words(s.ID); got[len(got)-1] != "turn-end:completed" {
		t.Errorf("the stream is %q", got)
	}
}

// crash copies a state directory as it is: what a machine that stops leaves.
func (w *world) crash() *world {
	w.t.Helper()
	for try := 0; ; try++ {
		c := &world{t: w.t, state: filepath.Join(w.t.TempDir(), "state"), work: w.work}
		err := os.CopyFS(c.state, os.DirFS(w.state))
		if err == nil {
			return c
		}
		if !errors.Is(err, fs.ErrNotExist) || try == 10 { // a file had just got its name
			w.t.Fatal(err)
		}
	}
}

// TestCrash: what a crash left open is ended before anybody sees it, versions go on
// growing, and agents go on when that is wanted.
func TestCrash(t *testing.T) {
	w := newWorld(t, nil)
	hangs, asks, rests := w.start("hang"), w.start("ask c1"), w.start("one")
	w.until(hangs.ID, func(s wire.Session) bool { return s.End == 3 })
	before := w.until(asks.ID, func(s wire.Session) bool { return s.Asks == 1 })
	w.until(rests.ID, idle)
	w.send(hangs.ID, "waits")
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: rests.ID})

	c := w.crash()
	c.open(nil)
	defer c.close()
	equal(t, c.words(hangs.ID), "user:hang", "turn-start", "agent:hanging", "user:waits", "turn-end:failed", "service:host-stopped")
	if got := c.words(asks.ID); !slices.Contains(got, "answer:reject-once") || got[len(got)-1] != "turn-end:failed" {
		t.Errorf("the stream with an open ask is %q", got)
	}
	after, err := c.Session(t.Context(), asks.ID)
	if err != nil || after.State != wire.StateStopped || after.Asks != 0 || after.Status != session.StatusError || after.Version <= before.Version {
		t.Errorf("the metadata are %+v, %v; they were %+v", after, err, before)
	}
	if len(c.argv) != 0 {
		t.Errorf("agents were started: %q", c.argv)
	}

	r := w.crash()
	r.open(func(cfg *Config) { cfg.Resume = true })
	defer r.close()
	for _, id := range []string{hangs.ID, asks.ID} {
		r.until(id, func(s wire.Session) bool { return s.State == wire.StateRunning })
	}
	r.until(hangs.ID, idle) // what waited is done
	if got := r.words(hangs.ID); !slices.Contains(got, "agent:waits") {
		t.Errorf("the prompt that waited is lost: %q", got)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.argv) != 2 {
		t.Errorf("%d agents were started, want the two that ran: %q", len(r.argv), r.argv)
	}
}

// TestStoppedHost: a host that is stopped in order starts the agents again that ran.
func TestStoppedHost(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	w.until(s.ID, idle)
	w.close()
	w.open(func(cfg *Config) { cfg.Resume = true })
	w.until(s.ID, func(s wire.Session) bool { return s.State == wire.StateRunning })
}

// TestConfigure: changes are made against a version, and take effect once.
func TestConfigure(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	s = w.until(s.ID, idle)
	p := wire.ConfigureParams{Session: s.ID, ID: cuid2.Generate(), Expect: s.Version, Model: "big"}
	for range 2 { // an answer that was lost
		got := must[wire.SessionResult](w, wire.SessionConfigure, p).Session
		if got.Config.Model != "big" || got.Version == s.Version {
			t.Errorf("configure gave %+v", got)
		}
	}
	_, err := do[wire.SessionResult](w, here, wire.SessionConfigure, wire.ConfigureParams{Session: s.ID, Expect: s.Version, Model: "small"})
	w.code(err, wire.CodeConflict)
	if data := wire.AsError(err).Data; !strings.Contains(string(data), `"big"`) {
		t.Errorf("the conflict comes with %s, want the metadata", data)
	}
	_, err = do[wire.SessionResult](w, here, wire.SessionConfigure, wire.ConfigureParams{Session: s.ID, Model: "no-such-model"})
	w.code(err, wire.CodeUnsupported)
	_, err = do[wire.SessionResult](w, here, wire.SessionConfigure, wire.ConfigureParams{Session: s.ID, PermissionMode: contract.ModeBypassPermissions})
	w.code(err, wire.CodeForbidden)
	_, err = do[wire.SessionResult](w, here, wire.SessionConfigure, wire.ConfigureParams{Session: s.ID})
	w.code(err, wire.CodeInvalid)
}

// TestUpdate: two who change the same version: one does, the other learns of it.
func TestUpdate(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	s = w.until(s.ID, idle)
	type outcome struct {
		res wire.SessionResult
		err error
	}
	got := make(chan outcome, 2)
	for _, title := range []string{"left", "right"} {
		go func() {
			res, err := do[wire.SessionResult](w, here, wire.SessionUpdate, wire.UpdateParams{Session: s.ID, Expect: s.Version, Title: &title})
			got <- outcome{res, err}
		}()
	}
	a, b := <-got, <-got
	if a.err != nil {
		a, b = b, a
	}
	if a.err != nil || a.res.Session.Title == "" {
		t.Errorf("nobody could change it: %v", a.err)
	}
	w.code(b.err, wire.CodeConflict)
	archived := true
	v := must[wire.SessionResult](w, wire.SessionUpdate, wire.UpdateParams{Session: s.ID, Expect: a.res.Session.Version, Archived: &archived}).Session
	if v.Status != session.StatusArchived || v.Title != a.res.Session.Title {
		t.Errorf("the metadata are %+v", v)
	}
	_, err := do[wire.SessionResult](w, here, wire.SessionUpdate, wire.UpdateParams{Session: s.ID, Archived: &archived})
	w.code(err, wire.CodeInvalid)
	w.close()
	w.open(nil)
	if again, _ := w.Session(t.Context(), s.ID); again.Title != v.Title || !again.Archived || again.Version <= v.Version-1 {
		t.Errorf("after a restart the metadata are %+v, they were %+v", again, v)
	}
}

// TestControl: one holds control, and the stream says since when, also of a session
// that does not run.
func TestControl(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	w.until(s.ID, idle)
	phone := wire.Caller{Scope: wire.ScopeControl, ClientType: contract.ClientPhone, TokenID: "p1"}
	take := func(c wire.Caller) *wire.Control {
		t.Helper()
		res, err := do[wire.SessionResult](w, c, wire.SessionControl, wire.ControlParams{Session: s.ID})
		if err != nil {
			t.Fatal(err)
		}
		return res.Session.Control
	}
	for range 2 {
		if c := take(phone); c == nil || c.ClientType != contract.ClientPhone || c.TokenID != "p1" || c.Since == 0 {
			t.Errorf("control is %+v, want the phone's", c)
		}
	}
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID})
	if c := take(at); c == nil || c.ClientType != contract.ClientCLI {
		t.Errorf("control is %+v, want the command line's", c)
	}
	equal(t, w.words(s.ID)[4:], "control:phone:p1", "control:cli:me")
	_, err := do[wire.SessionResult](w, here, wire.SessionControl, wire.ControlParams{Session: s.ID, ClientType: "robot"})
	w.code(err, wire.CodeInvalid)
	// Who spawns a session has it.
	res, err := do[wire.SessionResult](w, phone, wire.SessionSpawn, wire.SpawnParams{Agent: "fake", Dir: w.work})
	if err != nil || res.Session.Control == nil || res.Session.Control.TokenID != "p1" {
		t.Errorf("the new session is %+v, %v; want control with the phone", res.Session, err)
	}
	equal(t, w.words(res.Session.ID), "control:phone:p1")
}

// TestAbort: the turn ends; without one, or with nothing that runs, nothing happens.
func TestAbort(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("hang")
	w.until(s.ID, func(s wire.Session) bool { return s.End == 3 })
	must[wire.SentResult](w, wire.SessionAbort, wire.AbortParams{Session: s.ID})
	w.until(s.ID, func(s wire.Session) bool { return s.Status == session.StatusIdle })
	equal(t, w.words(s.ID), "user:hang", "turn-start", "agent:hanging", "abort", "turn-end:cancelled")
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID})
	must[wire.SentResult](w, wire.SessionAbort, wire.AbortParams{Session: s.ID})
	if got := w.words(s.ID); len(got) != 5 {
		t.Errorf("an abort of nothing wrote %q", got[5:])
	}
}

// TestSteer: a steer reaches the running turn.
func TestSteer(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("hang")
	w.until(s.ID, func(s wire.Session) bool { return s.End == 3 })
	must[wire.SentResult](w, wire.SessionSend, wire.SendParams{Session: s.ID, Text: "left", Admission: wire.AdmitSteer})
	w.until(s.ID, idle)
	equal(t, w.words(s.ID), "user:hang", "turn-start", "agent:hanging", "user:left", "agent:steered left", "turn-end:completed")
	_, err := do[wire.SentResult](w, here, wire.SessionSend, wire.SendParams{Session: s.ID, Text: "x", Admission: "push"})
	w.code(err, wire.CodeInvalid)
	_, err = do[wire.SentResult](w, here, wire.SessionSend, wire.SendParams{Session: s.ID, Text: " "})
	w.code(err, wire.CodeInvalid)
}

// TestRemove: a session goes with its files, once; who asks again is told the same.
func TestRemove(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("hang")
	for range 2 {
		must[removed](w, wire.SessionRemove, wire.SessionRef{Session: s.ID})
	}
	if _, err := os.Stat(host.SessionDir(w.state, s.ID)); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
	_, err := do[wire.SentResult](w, here, wire.SessionSend, wire.SendParams{Session: s.ID, Text: "x"})
	w.code(err, wire.CodeNotFound)
}

// TestLimit: no more agents than the limit run at once.
func TestLimit(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.Sessions = 1 })
	s := w.start("one")
	w.until(s.ID, idle)
	_, err := do[wire.SessionResult](w, here, wire.SessionSpawn, wire.SpawnParams{Agent: "fake", Dir: w.work})
	w.code(err, wire.CodeBusy)
	must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID})
	other := w.start("two")
	w.until(other.ID, idle)
	_, err = do[wire.SentResult](w, here, wire.SessionSend, wire.SendParams{Session: s.ID, Text: "x"})
	w.code(err, wire.CodeBusy)
}

// TestFind: how a session is named.
func TestFind(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.Session(t.Context(), "last")
	w.code(err, wire.CodeNotFound)
	a := must[wire.SessionResult](w, wire.SessionSpawn, wire.SpawnParams{ID: "aaaa" + cuid2.Generate()[:20], Agent: "fake", Dir: w.work}).Session
	b := must[wire.SessionResult](w, wire.SessionSpawn, wire.SpawnParams{ID: "aaab" + cuid2.Generate()[:20], Agent: "fake", Dir: w.work}).Session
	w.until(b.ID, func(s wire.Session) bool { return s.Native != "" })
	w.send(b.ID, "hi")
	w.until(b.ID, idle)
	for ref, want := range map[string]string{a.ID: a.ID, a.ID[:4]: a.ID, "last": b.ID, "native-" + b.ID: b.ID} {
		if s, err := w.Session(t.Context(), ref); err != nil || s.ID != want {
			t.Errorf("Session(%q) = %s, %v; want %s", ref, s.ID, err, want)
		}
	}
	for ref, code := range map[string]wire.Code{"": wire.CodeInvalid, "aaa": wire.CodeNotFound, "zzzz": wire.CodeNotFound} {
		_, err := w.Session(t.Context(), ref)
		w.code(err, code)
	}
	must[wire.SessionResult](w, wire.SessionSpawn, wire.SpawnParams{ID: a.ID[:4] + cuid2.Generate()[:20], Agent: "fake", Dir: w.work})
	_, err = w.Session(t.Context(), a.ID[:4])
	w.code(err, wire.CodeAmbiguous)
}

// TestForeign: a session that another process runs is shown and followed, and left
// alone.
func TestForeign(t *testing.T) {
	w := newWorld(t, nil)
	p, err := w.prepare(t.Context(), Request{Spawn: wire.SpawnParams{Agent: "fake", Dir: w.work}})
	if err != nil {
		t.Fatal(err)
	}
	p.Host.StateDir = w.state
	run, err := host.Start(t.Context(), p.Host)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := w.Session(t.Context(), run.ID())
	if err != nil || s.State != wire.StateRunning {
		t.Fatalf("the session is %+v, %v; want it running", s, err)
	}
	_, err = do[wire.SentResult](w, here, wire.SessionSend, wire.SendParams{Session: run.ID(), Text: "x"})
	w.code(err, wire.CodeBusy)
	_, err = do[removed](w, here, wire.SessionRemove, wire.SessionRef{Session: run.ID()})
	w.code(err, wire.CodeBusy)

	r := w.read(run.ID(), 0)
	in := host.Input{Envelope: contract.Envelope{Event: contract.Text{Text: "theirs"}}}
	if err := run.Submit(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	r.want("user:theirs", "turn-start", "agent:theirs", "turn-end:completed")
	if err := run.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.send(run.ID(), "ours")
	r.want("user:ours", "turn-start", "agent:ours", "turn-end:completed")
}

// TestClose: every turn is ended and every agent gone, and nothing is taken any more.
func TestClose(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("hang")
	w.until(s.ID, func(s wire.Session) bool { return s.End == 3 })
	w.close()
	equal(t, w.words(s.ID), "user:hang", "turn-start", "agent:hanging", "turn-end:cancelled")
	// The host is away, not the session over: who waits for a host tries again.
	_, err := do[wire.SessionResult](w, here, wire.SessionSpawn, wire.SpawnParams{Agent: "fake", Dir: w.work})
	w.code(err, wire.CodeHostOffline)
	_, err = do[wire.SentResult](w, here, wire.SessionSend, wire.SendParams{Session: s.ID, Text: "late"})
	w.code(err, wire.CodeHostOffline)
}

// TestKill: a close that may take no time kills.
func TestKill(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("hang")
	w.until(s.ID, func(s wire.Session) bool { return s.End == 3 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for _, c := range w.children {
		if c.mu.Lock(); !c.gone {
			t.Error("an agent is left")
		}
		c.mu.Unlock()
	}
	if got := w.words(s.ID); !strings.HasPrefix(got[len(got)-1], "turn-end:") {
		t.Errorf("the stream has no end: %q", got)
	}
}

// TestFork: the branch is a session of its own that knows where it comes from.
func TestFork(t *testing.T) {
	w := newWorld(t, nil)
	s := w.start("one")
	w.until(s.ID, idle)
	f := must[wire.SessionResult](w, wire.SessionSpawn, wire.SpawnParams{Agent: "fake", Dir: w.work, Fork: s.ID}).Session
	if f.Parent != s.ID || f.ID == s.ID {
		t.Errorf("the fork is %+v", f)
	}
	_, err := do[wire.OpResult](w, here, wire.SessionOp, wire.OpParams{Session: s.ID, Name: adapters.OpFork})
	w.code(err, wire.CodeUnsupported) // the fake has no fork of a running session
	_, err = do[wire.OpResult](w, here, wire.SessionOp, wire.OpParams{Session: s.ID})
	w.code(err, wire.CodeInvalid)
}

// TestWatchSessions: the list, and then what changes in it.
func TestWatchSessions(t *testing.T) {
	w := newWorld(t, nil)
	a := w.start("one")
	w.until(a.ID, idle)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	all, pushes, err := w.WatchSessions(ctx, wire.SessionsParams{Dir: w.work})
	if err != nil || len(all) != 1 || all[0].ID != a.ID {
		t.Fatalf("WatchSessions = %+v, %v", all, err)
	}
	b := w.start("two")
	go func() {
		w.until(b.ID, idle)
		must[removed](w, wire.SessionRemove, wire.SessionRef{Session: a.ID})
	}()
	came := false
	for p := range pushes {
		if p.Session != nil && p.Session.ID == b.ID {
			came = true
		}
		if p.Removed == a.ID {
			break
		}
	}
	if !came || ctx.Err() != nil {
		t.Errorf("the new session came: %v; %v", came, ctx.Err())
	}
}
