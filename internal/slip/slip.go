// Package slip measures how near two words are, for "did you mean". It decides
// nothing: what counts as near is the caller's.
//
// Test with go test ./internal/slip.
package slip

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
