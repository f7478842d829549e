package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/token"
	"os"
	"path"
	"strings"
)

// completeProfile adds to a profile of the coverage what Go does not count: the expressions behind case, if their switch or select
// statement was reached, and constants and variables outside of functions. gremlins tests only what is covered. It is called in the
// root directory of the module.
func completeProfile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	modText, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	module := strings.TrimPrefix(strings.SplitN(string(modText), "\n", 2)[0], "module ") + "/"
	covered := map[string][]block{} // by file, as the profile names it
	for line := range strings.Lines(string(text)) {
		file, rest, _ := strings.Cut(line, ":")
		var b block
		var count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from.Line, &b.from.Column, &b.to.Line, &b.to.Column, new(int), &count); err != nil {
			continue // the line with the mode
		}
		if covered[file] == nil {
			if err := addBuilt(covered, file, module); err != nil {
				return err
			}
		}
		if count > 0 {
			covered[file] = append(covered[file], b)
		}
	}
	out := strings.Builder{}
	out.Write(text)
	for file, blocks := range covered {
		local := strings.TrimPrefix(file, module)
		text, err := os.ReadFile(local)
		if err != nil {
			return err
		}
		s, err := parseSource(local, text)
		if err != nil {
			return err
		}
		for _, b := range s.uncounted(blocks) {
			fmt.Fprintf(&out, "%s:%d.%d,%d.%d 1 1\n", file, b.from.Line, b.from.Column, b.to.Line, b.to.Column)
		}
	}
	return os.WriteFile(name, []byte(out.String()), 0o600)
}

// addBuilt adds the files of the package of a file, except for tests and for those that are built only on other systems. Those
// that only have constants are not in the profile.
func addBuilt(covered map[string][]block, file, module string) error {
	directory := path.Dir(file)
	local := strings.TrimPrefix(directory, module)
	entries, err := os.ReadDir(local)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		built, err := build.Default.MatchFile(local, e.Name())
		if err != nil {
			return err
		}
		if built {
			covered[path.Join(directory, e.Name())] = []block{}
		}
	}
	return nil
}

// block is a part of a file.
type block struct{ from, to token.Position }

// contains reports whether a position is in the block.
func (b block) contains(p token.Position) bool {
	return !isBefore(p, b.from) && !isBefore(b.to, p)
}

func isBefore(p, q token.Position) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

// uncounted returns the parts that are covered if the given blocks are, and that Go does not count.
func (s *source) uncounted(covered []block) (more []block) {
	isCovered := func(pos token.Pos) bool {
		p := s.fset.Position(pos)
		for _, b := range covered {
			if b.contains(p) {
				return true
			}
		}
		return false
	}
	add := func(from, to token.Pos) {
		more = append(more, block{s.fset.Position(from), s.fset.Position(to)})
	}
	for _, d := range s.file.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			add(d.Pos(), d.End())
		}
		ast.Inspect(d, func(node ast.Node) bool {
			var body *ast.BlockStmt
			switch n := node.(type) {
			case *ast.SwitchStmt:
				body = n.Body
			case *ast.TypeSwitchStmt:
				body = n.Body
			case *ast.SelectStmt:
				body = n.Body
			}
			if body == nil || !isCovered(node.Pos()) {
				return true
			}
			for _, clause := range body.List {
				switch c := clause.(type) {
				case *ast.CaseClause:
					add(c.Pos(), c.Colon)
				case *ast.CommClause:
					add(c.Pos(), c.Colon)
				}
			}
			return true
		})
	}
	return more
}
