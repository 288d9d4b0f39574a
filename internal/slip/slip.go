// Package slip says which word was meant by a misspelt one, for "did you mean".
//
// Test with go test ./internal/slip.
package slip

import "strings"

// longest is the most bytes of a word that somebody meant to type; it bounds the work.
const longest = 64

// Distance is Levenshtein's, in bytes; 64 when a word is longer than 64 bytes.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// most is how many letters a slip gets wrong; more, and it is another word.
const most = 2

// Nearest is the known word that got is a slip of, the first of those that are as near;
// empty when none is. Case, - and _ make no difference, and a short word is not near to
// one that has no letter of it.
func Nearest(got string, known []string) string {
	best, least := "", most+1
	for _, k := range known {
		if d := Distance(bare(got), bare(k)); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// bare makes state_dir, statedir and stateDir the same.
func bare(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}
