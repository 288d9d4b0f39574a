package claude_test

import (
	"encoding/json/jsontext"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// TestDiff: what an edit changed, from what the CLI tells of it.
func TestDiff(t *testing.T) {
	const header = "--- /w/f.go\n+++ /w/f.go\n"
	for name, c := range map[string]struct {
		tool, input, details string
		status               contract.ChangeStatus
		patch                string
		plus, minus          int
	}{
		"created": {
			"Write", `{"file_path":"/w/f.go","content":"a\nb\n"}`,
			`{"type":"create","filePath":"/w/f.go","content":"a\nb\n","structuredPatch":[]}`,
			contract.ChangeAdded, "--- /dev/null\n+++ /w/f.go\n@@ -0,0 +1,2 @@\n+a\n+b\n", 2, 0,
		},
		"created by a sub-agent": {
			"Write", `{"file_path":"/w/f.go","content":"a\n"}`, ``,
			contract.ChangeAdded, "--- /dev/null\n+++ /w/f.go\n@@ -0,0 +1 @@\n+a\n", 1, 0,
		},
		"overwritten": {
			"Write", `{"file_path":"/w/f.go","content":"b\n"}`,
			`{"type":"update","filePath":"/w/f.go","content":"b\n","originalFile":"a\n","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}]}`,
			contract.ChangeModified, header + "@@ -1 +1 @@\n-a\n+b\n", 1, 1,
		},
		"edited": {
			"Edit", `{"file_path":"/w/f.go","old_string":"b","new_string":"c"}`,
			`{"filePath":"/w/f.go","structuredPatch":[{"oldStart":3,"oldLines":3,"newStart":3,"newLines":4,"lines":[" a","-b","+c","+d"," e","\\ No newline at end of file"]}]}`,
			contract.ChangeModified, header + "@@ -3,3 +3,4 @@\n a\n-b\n+c\n+d\n e\n\\ No newline at end of file\n", 2, 1,
		},
		"no hunks": {
			"Edit", `{"file_path":"/w/f.go","old_string":"b","new_string":"c"}`,
			`{"filePath":"/w/f.go","oldString":"b","newString":"c","originalFile":"b\nb\n","replaceAll":false,"structuredPatch":[]}`,
			contract.ChangeModified, header + "@@ -1,2 +1,2 @@\n-b\n+c\n b\n", 1, 1,
		},
		"no hunks, all": {
			"Edit", `{"file_path":"/w/f.go","old_string":"b","new_string":"c","replace_all":true}`,
			`{"filePath":"/w/f.go","oldString":"b","newString":"c","originalFile":"b\nb\n","replaceAll":true}`,
			contract.ChangeModified, header + "@@ -1,2 +1,2 @@\n-b\n-b\n+c\n+c\n", 2, 2,
		},
		"notebook": {
			"NotebookEdit", `{"notebook_path":"/w/f.go","new_source":"x"}`,
			`{"notebook_path":"/w/f.go","original_file":"{}\n","updated_file":"{1}\n"}`,
			contract.ChangeModified, header + "@@ -1 +1 @@\n-{}\n+{1}\n", 1, 1,
		},
		"unchanged":     {"Edit", `{"file_path":"/w/f.go"}`, `{"filePath":"/w/f.go","structuredPatch":[]}`, "", "", 0, 0},
		"held back":     {"Write", `{"file_path":"/w/f.go","content":"a"}`, `{"type":"create","filePath":"/w/f.go","content":"a","staged":true}`, "", "", 0, 0},
		"no path":       {"Edit", `{}`, `{"structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a"]}]}`, "", "", 0, 0},
		"another tool":  {"Bash", `{"command":"x"}`, `{"filePath":"/w/f.go","type":"create","content":"x"}`, "", "", 0, 0},
		"odd notebook":  {"NotebookEdit", `{}`, `{"notebook_path":"/w/f.go","original_file":1,"updated_file":"x"}`, "", "", 0, 0},
		"same notebook": {"NotebookEdit", `{}`, `{"notebook_path":"/w/f.go","original_file":"x","updated_file":"x"}`, "", "", 0, 0},
	} {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(uses("", "t1", c.tool, c.input))
		if c.details == "" {
			s.hear(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"File created successfully at: /w/f.go"}]}}`)
		} else {
			s.hear(returns("", "t1", c.details))
		}
		files := only[contract.ToolCallEnd](s)[0].Result.Files
		if c.patch == "" {
			if len(files) != 0 {
				t.Errorf("%s: files = %+v, want none", name, files)
			}
			continue
		}
		want := contract.FileDiff{Path: "/w/f.go", Status: c.status, Patch: c.patch, Additions: c.plus, Deletions: c.minus}
		if len(files) != 1 || !reflect.DeepEqual(files[0], want) {
			t.Errorf("%s: files = %+v\nwant %+v", name, files, want)
		}
	}
}

// TestOutput: what a tool answered, pictures by type and size.
func TestOutput(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"text":    {`"a\nb"`, `"a\nb"`},
		"blocks":  {`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, `"a\nb"`},
		"picture": {`[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAAAAAA"}}]`, `[{"type":"text","text":"a"},{"type":"image","mediaType":"image/png","size":6}]`},
		"link":    {`[{"type":"resource_link","uri":"x://y"}]`, `[{"type":"resource_link","uri":"x://y"}]`},
		"nothing": {`[]`, ``},
		"object":  {`{"a":1}`, `{"a":1}`},
	} {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(uses("", "t1", "mcp__a__b", `{}`))
		s.hearf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":%s}]}}`, c.content)
		if got := only[contract.ToolCallEnd](s)[0].Result.Output; string(got) != c.want {
			t.Errorf("%s: output %s, want %s", name, got, c.want)
		}
	}
}

// An error is told without its markup.
func TestToolError(t *testing.T) {
	for content, want := range map[string]string{
		`"<tool_use_error>File not read</tool_use_error>"`: "File not read",
		`"Exit code 1"`: "Exit code 1",
		`""`:            "the tool failed",
	} {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(uses("", "t1", "Bash", `{}`))
		s.hearf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":%s,"is_error":true}]}}`, content)
		if r := only[contract.ToolCallEnd](s)[0].Result; r.Status != contract.ToolError || r.Error != want {
			t.Errorf("%s: %+v, want the error %q", content, r, want)
		}
	}
}

// A picture of a megabyte is not copied into the stream.
func TestPictureNotInlined(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(uses("", "t1", "Read", `{"file_path":"/a.png"}`))
	data := strings.Repeat("QUJD", 1<<18)
	s.hearf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]}]},"tool_use_result":{"type":"image","file":{"base64":%q}}}`, data, data)
	want := jsontext.Value(fmt.Sprintf(`[{"type":"image","mediaType":"image/png","size":%d}]`, 3<<18))
	if got := only[contract.ToolCallEnd](s)[0].Result.Output; string(got) != string(want) {
		t.Errorf("output of %d bytes, want %s", len(got), want)
	}
}
