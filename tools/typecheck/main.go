// Command typecheck type-checks packages and their tests for other systems, such as windows/amd64:
//
//	typecheck SYSTEM… -- PACKAGE…
//
// It does so from source. Compiling would take ten times as long, because all packages of the standard library are compiled
// for each system.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	n := slices.Index(os.Args, "--")
	if n < 2 {
		fmt.Fprintln(os.Stderr, "usage: typecheck SYSTEM… -- PACKAGE…")
		os.Exit(2)
	}
	root, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	failed := false
	for _, system := range os.Args[1:n] {
		problems, count := check(root, system, os.Args[n+1:])
		fmt.Printf("%s: %d packages and tests\n", system, count)
		for _, p := range problems {
			fmt.Fprintln(os.Stderr, p)
		}
		failed = failed || len(problems) > 0 || count == 0
	}
	if failed {
		os.Exit(1)
	}
}

// check type-checks the packages for a system. Of packages outside of the root directory it reads only the declarations.
func check(root, system string, patterns []string) (problems []string, count int) {
	goos, goarch, _ := strings.Cut(system, "/")
	config := &packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Tests: true,
		Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		ParseFile: func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, root+string(os.PathSeparator)) {
				for _, d := range file.Decls {
					if f, ok := d.(*ast.FuncDecl); ok {
						f.Body = nil
					}
				}
			}
			return file, err
		},
	}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", system, err)}, 0
	}
	for _, p := range loaded {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the program that go test generates, which is not in the directory
		}
		count++
		for _, err := range p.Errors {
			problems = append(problems, fmt.Sprintf("%s: %v", system, err))
		}
	}
	return problems, count
}
