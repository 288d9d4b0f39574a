package present

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// The limits of session protocol v2's two summaries, in graphemes, as fixed in
// the contract ("cut at 120 and 1,000 characters on a grapheme border").
const (
	TitleLimit       = 120
	DescriptionLimit = 1000
)

// bytesPerGrapheme bounds the bytes of a cut text: the longest graphemes in real
// use (flags of regions, families) have 28 bytes, but combining marks can be
// piled up without end. Text that hits the bound is cut there.
const bytesPerGrapheme = 32

// ellipsis marks a cut; it counts as one grapheme.
const ellipsis = "…"

// Cut returns s with at most n graphemes, the last of them an ellipsis when
// something was cut off. A text of n graphemes or fewer is returned as it is,
// unless it is longer than 32·n bytes. n below 1 gives "".
func Cut(s string, n int) string {
	if n < 1 {
		return ""
	}
	if len(s) <= n { // n bytes hold at most n graphemes: the common case, without segmentation
		return s
	}
	end, count, state, rest := 0, 0, -1, s
	kept := 0 // end of the first n-1 graphemes, where the ellipsis goes
	for len(rest) > 0 {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if count == n || end+len(cluster) > n*bytesPerGrapheme {
			return strings.TrimRight(s[:kept], " \n") + ellipsis
		}
		count++
		end += len(cluster)
		if count < n && end+len(ellipsis) <= n*bytesPerGrapheme {
			kept = end
		}
	}
	return s
}

// CutBytes returns the longest prefix of s that has at most n bytes and ends at
// a code point's border, and whether something was cut off. It is for outputs,
// where graphemes would cost too much.
func CutBytes(s string, n int) (string, bool) {
	n = max(n, 0)
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}
