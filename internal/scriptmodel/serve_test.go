package scriptmodel

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ListenAndServe says where it is and what agents need, then each request, and
// ends with its context.
func TestListenAndServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- ListenAndServe(ctx, "127.0.0.1:0", in) }()
	lines := bufio.NewScanner(out)
	url, ok := "", false
	for lines.Scan() && lines.Text() != "# opencode" {
		if at, found := strings.CutPrefix(lines.Text(), "scripted model at "); found {
			url, ok = at, true
		}
	}
	if !ok {
		t.Fatal("no URL was printed")
	}
	printed := make(chan string, 64)
	go func() {
		for lines.Scan() {
			printed <- lines.Text()
		}
	}()
	resp, err := http.Get(url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, _, err := post(t.Context(), url, "SCRIPT: text a ;; text b", true); err != nil {
		t.Fatal(err)
	}
	want := []string{"GET /v1/models: models 200", `POST /v1/chat/completions: script 200, step 1 of "text a ;; text b"`}
	for line := range printed {
		if line == want[0] {
			if want = want[1:]; len(want) == 0 {
				break
			}
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("ListenAndServe: %v", err)
	}
}

func TestListenAndServeFails(t *testing.T) {
	if err := ListenAndServe(t.Context(), "127.0.0.1:no", io.Discard); err == nil {
		t.Error("an address without a port number was listened on")
	}
	out, in := io.Pipe()
	out.Close()
	if err := ListenAndServe(t.Context(), "127.0.0.1:0", in); err == nil {
		t.Error("writing to a closed pipe was no error")
	}
}

// What is printed can be pasted into a shell with an empty home, and takes no settings
// of somebody's place.
func TestDescribePasted(t *testing.T) {
	var out strings.Builder
	if err := describe(&out, "http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell to paste into: ", err)
	}
	_, script, _ := strings.Cut(out.String(), "\n\n# ")
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), sh, "-eu", "-c", "# "+script)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		t.Fatalf("the shell: %v\n%s", err, said)
	}
	for _, s := range Setups("http://127.0.0.1:1", "/path/to/project") {
		for path, want := range s.Files {
			found, err := filepath.Glob(filepath.Join(home, "scripted.*", path))
			if err != nil || len(found) != 1 {
				t.Errorf("%s: %s lies in %q, %v, want one home of its own", s.Agent, path, found, err)
				continue
			}
			if got, err := os.ReadFile(found[0]); err != nil || string(got) != want {
				t.Errorf("%s: %s = %q, %v, want %q", s.Agent, path, got, err, want)
			}
		}
	}
}

func TestSetups(t *testing.T) {
	const base = "http://127.0.0.1:1"
	for _, s := range Setups(base, "/project") {
		text := strings.Join(s.Env, "\n")
		for _, f := range s.Files {
			text += f
		}
		if !strings.Contains(text, base) {
			t.Errorf("%s is not told the URL", s.Agent)
		}
		if strings.Count(text, "://") != strings.Count(text, base) {
			t.Errorf("%s is told another URL: %s", s.Agent, text)
		}
		if got, ok := SetupFor(s.Agent, base, "/project"); !ok || !slices.Equal(got.Env, s.Env) {
			t.Errorf("SetupFor(%q) = %+v, %v", s.Agent, got, ok)
		}
	}
	if _, ok := SetupFor("hal", base, "/project"); ok {
		t.Error("SetupFor knows hal")
	}
}
