// Package gosource reads what the text of a Go package says and reflection cannot: its
// comments and constants, for those who generate schemas of its types.
//
// Test with go test ./internal/gosource ./contract/schema/... ./relay/...
package gosource

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Source is what a package's text says and reflection cannot.
type Source struct {
	// Docs are the comments of types ("Usage") and fields ("Usage.Cost"), each in one
	// line. A field without one above it has the one behind it.
	Docs map[string]string
	// Enums are the constants of each string type, in their order.
	Enums map[string][]any
}

// Read reads the package in dir, without its tests.
func Read(dir string) (Source, error) {
	s := Source{Docs: map[string]string{}, Enums: map[string][]any{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return s, err
		}
		for _, decl := range f.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok {
				if err := s.read(decl); err != nil {
					return s, err
				}
			}
		}
	}
	return s, nil
}

func (s Source) read(decl *ast.GenDecl) error {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.Docs[spec.Name.Name] = sentence(decl.Doc)
			if st, ok := spec.Type.(*ast.StructType); ok {
				s.fields(spec.Name.Name, st)
			}
		case *ast.ValueSpec:
			typ, ok := spec.Type.(*ast.Ident)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			for _, value := range spec.Values {
				literal, ok := value.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					continue
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					return fmt.Errorf("constant %s: %w", spec.Names[0], err)
				}
				s.Enums[typ.Name] = append(s.Enums[typ.Name], text)
			}
		}
	}
	return nil
}

func (s Source) fields(owner string, st *ast.StructType) {
	for _, field := range st.Fields.List {
		doc := field.Doc
		if doc == nil {
			doc = field.Comment
		}
		for _, name := range field.Names {
			s.Docs[owner+"."+name.Name] = sentence(doc)
		}
	}
}

// sentence is a comment as one line.
func sentence(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
