package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// site is an operator of a package, with all changes to it.
type site struct {
	file     string // the name of the file
	node     ast.Node
	pos      token.Pos // where the operator is
	from     token.Token
	to       []token.Token // what it becomes, for each change
	first    int           // the number of the first change; the others follow
	constant bool          // it is in a declaration of constants, or its value does not change
	viable   []bool        // whether the package is valid with each change
	alone    bool          // it cannot be rewritten, so each change is made in a program of its own
}

// replacements are what gremlins replaces operators by.
var replacements = map[string]map[token.Token]token.Token{
	"ARITHMETIC_BASE":       {token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL},
	"CONDITIONALS_BOUNDARY": {token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR},
	"CONDITIONALS_NEGATION": {token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR},
	"INCREMENT_DECREMENT":   {token.INC: token.DEC, token.DEC: token.INC},
	"INVERT_NEGATIVES":      {token.SUB: token.ADD},
}

// edit replaces a part of the text of a file.
type edit struct {
	offset, deleted int
	text            string
	rank            int // of the edits at the same offset, those with lower ranks come first
}

// Edits at the same offset are sorted: what ends an expression, inner ones first; what begins one, outer ones first; operators. The
// length of an expression is less than these.
const (
	leastRank    = -1 << 30
	operatorRank = 1 << 29
)

// sitesOf finds the operators of mutants of one package, in the order of the source. number has the number of the change of each
// mutant; two mutants with the same effect have the same.
func (p *goPackage) sitesOf(mutants []*mutant) (sites []*site, numbers []int, err error) {
	type position struct {
		file         string
		line, column int
	}
	found := map[position]*site{}
	for name, s := range p.files {
		var stack []ast.Node
		ast.Inspect(s.file, func(node ast.Node) bool {
			if node == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, node)
			if pos, from := operatorOf(node); pos.IsValid() {
				at := p.fset.Position(pos)
				found[position{name, at.Line, at.Column}] = &site{file: name, node: node, pos: pos, from: from, constant: p.isConstant(node, stack)}
			}
			return true
		})
	}
	next := 1
	for _, m := range mutants {
		s := found[position{m.baseName(), m.line, m.column}]
		if s == nil {
			return nil, nil, fmt.Errorf("%v (line %d) is not in the package %s", m.survivor, m.line, p.path)
		}
		to, ok := replacements[m.operator][s.from]
		if !ok {
			return nil, nil, fmt.Errorf("%v (line %d): it is not known what becomes of %v", m.survivor, m.line, s.from)
		}
		if len(s.to) == 0 {
			s.first = next
			sites = append(sites, s)
		}
		i := slices.Index(s.to, to)
		if i < 0 {
			i = len(s.to)
			s.to = append(s.to, to)
			next++
		}
		numbers = append(numbers, s.first+i)
	}
	return sites, numbers, nil
}

// isConstant reports whether a node, the last one of a path from its file, is constant.
func (p *goPackage) isConstant(node ast.Node, path []ast.Node) bool {
	if expr, ok := node.(ast.Expr); ok && p.info.Types[expr].Value != nil {
		return true
	}
	return slices.ContainsFunc(path, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		return ok && d.Tok == token.CONST
	})
}

// edits returns the edits that let the program choose among the changes of a site, or none if there are no such ones.
func (p *goPackage) edits(s *site) []edit {
	begin, operator, end := p.offset(s.node.Pos()), p.offset(s.pos), p.offset(s.node.End())
	beginRank, endRank := begin-end, leastRank+end-begin
	around := func(before, between, after string) []edit {
		return []edit{{begin, 0, before, beginRank}, {operator, len(s.from.String()), between, operatorRank}, {end, 0, after, endRank}}
	}
	operators := fmt.Sprintf("mutantchoice.Of(%d, %q", s.first, s.from)
	for _, to := range s.to {
		operators += fmt.Sprintf(", %q", to)
	}
	operators += ")"
	switch n := s.node.(type) {
	case *ast.IncDecStmt:
		if function, name := p.arithmetic(n.X, s.file); function != "" {
			// x++ is x += 1, and x-- is x -= 1.
			step := fmt.Sprintf(` %c= mutantchoice.%s%s(0, 1, mutantchoice.Of(%d, "+", "-"))`, s.from.String()[0], function, name, s.first)
			return []edit{{operator, len(s.from.String()), step, operatorRank}}
		}
	case *ast.UnaryExpr:
		if function, name := p.arithmetic(n, s.file); function == "Integer" {
			// -x is 0 - x.
			return []edit{{operator, 1, "mutantchoice.Integer" + name + "(0, ", beginRank}, {end, 0, ", " + operators + ")", endRank}}
		}
	case *ast.BinaryExpr:
		switch s.from {
		case token.EQL, token.NEQ:
			if !s.constant {
				return around("((", s.from.String(), fmt.Sprintf(") != mutantchoice.Made(%d))", s.first))
			}
		case token.LSS, token.LEQ, token.GTR, token.GEQ:
			if !s.constant {
				return around("mutantchoice.Ordered"+p.typeArgument(cmp.Or(p.typed(n.X), p.typed(n.Y)), s.file)+"(", ",", ", "+operators+")")
			}
		default:
			if function, name := p.arithmetic(n, s.file); function != "" {
				return around("mutantchoice."+function+name+"(", ",", ", "+operators+")")
			}
		}
	}
	return nil
}

// typed returns the type of an expression, or nil if that is an untyped constant.
func (p *goPackage) typed(expr ast.Expr) types.Type {
	t := p.info.Types[expr].Type
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		return nil
	}
	return t
}

// arithmetic returns the function of package choice that calculates an expression, and its type argument. The function is empty if
// there is none. That of a constant with an integer type is calculated when the program runs; what would overflow then does not compile.
func (p *goPackage) arithmetic(expr ast.Expr, file string) (function, typeArgument string) {
	t := p.typed(expr)
	if t == nil {
		return "", ""
	}
	b, ok := t.Underlying().(*types.Basic)
	switch {
	case ok && b.Info()&types.IsInteger != 0:
		return "Integer", p.typeArgument(t, file)
	case ok && b.Info()&types.IsFloat != 0 && p.info.Types[expr].Value == nil:
		return "Float", p.typeArgument(t, file)
	}
	return "", ""
}

// typeArgument returns a type argument as it is written in a file, in brackets. It is empty if the file does not import the package
// of the type: then the compiler finds it by the operands, or the operator is not rewritten.
func (p *goPackage) typeArgument(t types.Type, file string) string {
	if t == nil {
		return ""
	}
	ok := true
	text := types.TypeString(t, func(other *types.Package) string {
		if other == p.types {
			return ""
		}
		for _, spec := range p.files[file].file.Imports {
			if strings.Trim(spec.Path.Value, `"`) == other.Path() {
				if spec.Name != nil {
					return spec.Name.Name
				}
				return other.Name()
			}
		}
		ok = false
		return ""
	})
	if !ok {
		return ""
	}
	return "[" + text + "]"
}

// apply makes edits in a text. The function origin maps an offset in the result to one in the text.
func apply(text []byte, edits []edit) (result []byte, origin func(int) int) {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.rank, b.rank)) })
	type piece struct{ at, offset int } // what begins at an offset of the result was at this offset of the text
	pieces := []piece{{}}
	done := 0
	for _, e := range edits {
		result = append(result, text[done:e.offset]...)
		pieces = append(pieces, piece{len(result), e.offset})
		result = append(result, e.text...)
		done = e.offset + e.deleted
		pieces = append(pieces, piece{len(result), done})
	}
	result = append(result, text[done:]...)
	return result, func(offset int) int {
		i, ok := slices.BinarySearchFunc(pieces, offset, func(p piece, offset int) int { return cmp.Compare(p.at, offset) })
		if !ok {
			i--
		}
		p := pieces[i]
		if i+1 < len(pieces) {
			return min(p.offset+offset-p.at, max(p.offset, pieces[i+1].offset))
		}
		return p.offset + offset - p.at
	}
}
