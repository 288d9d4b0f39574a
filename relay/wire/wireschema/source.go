package wireschema

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
	docs  map[string]string // comments of types ("Usage") and fields ("Usage.Cost")
	enums map[string][]any  // constants of each string type, in their order
}

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
				s.enums[typ.Name] = append(s.enums[typ.Name], text)
			}
		}
	}
	return nil
}

func (s source) fields(owner string, st *ast.StructType) {
	for _, field := range st.Fields.List {
		doc := field.Doc
		if doc == nil {
			doc = field.Comment
		}
		for _, name := range field.Names {
			s.docs[owner+"."+name.Name] = sentence(doc)
		}
	}
}

// sentence is a comment as one line.
func sentence(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
