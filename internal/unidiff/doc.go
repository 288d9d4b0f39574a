// Package unidiff makes and reads unified diffs of text files.
//
// # Guarantees
//
//   - A patch of Diff applied to the old text gives the new one exactly, a missing
//     line end at the end of a file included; `git apply` and `patch` take it.
//   - Additions and Deletions count the + and - lines of the hunks.
//   - Read trusts the line counts of hunk headers, not the look of a line, so a
//     deleted line "-- x" is not taken for a header.
//   - Time and memory are bounded: of two texts that differ in more than
//     a thousand lines a stretch is shown as removed and added, which is correct
//     but not the shortest.
//
// # Non-goals
//
// Applying patches, binary patches, merges.
//
// # Testing
//
// go test ./internal/unidiff applies every diff again, by itself and, where it is
// installed, with git.
package unidiff
