package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a change that gremlins made.
type mutant struct {
	survivor
	line, column int
	status       string
}

// baseName returns the name of the file without its directory.
func (m mutant) baseName() string { return path.Base(m.file) }

// source is a file of a package.
type source struct {
	text []byte
	fset *token.FileSet
	file *ast.File
}

// readSources reads the files that gremlins changes: those of a directory and of the directories below it, except for tests. The
// keys are relative to the directory.
func readSources(directory string) (map[string]*source, error) {
	sources := map[string]*source{}
	err := fs.WalkDir(os.DirFS(directory), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(directory, name))
		if err == nil {
			sources[name], err = parseSource(name, text)
		}
		return err
	})
	if err == nil && len(sources) == 0 {
		err = fmt.Errorf("%s has no Go files", directory)
	}
	return sources, err
}

// parseSource parses the text of a file.
func parseSource(path string, text []byte) (*source, error) {
	return parseSourceIn(token.NewFileSet(), path, text)
}

func parseSourceIn(fset *token.FileSet, path string, text []byte) (*source, error) {
	file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
	return &source{text, fset, file}, err
}

// describeAll describes the mutants of a report, in the order of the source.
func describeAll(pkg string, sources map[string]*source, r report) (all []mutant, err error) {
	for _, f := range r.Files {
		s := sources[f.Name]
		if s == nil {
			return nil, fmt.Errorf("gremlins has changed %s/%s, which is not known", pkg, f.Name)
		}
		for _, m := range f.Mutations {
			function, expr := s.describe(m.Line, m.Column)
			if expr == "" {
				return nil, fmt.Errorf("%s/%s:%d:%d has no operator", pkg, f.Name, m.Line, m.Column)
			}
			all = append(all, mutant{survivor{pkg: pkg, file: f.Name, function: function, operator: m.Type, expr: expr}, m.Line, m.Column, m.Status})
		}
	}
	slices.SortFunc(all, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), cmp.Compare(a.operator, b.operator))
	})
	return all, nil
}

// describe returns the expression or statement whose operator is at a position, with single spaces, and the function that
// contains it. The expression is empty if there is none.
func (s *source) describe(line, column int) (function, expr string) {
	isAt := func(pos token.Pos) bool {
		p := s.fset.Position(pos)
		return p.Line == line && p.Column == column
	}
	for _, d := range s.file.Decls {
		declared := ""
		ast.Inspect(d, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.ValueSpec:
				declared = names(n.Names)
			case *ast.TypeSpec:
				declared = n.Name.Name
			}
			operator, _ := operatorOf(node)
			if operator.IsValid() && isAt(operator) {
				text := s.text[s.fset.Position(node.Pos()).Offset:s.fset.Position(node.End()).Offset]
				expr = strings.Join(strings.Fields(string(text)), " ")
			}
			return expr == ""
		})
		if expr == "" {
			continue
		}
		if f, ok := d.(*ast.FuncDecl); ok {
			declared = functionName(f)
		}
		return declared, expr
	}
	return "", ""
}

// operatorOf returns the operator of a node, and where it is. The position is invalid if the node has none.
func operatorOf(node ast.Node) (pos token.Pos, operator token.Token) {
	switch n := node.(type) {
	case *ast.AssignStmt:
		return n.TokPos, n.Tok
	case *ast.BinaryExpr:
		return n.OpPos, n.Op
	case *ast.BranchStmt:
		return n.TokPos, n.Tok
	case *ast.IncDecStmt:
		return n.TokPos, n.Tok
	case *ast.UnaryExpr:
		return n.OpPos, n.Op
	}
	return token.NoPos, token.ILLEGAL
}

// names returns names with commas between them.
func names(idents []*ast.Ident) string {
	var all []string
	for _, ident := range idents {
		all = append(all, ident.Name)
	}
	return strings.Join(all, ",")
}

// functionName returns the name of a function with its receiver, as (*Ring).Take or Layout.End.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if _, ok := receiver.(*ast.StarExpr); ok {
		return "(" + types.ExprString(receiver) + ")." + f.Name.Name
	}
	return types.ExprString(receiver) + "." + f.Name.Name
}
