package adaptertest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Covered fails for each native type that a recording holds and the mapping
// tables of the documents lack. A type is in a table when the first cell of a row
// has it as a code span.
func Covered(t *testing.T, s Suite, docs ...string) {
	t.Helper()
	var texts []string
	for _, path := range docs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, fault := range uncovered(s, s.recordings(t), texts) {
		t.Errorf("%v lacks %s", docs, fault)
	}
}

// uncovered lists the types of the recordings that no table has.
func uncovered(s Suite, recs []recording, docs []string) []string {
	known := map[string]bool{}
	for _, text := range docs {
		for _, name := range tableTypes(text) {
			known[name] = true
		}
	}
	var out []string
	for _, rec := range recs {
		for i, r := range rec.Records {
			f, ok := r.Frame()
			if !ok {
				continue
			}
			for _, name := range s.Wire.Types(f) {
				if !known[name] {
					known[name] = true
					out = append(out, fmt.Sprintf("`%s` (%s, record %d)", name, rec.name, i))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// tableTypes are the code spans in the first cells of a document's tables.
func tableTypes(text string) []string {
	span := regexp.MustCompile("`([^`]+)`")
	var out []string
	for line := range strings.Lines(text) {
		row, isRow := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !isRow {
			continue
		}
		cell, _, _ := strings.Cut(row, "|")
		for _, m := range span.FindAllStringSubmatch(cell, -1) {
			out = append(out, m[1])
		}
	}
	return out
}
