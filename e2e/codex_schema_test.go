package e2e

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters/codex"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// variants is a part of a JSON schema that is one of several.
type variants struct {
	OneOf []struct {
		Properties map[string]jsontext.Value `json:"properties"`
	} `json:"oneOf"`
}

func (v variants) names(kind, member string) []string {
	var list []string
	for _, o := range v.OneOf {
		var values struct {
			Enum []string `json:"enum"`
		}
		if json.Unmarshal(o.Properties[member], &values) != nil {
			continue // "true" stands for any value
		}
		for _, name := range values.Enum {
			list = append(list, kind+" "+name)
		}
	}
	return list
}

// The list of what Codex can say that adapters/codex is tested against is what the
// installed Codex writes itself. A new version that says more is named here; the list
// and the mapping table are to be extended then.
func TestCodexSchema(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	argv := lab.Command("codex", "app-server", "generate-json-schema", "--experimental", "--out", filepath.Join(lab.Home, "schema"))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = lab.Env("codex"), lab.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got []string
	for file, kind := range map[string]string{"ServerNotification.json": "notification", "ServerRequest.json": "request"} {
		var v variants
		decodeFile(t, filepath.Join(lab.Home, "schema", file), &v)
		got = append(got, v.names(kind, "method")...)
	}
	var all struct {
		Definitions struct {
			ThreadItem variants
		} `json:"definitions"`
	}
	decodeFile(t, filepath.Join(lab.Home, "schema", "codex_app_server_protocol.v2.schemas.json"), &all)
	got = append(got, all.Definitions.ThreadItem.names("item", "type")...)
	slices.Sort(got)
	got = slices.Compact(got)

	root, err := agentlab.Root()
	if err != nil {
		t.Fatal(err)
	}
	tested := codex.New().Describe().Tested
	list, err := os.ReadFile(filepath.Join(root, "adapters", "codex", "testdata", "schema-"+tested[len(tested)-1]+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("Codex knows %s, which the list lacks", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("the list has %s, which Codex does not know", name)
		}
	}
	if len(got) < 100 {
		t.Errorf("the schema names %d things, want all of them", len(got))
	}
}

func decodeFile(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
}
