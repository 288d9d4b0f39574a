package claude

import (
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
	"github.com/agenthost/agenthost/internal/unidiff"
)

// fileDiffs are the changes that a call made, as far as the CLI tells: of the
// edit tools it tells hunks or the whole text; changes that a shell command made
// are not told. text is what the tool answered.
func fileDiffs(c *call, details rawjson.Value, text string) []contract.FileDiff {
	if details.Get("staged").True() {
		return nil // held back for review: the file is unchanged
	}
	switch c.native {
	case "Write":
		if details.Get("type").Text() == "create" {
			return created(details.Get("filePath").Text(), details.Get("content").Text())
		}
		if !details.Given() && strings.HasPrefix(text, "File created successfully") {
			// The CLI tells no details of what a sub-agent's tools did.
			return created(c.input.Get("file_path").Text(), c.input.Get("content").Text())
		}
		return patched(details)
	case "Edit", "MultiEdit":
		return patched(details)
	case "NotebookEdit":
		return compared(details.Get("notebook_path").Text(), details.Get("original_file"), details.Get("updated_file"))
	}
	return nil
}

func created(path, content string) []contract.FileDiff {
	if path == "" {
		return nil
	}
	f := unidiff.Diff("", path, "", content)
	return []contract.FileDiff{{Path: path, Status: contract.ChangeAdded, Patch: f.Patch, Additions: f.Additions}}
}

// compared diffs two whole texts, when both are told.
func compared(path string, before, after rawjson.Value) []contract.FileDiff {
	if path == "" || before.Kind() != rawjson.String || after.Kind() != rawjson.String {
		return nil
	}
	f := unidiff.Diff(path, path, before.Text(), after.Text())
	if f.Patch == "" {
		return nil
	}
	return []contract.FileDiff{{
		Path: path, Status: contract.ChangeModified, Patch: f.Patch, Additions: f.Additions, Deletions: f.Deletions,
	}}
}

// patched makes a unified diff of structuredPatch: hunks with the lines as they
// stand in a diff.
func patched(details rawjson.Value) []contract.FileDiff {
	path := details.Get("filePath").Text()
	if path == "" {
		return nil
	}
	d := contract.FileDiff{Path: path, Status: contract.ChangeModified}
	var b strings.Builder
	for h := range details.Get("structuredPatch").Elements() {
		writeHunk(&b, &d, h)
	}
	if b.Len() == 0 {
		return replaced(path, details)
	}
	d.Patch = unidiff.Header(path, path) + b.String()
	return []contract.FileDiff{d}
}

// replaced diffs an edit that came without hunks.
func replaced(path string, details rawjson.Value) []contract.FileDiff {
	before, after := details.Get("originalFile"), details.Get("content")
	if old := details.Get("oldString").Text(); old != "" && before.Kind() == rawjson.String {
		n := 1
		if details.Get("replaceAll").True() {
			n = -1
		}
		after = quote(strings.Replace(before.Text(), old, details.Get("newString").Text(), n))
	}
	return compared(path, before, after)
}

func writeHunk(b *strings.Builder, d *contract.FileDiff, h rawjson.Value) {
	b.WriteString("@@ -" + span(h.Get("oldStart"), h.Get("oldLines")) + " +" + span(h.Get("newStart"), h.Get("newLines")) + " @@\n")
	for l := range h.Get("lines").Elements() {
		line := l.Text()
		switch {
		case strings.HasPrefix(line, "+"):
			d.Additions++
		case strings.HasPrefix(line, "-"):
			d.Deletions++
		}
		b.WriteString(line + "\n")
	}
}

// span writes "start,count" as diff -u has it: the count 1 is left out.
func span(start, count rawjson.Value) string {
	s := strconv.FormatInt(integer(start), 10)
	if n := integer(count); n != 1 {
		s += "," + strconv.FormatInt(n, 10)
	}
	return s
}

func decimal(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }
