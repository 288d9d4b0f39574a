package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/codex"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/internal/scriptmodel"
)

// Turns that nobody prompted for, and where a conversation goes on.

// codexConfig is a session of package host.
func codexConfig() host.Config {
	return host.Config{
		Adapter: codex.New(), Options: adapters.Options{Mode: "acceptEdits"},
		Env: []adapters.Pair{{Name: "SCRIPTMODEL_API_KEY", Value: scriptmodel.FakeKey}},
	}
}

// codexOpened is the native thread of a session, once it is open.
func (s *session) codexOpened() string {
	s.t.Helper()
	id := ""
	deadline(s.t, "the session is open", func() bool {
		m, err := s.host.Meta(s.t.Context())
		if err == nil {
			id = m.Facts.NativeSession
		}
		return id != ""
	})
	return id
}

// A goal makes Codex begin turns until it is reached; a message that another
// program queues is a turn with that message; a compaction and a review that were
// asked for are turns; and when the context is full, Codex compacts by itself.
func TestCodexOwnTurns(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := hosted(t, lab, codexConfig())
	s.prompt(script(`tool create_goal {"objective":"say three things"}`, "text One.", "text Two.", `tool update_goal {"status":"complete"}`, "text Three."))
	for _, want := range []string{"One.", "Two.", "Three."} {
		s.says(want)
	}

	s.op("compact", "{}")
	wait(s, func(ev contract.Service) bool { return ev.Kind == contract.ServiceCompaction })
	s.turnEnd()

	s.op("review", fmt.Sprintf(`{"target":{"type":"custom","instructions":%s}}`, appendQuoted(nil, script(`text "{\"findings\":[],\"overall_correctness\":\"patch is correct\",\"overall_explanation\":\"All fine.\",\"overall_confidence_score\":1}"`))))
	wait(s, func(ev contract.Service) bool { return strings.Contains(ev.Text, "review is over") })
	wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "All fine.") })
	if end := s.turnEnd(); end.Status != contract.TurnCompleted {
		t.Errorf("the review ended %+v", end)
	}
	s.op("review", fmt.Sprintf(`{"target":{"type":"custom","instructions":%s}}`, appendQuoted(nil, script("hang"))))
	wait[contract.TurnStart](s, nil)
	s.send(contract.Abort{})
	if end := s.turnEnd(); end.Status != contract.TurnCancelled {
		t.Errorf("the stopped review ended %+v", end)
	}

	s.op("queue-add", fmt.Sprintf(`{"input":[{"type":"text","text":%s,"text_elements":[]}],"clientUserMessageId":"foreign-1"}`, appendQuoted(nil, script("text From the queue."))))
	s.op("queue-start", "{}") // a turn that was stopped holds it
	s.says("From the queue.")
	if s.envelope(contract.RoleUser, "From the queue.") == "" {
		t.Error("the queued message is not there")
	}

	s.prompt(script("usage 9000000 10 ++ text Full."))
	s.says("Full.")
	s.prompt(script("text Room again."))
	wait(s, func(ev contract.Service) bool { return ev.Kind == contract.ServiceCompaction })
	s.says("Room again.")
	envs := s.stop()
	noneLeft(t, lab)
	starts, ends := len(events[contract.TurnStart](envs)), len(events[contract.TurnEnd](envs))
	if starts != ends || starts != 9 {
		t.Errorf("%d turn-starts and %d turn-ends, want 9 of each:\n%s", starts, ends, render(envs))
	}
}

// A message that another process of Codex queues is taken up as a turn of its own.
func TestCodexQueuedElsewhere(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := hosted(t, lab, codexConfig())
	s.prompt(script("text Ready."))
	s.says("Ready.")
	argv := lab.Command("codex", "queue", "--thread", s.codexOpened(), "--message", script("text From outside."))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = lab.Env("codex"), lab.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("codex queue: %v\n%s", err, out)
	}
	_, said := wait(s, func(ev contract.Text) bool { return ev.Text == "From outside." })
	if said.Turn == "" {
		t.Error("the answer is in no turn")
	}
	s.turnEnd()
	envs := s.stop()
	users := 0
	for _, e := range envs {
		if _, ok := e.Event.(contract.Text); ok && e.Role == contract.RoleUser {
			users++
		}
	}
	if users != 2 {
		t.Errorf("%d texts of users, want the queued one as well:\n%s", users, render(envs))
	}
	noneLeft(t, lab)
}

// A conversation goes back to before a message, files stay; one is branched off at an
// answer, beside it; and what was rewound is gone in the next run as well.
func TestCodexRewind(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := hosted(t, lab, codexConfig())
	s.prompt(script("text The first answer."))
	s.says("The first answer.")
	s.prompt(script("write made.txt one", "text The second answer."))
	s.says("The second answer.")
	diff := field(t, s.op("diff", "{}"), "diff")
	if !strings.Contains(diff, "+one") || !strings.Contains(diff, "made.txt") {
		t.Errorf("diff = %s", diff)
	}
	s.prompt(script("text The third answer."))
	s.says("The third answer.")
	second := s.envelope(contract.RoleUser, "The second answer.")

	look := s.op("rewind", fmt.Sprintf(`{"to":%q,"dryRun":true}`, second))
	if field(t, look, "conversation") != "true" {
		t.Errorf("the dry run said %s", look)
	}
	back := s.op("rewind", fmt.Sprintf(`{"to":%q}`, second))
	if field(t, back, "conversation") != "true" || field(t, back, "files") != "false" {
		t.Errorf("rewind = %s", back)
	}
	notice, _ := wait(s, func(ev contract.Service) bool { return strings.Contains(ev.Text, "rewound") })
	if !strings.Contains(notice.Text, "files stay") {
		t.Errorf("told %q", notice.Text)
	}
	fileIs(t, filepath.Join(lab.Dir, "made.txt"), "one\n")
	s.prompt(script("text After the rewind."))
	s.says("After the rewind.")
	knows(t, lab, map[string]bool{"The first answer.": true, "The second answer.": false, "The third answer.": false})
	if _, err := s.tryOp("rewind", fmt.Sprintf(`{"to":%q,"what":"files"}`, s.envelope(contract.RoleUser, "After the rewind."))); err == nil {
		t.Error("files were rewound")
	}

	result := s.op("fork", fmt.Sprintf(`{"at":%q}`, s.envelope(contract.RoleAgent, "The first answer.")))
	branch, err := host.ReadBranch(result)
	if err != nil {
		t.Fatal(err)
	}
	cfg := codexConfig()
	branch.Configure(&cfg)
	child := hosted(t, lab, cfg)
	child.prompt(script("text In the branch."))
	child.says("In the branch.")
	knows(t, lab, map[string]bool{"The first answer.": true, "After the rewind.": false})
	child.stop()

	// Behind an answer, by its envelope; and nothing of it comes back.
	s.op("rewind", fmt.Sprintf(`{"at":%q}`, s.envelope(contract.RoleAgent, "The first answer.")))
	s.stop()
	noneLeft(t, lab)
	run := start(t, lab, "codex", codexFlags("--resume", s.host.ID())...)
	run.prompt(script("text In the next run."))
	run.says("In the next run.")
	knows(t, lab, map[string]bool{"The first answer.": true, "After the rewind.": false, "In the branch.": false})
	run.finished(0)
}

// A steer is in the stream once, in the turn that took it up, in both tool protocols.
func TestCodexSteerTaken(t *testing.T) {
	for _, model := range codexModels() {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			lab := agentlab.New(t)
			s := start(t, lab, "codex", codexFlags("--model", model, "--allow", "bash(*)")...)
			s.prompt(script("shell touch started; until [ -e go ]; do sleep 0.1; done", "text After the command.", "text After the steer."))
			waitForFile(t, filepath.Join(lab.Dir, "started"))
			s.send(contract.Text{Text: "please hurry", Steer: true})
			steer := s.next("steer", func(e contract.Envelope) bool {
				ev, ok := e.Event.(contract.Text)
				return ok && e.Role == contract.RoleUser && ev.Steer && ev.Text == "please hurry"
			})
			if err := os.WriteFile(filepath.Join(lab.Dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if end := s.turnEnd(); end.Status != contract.TurnCompleted {
				t.Errorf("turn-end = %+v", end)
			}
			envs := s.finished(0)
			n := 0
			for _, e := range envs {
				if ev, ok := e.Event.(contract.Text); ok && ev.Text == "please hurry" {
					n++
				}
			}
			if starts := events[contract.TurnStart](envs); n != 1 || len(starts) != 1 || steer.Turn == "" {
				t.Errorf("the steer is there %d times, of turn %q, in %d turns", n, steer.Turn, len(starts))
			}
			if !modelHeard(lab, "please hurry") {
				t.Error("the model did not get the steer")
			}
			if slices.ContainsFunc(events[contract.Service](envs), func(ev contract.Service) bool { return ev.Kind == contract.ServiceError }) {
				t.Errorf("an error was told:\n%s", render(envs))
			}
		})
	}
}
