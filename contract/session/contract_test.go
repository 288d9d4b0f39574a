package session_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// api is what a package exports: the printed declaration of each type, constant
// and function by name, and the words of each type's comment.
type api struct {
	types, consts, funcs, docs map[string]string
}

// extras are exported by the package and not in the document. There are none.
var extras = []string{}

// TestPackageIsTheDocument compares the package with the published document:
// names, order and types of fields, tags, values of constants, signatures and
// comments, in both directions.
func TestPackageIsTheDocument(t *testing.T) {
	want, got := fromDocument(t), fromPackage(t)
	compare(t, "type", got.types, want.types)
	compare(t, "constant", got.consts, want.consts)
	compare(t, "function", got.funcs, want.funcs)
	compare(t, "comment of", got.docs, want.docs)
}

func compare(t *testing.T, kind string, got, want map[string]string) {
	t.Helper()
	for name, decl := range want {
		if got[name] != decl {
			t.Errorf("%s %s = %s\nwant %s", kind, name, got[name], decl)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && !slices.Contains(extras, name) {
			t.Errorf("%s %s is not in the document", kind, name)
		}
	}
}

// TestCountsArePinned: a change of these numbers is a change of the contract.
func TestCountsArePinned(t *testing.T) {
	counts := map[string]int{}
	for _, decl := range fromPackage(t).consts {
		typ, _, _ := strings.Cut(decl, " ")
		counts[typ]++
	}
	want := map[string]int{
		"EventType": 10, "PartType": 5, "Capability": 7, "MessageType": 7, "Status": 6,
		"ToolStatus": 4, "ChangeStatus": 4, "Admission": 2, "InputKind": 2,
	}
	if !maps.Equal(counts, want) {
		t.Errorf("constants by type = %v, want %v", counts, want)
	}
}

// fromDocument reads testdata/session-contract.txt, a copy of the document: the
// code blocks below "Types", and the first paragraph after each type.
func fromDocument(t *testing.T) api {
	t.Helper()
	b, err := os.ReadFile("testdata/session-contract.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "\nTypes\n")
	if !ok {
		t.Fatal("the document has no section of types")
	}
	code := regexp.MustCompile(`(?ms)^type \w+ struct \{.*?^\}|^type \w+ string$|^const \(.*?^\)|^func \w+\(.*?$`)
	source := "package session\n" + strings.Join(code.FindAllString(text, -1), "\n")
	a := read(t, map[string][]byte{"session-contract.txt": []byte(source)})
	comment := regexp.MustCompile(`(?s)\ntype (\w+)(?: string| struct \{.*?\n\})\n\n(.*?)\n\n`)
	for _, m := range comment.FindAllStringSubmatch(text+"\n\n", -1) {
		a.docs[m[1]] = words(m[2])
	}
	// The document's own index says how many there are.
	types := strings.Count(string(b), "\n• type ")
	if types == 0 || len(a.types) != types || len(a.docs) != types {
		t.Fatalf("read %d types and %d comments: want the %d of the index", len(a.types), len(a.docs), types)
	}
	if funcs := strings.Count(string(b), "\n  • func "); funcs == 0 || len(a.funcs) != funcs {
		t.Fatalf("read %d functions: want the %d of the index", len(a.funcs), funcs)
	}
	return a
}

func fromPackage(t *testing.T) api {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			if files[name], err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	return read(t, files)
}

func read(t *testing.T, files map[string][]byte) api {
	t.Helper()
	a := api{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}}
	fset := token.NewFileSet()
	for name, source := range files {
		f, err := parser.ParseFile(fset, name, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil || decl.Name.IsExported() {
					a.funcs[decl.Name.Name] = show(t, decl.Type)
				}
			case *ast.GenDecl:
				a.declaration(t, decl)
			}
		}
	}
	return a
}

func (a api) declaration(t *testing.T, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			a.types[spec.Name.Name] = show(t, spec.Type)
			if decl.Doc != nil {
				a.docs[spec.Name.Name] = words(decl.Doc.Text())
			}
		case *ast.ValueSpec:
			for i, name := range spec.Names {
				a.consts[name.Name] = show(t, spec.Type) + " " + show(t, spec.Values[i])
			}
		}
	}
}

// show prints a declaration without comments and with single spaces.
func show(t *testing.T, node any) string {
	t.Helper()
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), node); err != nil {
		t.Fatal(err)
	}
	return words(b.String())
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }
