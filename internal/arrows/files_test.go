package arrows

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// tiers are the files of package uid: values below options, options below generators.
var tiers = [][]string{
	{"doc.go", "defaults.go", "nocopy.go", "clock.go", "id.go", "parts.go", "base.go", "baseid.go", "errors.go", "rollback.go", "spread.go", "format.go", "formatrange.go", "exhausted.go", "maskederror.go",
		"move.go", "block.go", "stats.go", "health.go", "formattext.go", "logvalue.go", "statsjson.go"},
	{"config.go", "options.go"},
	{"generator.go", "closing.go", "core.go", "notbegun.go", "corehealth.go", "leasestats.go", "rolloverlog.go", "runprovider.go", "waiter.go", "rollbackwatch.go", "defaultlease.go",
		"leasechange.go", "cached.go", "cachedstats.go", "cachedhealth.go", "claim.go", "local.go", "default.go", "defaultstats.go", "defaulthealth.go", "renew.go"},
}

// A file of package uid uses only files of its own tier and of those below, and no two files need each
// other.
func TestFilesOfUID(t *testing.T) {
	uses := fileUses(t, "uid")
	tier := map[string]int{}
	for n, files := range tiers {
		for _, file := range files {
			tier[file] = n
		}
	}
	for file, used := range uses {
		if _, known := tier[file]; !known {
			t.Errorf("%s has no entry in tiers", file)
		}
		for _, other := range slices.Sorted(maps.Keys(used)) {
			if tier[other] > tier[file] {
				t.Errorf("%s uses %s, %s, which is above it", file, other, used[other])
			}
		}
	}
	for _, cycle := range cycles(uses) {
		t.Errorf("files need each other: %s", strings.Join(cycle, " -> "))
	}
}

// fileUses returns, for each file of a package, the other files that it uses, each with the name of
// something that it uses there.
func fileUses(t *testing.T, name string) map[string]map[string]string {
	t.Helper()
	dir := filepath.Join("../..", name)
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", module+name).Output()
	if errors.Is(err, exec.ErrNotFound) {
		testkit.Missing(t, "the go command was not found")
	}
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		pkg, export, _ := strings.Cut(strings.TrimSpace(line), "=")
		exports[pkg] = export
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, file := range names {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	checked, err := config.Check(module+name, fset, files, &info)
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string]map[string]string{}
	file := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	for _, f := range files {
		uses[file(f.Pos())] = map[string]string{}
	}
	for ident, object := range info.Uses {
		if from, to := file(ident.Pos()), ""; object.Pkg() == checked {
			if to = file(object.Pos()); to != from {
				uses[from][to] = object.Name()
			}
		}
	}
	return uses
}

// cycles returns the cycles that a depth-first search finds.
func cycles(uses map[string]map[string]string) (found [][]string) {
	done, path := map[string]bool{}, []string(nil)
	var visit func(file string)
	visit = func(file string) {
		if n := slices.Index(path, file); n >= 0 {
			found = append(found, append(slices.Clone(path[n:]), file))
			return
		}
		if done[file] {
			return
		}
		path = append(path, file)
		for _, other := range slices.Sorted(maps.Keys(uses[file])) {
			visit(other)
		}
		path = path[:len(path)-1]
		done[file] = true
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		visit(file)
	}
	return found
}
