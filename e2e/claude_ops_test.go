package e2e

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// lastHeard is the newest request that the model was sent.
func lastHeard(lab *agentlab.Lab) string {
	all := lab.Model.Played()
	return string(all[len(all)-1].Body)
}

// knows checks what the agent remembers of a session, by its newest request.
func knows(t *testing.T, lab *agentlab.Lab, facts map[string]bool) {
	t.Helper()
	body := lastHeard(lab)
	for text, want := range facts {
		if got := strings.Contains(body, text); got != want {
			t.Errorf("the model heard %q: %v, want %v", text, got, want)
		}
	}
}

func fileIs(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s = %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

// A conversation and its files go back, and on from there; so does one that is
// branched off, beside it.
func TestClaudeRewind(t *testing.T) {
	lab := agentlab.New(t)
	made := filepath.Join(lab.Dir, "made.txt")
	s := hosted(t, lab, host.Config{Adapter: claude.New(), Options: adapters.Options{Mode: "acceptEdits"}})
	s.prompt(script("text The first answer."))
	s.says("The first answer.")
	s.prompt(script("write made.txt one", "text It says one."))
	s.says("It says one.")
	s.prompt(script("read made.txt", "edit made.txt one two", "text It says two."))
	s.says("It says two.")
	s.send(contract.AgentConfigurationChanged{Model: "sonnet"})
	s.send(contract.AgentConfigurationChanged{ThinkingLevel: "high"})
	two := s.envelope(contract.RoleUser, "It says two.")

	claudeOperations(s)
	// A look changes nothing.
	look := s.op("rewind", fmt.Sprintf(`{"to":%q,"what":"both","dryRun":true}`, two))
	if v := field(t, look, "files", "canRewind"); v != "true" {
		t.Errorf("the dry run said %s", look)
	}
	fileIs(t, made, "two")

	back := s.op("rewind", fmt.Sprintf(`{"to":%q,"what":"both"}`, two))
	if field(t, back, "conversation") != "true" || !strings.Contains(field(t, back, "files", "filesChanged"), "made.txt") {
		t.Errorf("rewind = %s", back)
	}
	fileIs(t, made, "one")
	notice, _ := wait(s, func(ev contract.Service) bool { return strings.Contains(ev.Text, "rewound") })
	if !strings.Contains(notice.Text, "made.txt") {
		t.Errorf("told %q", notice.Text)
	}
	s.prompt(script("text After it."))
	end := s.says("After it.")
	if end.Model != "claude-sonnet-5-5" {
		t.Errorf("the turn ran on %q", end.Model)
	}
	knows(t, lab, map[string]bool{"It says one.": true, "It says two.": false, `"effort":"high"`: true})

	// Once more, from the branch that the rewind made.
	s.op("rewind", fmt.Sprintf(`{"to":%q}`, s.envelope(contract.RoleUser, "After it.")))
	s.prompt(script("text After that."))
	s.says("After that.")
	knows(t, lab, map[string]bool{"It says one.": true, "It says two.": false, "After it.": false})

	// What was rewound away is no point any more; before the first message is none.
	for to, want := range map[string]string{two: "rewound", s.envelope(contract.RoleUser, "The first answer."): "before the first message"} {
		if _, err := s.tryOp("rewind", fmt.Sprintf(`{"to":%q}`, to)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("rewind to %s = %v, want %q", to, err, want)
		}
	}
	// The files alone, by a checkpoint of an earlier process.
	s.op("rewind", fmt.Sprintf(`{"to":%q,"what":"files"}`, s.envelope(contract.RoleUser, "It says one.")))
	if _, err := os.Stat(made); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made.txt: %v, want none", err)
	}

	// A fork at the first answer goes on beside its parent.
	result := s.op("fork", fmt.Sprintf(`{"at":%q}`, s.envelope(contract.RoleAgent, "The first answer.")))
	branch, err := host.ReadBranch(result)
	if err != nil {
		t.Fatal(err)
	}
	cfg := host.Config{Adapter: claude.New()}
	branch.Configure(&cfg)
	child := hosted(t, lab, cfg)
	child.prompt(script("text In the branch."))
	child.says("In the branch.")
	knows(t, lab, map[string]bool{"The first answer.": true, "It says one.": false})
	// Its own first message is behind what it shares with its parent.
	child.op("rewind", fmt.Sprintf(`{"to":%q}`, child.envelope(contract.RoleUser, "In the branch.")))
	child.prompt(script("text In the branch again."))
	child.says("In the branch again.")
	knows(t, lab, map[string]bool{"The first answer.": true, "In the branch.": false})
	meta, err := child.host.Meta(t.Context())
	if err != nil || meta.Parent != s.host.ID() || meta.Origin != branch.Origin || meta.Origin == "" || meta.ID == s.host.ID() {
		t.Errorf("the branch has %+v, %v", meta, err)
	}
	s.prompt(script("text The parent goes on."))
	s.says("The parent goes on.")
	knows(t, lab, map[string]bool{"After that.": true, "In the branch": false})

	// A rewind that no turn followed holds in the next run, also one of the binary.
	s.op("rewind", fmt.Sprintf(`{"to":%q}`, s.envelope(contract.RoleUser, "The parent goes on.")))
	child.stop()
	envs := s.stop()
	if starts, ends := len(events[contract.TurnStart](envs)), len(events[contract.TurnEnd](envs)); starts != ends || starts != 6 {
		t.Errorf("%d turn-starts and %d turn-ends, want 6 of each", starts, ends)
	}
	noneLeft(t, lab)
	run := start(t, lab, "claude", "--resume", s.host.ID())
	run.prompt(script("text In the next run."))
	run.says("In the next run.")
	knows(t, lab, map[string]bool{"After that.": true, "The parent goes on.": false})
	run.finished(0)
}

// claudeOperations asks the CLI whatever it can be asked about a session.
func claudeOperations(s *session) {
	s.t.Helper()
	s.op("rename", `{"title":"About two"}`)
	for name, want := range map[string]string{
		"context": "", "models": "sonnet", "usage": "", "cost": "", "settings": "", "permissions": "", "hooks": "", "version": "2.", "mcp": "",
		"files": "suggestions", "background": "",
	} {
		params := `{}`
		if name == "files" {
			params = `{"query":"made"}`
		}
		if got, err := s.tryOp(name, params); err != nil || !strings.Contains(string(got), want) {
			s.t.Errorf("%s = %.300s, %v; want %q in it", name, got, err, want)
		}
	}
	if _, err := s.tryOp("stash", `{}`); err == nil {
		s.t.Error("there is no stash, and no error")
	}
}

// field is a member of a result.
func field(t *testing.T, v jsontext.Value, path ...string) string {
	t.Helper()
	for _, name := range path {
		var m map[string]jsontext.Value
		if err := json.Unmarshal(v, &m); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		v = m[name]
	}
	return string(v)
}
