package codex

import (
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
	"github.com/agenthost/agenthost/internal/unidiff"
)

// fileDiffs makes unified diffs of FileUpdateChange[]. The server's own "diff" is
// the whole text of a file that is added or deleted, and hunks without a header
// of one that is changed.
func fileDiffs(changes rawjson.Value) []contract.FileDiff {
	var list []contract.FileDiff
	for c := range changes.Elements() {
		if d, ok := fileDiff(c); ok {
			list = append(list, d)
		}
	}
	return list
}

func fileDiff(c rawjson.Value) (contract.FileDiff, bool) {
	path, text := c.Get("path").Text(), c.Get("diff").Text()
	if path == "" {
		return contract.FileDiff{}, false
	}
	switch c.Get("kind", "type").Text() {
	case "add":
		f := unidiff.Diff("", path, "", text)
		return contract.FileDiff{Path: path, Status: contract.ChangeAdded, Patch: f.Patch, Additions: f.Additions}, true
	case "delete":
		f := unidiff.Diff(path, "", text, "")
		return contract.FileDiff{Path: path, Status: contract.ChangeDeleted, Patch: f.Patch, Deletions: f.Deletions}, true
	}
	d := contract.FileDiff{Path: path, Status: contract.ChangeModified}
	if to := c.Get("kind", "move_path").Text(); to != "" {
		d.Path, d.OldPath, d.Status = to, path, contract.ChangeRenamed
		text = strings.TrimSuffix(text, "Moved to: "+to)
		text = strings.TrimSuffix(text, "\n\n")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if read := unidiff.Read(unidiff.Header(path, d.Path) + text); len(read) == 1 {
		d.Patch, d.Additions, d.Deletions = read[0].Patch, read[0].Additions, read[0].Deletions
	}
	return d, true
}
