package acp

import (
	"path"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
	"github.com/agenthost/agenthost/internal/unidiff"
)

// files are the changes a completed call made, from the best source the agent
// gives: a patch with the right line numbers, else whole texts, else the snippets
// that were replaced, else what it asked permission for.
func (p *Protocol) files(c *call) []contract.FileDiff {
	for _, source := range []func(*call) []contract.FileDiff{
		p.responseFiles, p.patchFiles, p.diffFiles, p.writtenFiles, p.askedFiles,
	} {
		if list := source(c); len(list) > 0 {
			return list
		}
	}
	return nil
}

// relative is a path as the contract has it: with slashes, relative to the
// session's directory when it is inside.
func (p *Protocol) relative(name string) string {
	name = strings.TrimPrefix(name, "file://")
	dir := strings.TrimSuffix(p.info.Dir, "/")
	if path.IsAbs(name) {
		name = path.Clean(name)
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok && dir != "" {
			return rest
		}
		return name
	}
	if name == "" {
		return ""
	}
	return path.Clean(name)
}

// fileDiff makes the contract's form of a file's change.
func fileDiff(f unidiff.File) contract.FileDiff {
	d := contract.FileDiff{
		Path: f.NewPath, Status: contract.ChangeModified, Patch: f.Patch, Additions: f.Additions, Deletions: f.Deletions,
	}
	switch {
	case f.OldPath == "":
		d.Status = contract.ChangeAdded
	case f.NewPath == "":
		d.Path, d.Status = f.OldPath, contract.ChangeDeleted
	case f.OldPath != f.NewPath:
		d.OldPath, d.Status = f.OldPath, contract.ChangeRenamed
	}
	return d
}

// responseFiles reads Claude's own result of Edit and Write: hunks with the line
// numbers of the file.
func (p *Protocol) responseFiles(c *call) []contract.FileDiff {
	r := c.response
	name := p.relative(r.Get("filePath").Text())
	if name == "" {
		return nil
	}
	if r.Get("type").Text() == "create" {
		return []contract.FileDiff{fileDiff(unidiff.Diff("", name, "", r.Get("content").Text()))}
	}
	var b strings.Builder
	for h := range r.Get("structuredPatch").Elements() {
		writeHunk(&b, h)
	}
	if b.Len() == 0 {
		return nil
	}
	return p.patched(unidiff.Header(name, name)+b.String(), name)
}

func writeHunk(b *strings.Builder, h rawjson.Value) {
	b.WriteString("@@ -" + string(h.Get("oldStart")) + "," + string(h.Get("oldLines")) +
		" +" + string(h.Get("newStart")) + "," + string(h.Get("newLines")) + " @@\n")
	for l := range h.Get("lines").Elements() {
		b.WriteString(l.Text() + "\n")
	}
}

// patchFiles reads a unified diff that came with the output.
func (p *Protocol) patchFiles(c *call) []contract.FileDiff {
	o := c.output
	added := o.Get("metadata", "exists").Kind() == rawjson.Bool && !o.Get("metadata", "exists").True()
	for _, v := range []rawjson.Value{o.Get("metadata", "diff"), o.Get("metadata", "filediff", "patch"), o.Get("diff")} {
		if list := p.patched(v.Text(), ""); len(list) > 0 {
			if added && len(list) == 1 {
				list[0].Status = contract.ChangeAdded
			}
			return list
		}
	}
	return nil
}

// patched reads a patch in any dialect. A name replaces those in the patch.
func (p *Protocol) patched(patch, name string) []contract.FileDiff {
	var list []contract.FileDiff
	for _, f := range unidiff.Read(patch) {
		from, to := p.relative(f.OldPath), p.relative(f.NewPath)
		if name != "" {
			from, to = name, name
		}
		if from != "" && from == to && strings.Contains(f.Patch, "\n@@ -0,0 ") {
			from = "" // a file that had no line was, in practice, not there
		}
		_, hunks, _ := strings.Cut(f.Patch, "\n@@")
		f.Patch = unidiff.Header(from, to) + "@@" + hunks
		f.OldPath, f.NewPath = from, to
		list = append(list, fileDiff(f))
	}
	return list
}

// diffFiles compares the texts of the diffs in the content.
func (p *Protocol) diffFiles(c *call) []contract.FileDiff { return p.contentFiles(c, c.diffs) }

func (p *Protocol) contentFiles(c *call, list rawjson.Value) []contract.FileDiff {
	var out []contract.FileDiff
	for b := range list.Elements() {
		if b.Get("type").Text() != "diff" {
			continue
		}
		native := b.Get("path").Text()
		f := p.contentDiff(b, native)
		if f.Patch == "" {
			continue
		}
		if line := c.lines[native]; line > 1 && snippet(b) {
			f.Patch = unidiff.Shift(f.Patch, int(line)-1)
		}
		d := fileDiff(f)
		if i := slices.IndexFunc(out, func(x contract.FileDiff) bool { return x.Path == d.Path }); i >= 0 {
			// Several snippets of one file: one change with several hunks.
			_, hunks, _ := strings.Cut(d.Patch, "\n@@")
			out[i].Patch += "@@" + hunks
			out[i].Additions += d.Additions
			out[i].Deletions += d.Deletions
			continue
		}
		out = append(out, d)
	}
	return out
}

// contentDiff compares the two texts of a diff block. An empty old text means a
// new file: agents that mean null send "".
func (p *Protocol) contentDiff(b rawjson.Value, native string) unidiff.File {
	name := p.relative(native)
	oldText, newText := b.Get("oldText"), b.Get("newText")
	from, to := name, name
	if !oldText.Given() || oldText.Empty() && !newText.Empty() {
		from = ""
	}
	kind := b.Get("_meta", "kind").Text()
	if kind == "delete" || !newText.Given() {
		to = ""
	}
	if from == "" && to == "" {
		from = name
	}
	if moved := p.relative(b.Get("_meta", "movePath").Text()); moved != "" && to != "" {
		to = moved
	}
	return unidiff.Diff(from, to, oldText.Text(), newText.Text())
}

// snippet tells a replaced piece from a whole file, which ends with a line end.
func snippet(b rawjson.Value) bool { return !strings.HasSuffix(b.Get("oldText").Text(), "\n") }

// writtenFiles knows that a file that did not exist has now the content of the
// call's input (opencode's write).
func (p *Protocol) writtenFiles(c *call) []contract.FileDiff {
	exists := c.output.Get("metadata", "exists")
	name := p.relative(c.output.Get("metadata", "filepath").Text())
	text := c.input.Get("content")
	if exists.Kind() != rawjson.Bool || exists.True() || name == "" || text.Kind() != rawjson.String {
		return nil
	}
	return []contract.FileDiff{fileDiff(unidiff.Diff("", name, "", text.Text()))}
}

// askedFiles is the change as the agent showed it when it asked for permission.
func (p *Protocol) askedFiles(c *call) []contract.FileDiff {
	if c.asked == nil || c.rejected {
		return nil
	}
	for _, v := range []rawjson.Value{c.asked.Get("rawInput", "diff"), c.asked.Get("rawInput", "patch")} {
		if list := p.patched(v.Text(), ""); len(list) > 0 {
			return list
		}
	}
	return p.contentFiles(c, c.asked.Get("content"))
}
