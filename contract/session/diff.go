package session

// FileDiff is the payload of a FileChange part: one file's unified diff. Patch
// is authoritative unified-diff text (design 0049 §4.1 rule 4) — renderers
// (GitHub, monaco-diff, terminal) all consume it directly; no hunk structs.
type FileDiff struct {
	Path      string       `json:"path"`
	OldPath   string       `json:"oldPath,omitempty"`
	Status    ChangeStatus `json:"status"`
	Patch     string       `json:"patch"`
	Additions int          `json:"additions,omitempty"`
	Deletions int          `json:"deletions,omitempty"`
}

// ChangeStatus classifies one file's change in a FileDiff.
type ChangeStatus string

// The values of ChangeStatus.
const (
	ChangeAdded    ChangeStatus = "added"
	ChangeModified ChangeStatus = "modified"
	ChangeDeleted  ChangeStatus = "deleted"
	ChangeRenamed  ChangeStatus = "renamed"
)
