package main

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

// source is what a package's text says and reflection cannot.
type source struct {
	// docs are the comments of types ("Usage") and fields ("Usage.Cost").
	docs map[string]string
	// enums are the constants of each string type, in their order.
	enums map[string][]any
}

// readSource reads the package in dir.
func readSource(dir string) (source, error) {
	s := source{docs: map[string]string{}, enums: map[string][]any{}}
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

func (s source) read(decl *ast.GenDecl) error {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.docs[spec.Name.Name] = sentence(decl.Doc)
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range st.Fields.List {
					for _, name := range field.Names {
						s.docs[spec.Name.Name+"."+name.Name] = sentence(field.Doc)
					}
				}
			}
		case *ast.ValueSpec:
			typ, ok := spec.Type.(*ast.Ident)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			for _, value := range spec.Values {
				literal, ok := value.(*ast.BasicLit)
				if !ok {
					continue
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					return fmt.Errorf("constant %s: %w", spec.Names[0], err)
				}
				s.enums[typ.Name] = append(s.enums[typ.Name], text)
			}
		}
	}
	return nil
}

// sentence is a comment as one line.
func sentence(c *ast.CommentGroup) string {
	return strings.Join(strings.Fields(c.Text()), " ")
}
