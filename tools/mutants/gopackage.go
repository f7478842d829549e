package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// choicePackage is the package that rewritten code calls: a copy of ./choice in the module of that code.
const choicePackage = "github.com/ringuid/ringuid/internal/mutantchoice"

// goPackage is a package, without its tests, as the compiler sees it.
type goPackage struct {
	path, directory string
	fset            *token.FileSet
	files           map[string]*source // by name
	types           *types.Package
	info            *types.Info
	importer        types.Importer
}

// loadPackage reads and checks the package in a directory, which is relative to the current one.
func loadPackage(directory string) (*goPackage, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", choicePackage, "./"+directory)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	type listing struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	var last listing // the package itself, because a package follows all those that it imports
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var one listing
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[one.ImportPath] = one.Export
		last = one
	}
	p := &goPackage{path: last.ImportPath, directory: last.Dir, fset: token.NewFileSet(), files: map[string]*source{}}
	for _, name := range last.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.directory, name))
		if err != nil {
			return nil, err
		}
		if p.files[name], err = parseSourceIn(p.fset, name, text); err != nil {
			return nil, err
		}
	}
	p.importer = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: p.importer}
	trees := p.trees(nil)
	p.types, err = config.Check(p.path, p.fset, trees, p.info)
	return p, err
}

// trees returns the files in the order of their names. Those that were changed replace the others.
func (p *goPackage) trees(changed map[string]*source) (trees []*ast.File) {
	for _, name := range p.names() {
		trees = append(trees, cmp.Or(changed[name], p.files[name]).file)
	}
	return trees
}

// names returns the names of the files, sorted.
func (p *goPackage) names() (names []string) {
	for name := range p.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p *goPackage) offset(pos token.Pos) int { return p.fset.Position(pos).Offset }

// check returns what is wrong if files of the package have other texts.
func (p *goPackage) check(texts map[string][]byte) (found []types.Error, err error) {
	changed := map[string]*source{}
	for name, text := range texts {
		if changed[name], err = parseSourceIn(p.fset, name, text); err != nil {
			return nil, err
		}
	}
	config := types.Config{Importer: p.importer, Error: func(err error) {
		var one types.Error
		if errors.As(err, &one) {
			found = append(found, one)
		}
	}}
	if _, err := config.Check(p.path, p.fset, p.trees(changed), nil); err != nil && len(found) == 0 {
		return nil, err
	}
	return found, nil
}

// with returns the text of a file with one change.
func (p *goPackage) with(s *site, to token.Token) []byte {
	text, _ := apply(p.files[s.file].text, []edit{{p.offset(s.pos), len(s.from.String()), " " + to.String() + " ", 0}})
	return text
}

// rewrite returns the texts of the files that choose among all changes. It marks what they cannot choose, and what is not viable.
func (p *goPackage) rewrite(sites []*site) (texts map[string][]byte, err error) {
	for {
		edits, alive := map[string][]edit{}, map[string][]*site{}
		for _, s := range sites {
			if s.alone {
				continue
			}
			e := p.edits(s)
			s.alone = e == nil
			edits[s.file] = append(edits[s.file], e...)
			alive[s.file] = append(alive[s.file], s)
		}
		texts = map[string][]byte{}
		origins := map[string]func(int) int{}
		for name, e := range edits {
			if len(e) == 0 {
				continue
			}
			s := p.files[name]
			e = append(e, edit{p.offset(s.file.Name.End()), 0, "; import mutantchoice " + fmt.Sprintf("%q", choicePackage), 0})
			texts[name], origins[name] = apply(s.text, e)
		}
		found, err := p.check(texts)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return texts, p.markViable(sites)
		}
		for _, wrong := range found {
			at := wrong.Fset.Position(wrong.Pos)
			origin, ok := origins[at.Filename]
			if !ok {
				return nil, wrong
			}
			s := p.innermost(alive[at.Filename], origin(at.Offset))
			if s == nil {
				return nil, wrong
			}
			s.alone = true
		}
	}
}

// innermost returns the smallest of the sites that contain an offset.
func (p *goPackage) innermost(sites []*site, offset int) (smallest *site) {
	length := func(s *site) int { return int(s.node.End() - s.node.Pos()) }
	for _, s := range sites {
		if p.offset(s.node.Pos()) <= offset && offset <= p.offset(s.node.End()) && (smallest == nil || length(s) < length(smallest)) {
			smallest = s
		}
	}
	return smallest
}

// markViable finds out with which changes of constants, and of what is tested alone, the package is valid. All others are viable.
func (p *goPackage) markViable(sites []*site) error {
	for _, s := range sites {
		s.viable = make([]bool, len(s.to))
		for i, to := range s.to {
			s.viable[i] = true
			if s.alone || s.constant {
				found, err := p.check(map[string][]byte{s.file: p.with(s, to)})
				if err != nil {
					return err
				}
				s.viable[i] = len(found) == 0
			}
		}
	}
	return nil
}
