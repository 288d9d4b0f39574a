package claude

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// TestCodesDocumented: every error code that the adapter can give is in its page's
// table of causes and in the list of all codes.
func TestCodesDocumented(t *testing.T) {
	values := codeValues(t)
	used := map[string]bool{}
	for status := range 600 {
		if code, ok := contract.CodeOfStatus(status); ok {
			used[string(code)] = true
		}
	}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		ast.Inspect(parse(t, path), func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !strings.HasPrefix(sel.Sel.Name, "Code") || sel.Sel.Name == "CodeOfStatus" {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "contract" {
				used[values[sel.Sel.Name]] = true
			}
			return true
		})
	}
	if len(used) < 15 || used[""] {
		t.Fatalf("%d codes found, one unknown: %v", len(used), used[""])
	}
	causes, all := codesIn(t, "../../docs/protocol/claude.md", "| cause of a failure |", 1), codesIn(t, "../../docs/protocol.md", "| code |", 0)
	for code := range used {
		if !slices.Contains(causes, code) {
			t.Errorf("%s is not in the table of causes of docs/protocol/claude.md", code)
		}
		if !slices.Contains(all, code) {
			t.Errorf("%s is not in the list of docs/protocol.md", code)
		}
	}
	for _, code := range causes {
		if !used[code] {
			t.Errorf("docs/protocol/claude.md has %q, which the adapter never gives", code)
		}
	}
}

// TestCodesListed: docs/protocol.md has every code of the contract, and no other.
func TestCodesListed(t *testing.T) {
	listed := codesIn(t, "../../docs/protocol.md", "| code |", 0)
	for _, code := range codeValues(t) {
		if !slices.Contains(listed, code) {
			t.Errorf("docs/protocol.md lacks the code %s", code)
		}
	}
	if len(listed) != len(codeValues(t)) {
		t.Errorf("%d codes listed, want each of %d once", len(listed), len(codeValues(t)))
	}
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// codeValues are the contract's codes by their Go names.
func codeValues(t *testing.T) map[string]string {
	t.Helper()
	values := map[string]string{}
	ast.Inspect(parse(t, "../../contract/codes.go"), func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			values[v.Names[0].Name] = s
		}
		return true
	})
	return values
}

// codesIn are the codes in one column of the table that begins with head.
func codesIn(t *testing.T, path, head string, column int) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), "\n"+head)
	if !found {
		t.Fatalf("%s has no table %q", path, head)
	}
	known := slices.Collect(maps.Values(codeValues(t)))
	var codes []string
	for line := range strings.SplitSeq(rest, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case line == "":
			return codes
		case column < len(cells):
			for _, word := range regexp.MustCompile(`[a-z]+(-[a-z]+)*`).FindAllString(cells[column], -1) {
				if slices.Contains(known, word) {
					codes = append(codes, word)
				}
			}
		}
	}
	return codes
}
