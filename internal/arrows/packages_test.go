// Package arrows tests that dependencies point in one direction only, as doc/internals/design.md, section 3, shows
// them, between the packages of the module and of those in its subdirectories, and that it depends on few other modules.
package arrows

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ringuid/ringuid"

// allowed lists, for each package, the packages of ringuid that it may import. The tests of a
// package, and the test support in internal/testkit, may import any package.
var allowed = map[string][]string{
	".":                         nil,
	"bitsalloc":                 nil,
	"internal/backoff":          nil,
	"internal/errmask":          nil,
	"internal/options":          nil,
	"internal/safelog":          nil,
	"internal/testkit":          nil,
	"internal/testkit/leaktest": {"internal/testkit"},
	"internal/random":           nil,
	"internal/recent":           nil,
	"internal/slotindex":        {"workerassign/recycled"},
	"internal/tagrecord":        {"internal/backoff", "internal/random", "segment"},
	"internal/lockedfile":       {"internal/backoff"},
	"internal/millis":           nil,
	"internal/workerfile":       {"internal/lockedfile", "internal/safelog"},
	"internal/sqlattempt":       {"internal/errmask"},
	"workerassign":              {"internal/backoff", "internal/errmask", "internal/lockedfile", "internal/millis", "internal/options", "internal/safelog", "internal/sqlattempt", "internal/workerfile"},
	"workerassign/recycled":     {"internal/backoff", "internal/errmask", "internal/lockedfile", "internal/millis", "internal/options", "internal/random", "internal/safelog", "internal/workerfile", "workerassign"},
	"stores/sqlstore":           {"internal/backoff", "internal/options", "internal/sqlattempt", "segment", "workerassign", "workerassign/recycled"},
	"stores/filestore":          {"internal/backoff", "internal/lockedfile", "internal/options", "internal/safelog", "internal/workerfile", "segment", "workerassign", "workerassign/recycled"},
	"internal/testkit/slottest": {"internal/testkit", "workerassign/recycled"},
	"workerassign/assigntest":   {"internal/testkit/leaktest", "internal/testkit/slottest", "workerassign", "workerassign/recycled"},
	"ringbuffer":                {"internal/errmask", "internal/safelog"},
	"proof":                     nil,
	"internal/unitclock":        {"bitsalloc"},
	"internal/leasing":          {"bitsalloc", "internal/backoff", "internal/errmask", "internal/safelog", "internal/unitclock", "workerassign"},
	"uid":                       {"bitsalloc", "internal/errmask", "internal/leasing", "internal/options", "internal/safelog", "internal/unitclock", "ringbuffer", "workerassign"},
	"uid/percpu":                {"internal/errmask", "internal/options", "uid"},
	"uid/opaque":                {"uid"},
	"settings":                  {"bitsalloc", "stores/filestore", "stores/sqlstore", "uid", "workerassign", "workerassign/recycled"},
	"segment":                   {"internal/backoff", "internal/errmask", "internal/options", "internal/safelog", "ringbuffer"},
	"stores/storetest":          {"segment", "segment/segmenttest", "workerassign/assigntest", "workerassign/recycled"},
	"segment/segmenttest":       {"internal/testkit/leaktest", "internal/testkit", "segment"},

	// Packages of other modules.
	"stores/redisstore":                        {"internal/options", "segment", "workerassign", "workerassign/recycled"},
	"stores/etcdstore":                         {"internal/options", "internal/recent", "internal/slotindex", "internal/tagrecord", "segment", "workerassign", "workerassign/recycled"},
	"stores/zookeeperstore":                    {"internal/options", "internal/recent", "internal/slotindex", "internal/tagrecord", "segment", "workerassign", "workerassign/recycled"},
	"stores/storetest/linear":                  {"segment", "stores/storetest", "workerassign/recycled"},
	"metrics/promcollect":                      {"internal/options", "segment", "uid", "workerassign/recycled"},
	"cmd/ringuid/internal/await":               nil,
	"cmd/ringuid/internal/bench":               {"bitsalloc", "uid", "uid/percpu", "workerassign"},
	"cmd/ringuid/internal/sqltext":             {"uid"},
	"cmd/ringuid/internal/sqltext/sqltexttest": {"cmd/ringuid/internal/sqltext", "uid"},
	"cmd/ringuid/internal/server":              {"segment", "settings", "uid", "workerassign/recycled"},
	"cmd/ringuid/internal/benchserver":         {"cmd/ringuid/internal/server", "metrics/promcollect", "uid", "workerassign"},
	"cmd/ringuid/internal/connect":             {"cmd/ringuid/internal/await", "segment", "settings", "stores/etcdstore", "stores/filestore", "stores/redisstore", "stores/sqlstore", "stores/zookeeperstore", "workerassign", "workerassign/recycled"},
	"cmd/ringuid/internal/doctor":              {"cmd/ringuid/internal/await", "cmd/ringuid/internal/connect", "segment", "stores/filestore", "stores/redisstore", "stores/sqlstore", "uid", "workerassign", "workerassign/recycled"},
	"cmd/ringuid/internal/cli":                 {".", "bitsalloc", "cmd/ringuid/internal/await", "cmd/ringuid/internal/bench", "cmd/ringuid/internal/connect", "cmd/ringuid/internal/doctor", "cmd/ringuid/internal/server", "cmd/ringuid/internal/sqltext", "metrics/promcollect", "segment", "settings", "uid", "workerassign", "workerassign/recycled"},
	"cmd/ringuid":                              {"cmd/ringuid/internal/cli"},
	"tools/typecheck":                          nil,
	"tools/mutants":                            {"tools/mutants/choice"},
	"tools/mutants/choice":                     nil,
}

// modules are the other modules that packages of the root module may import. It has no other dependencies, so that a program which imports
// uid and workerassign has none.
var modules = []string{"github.com/go-sql-driver/mysql", "github.com/jmoiron/sqlx", "golang.org/x/sys"}

// isOfModules reports whether a package is one of the modules.
func isOfModules(name string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return name == m || strings.HasPrefix(name, m+"/") })
}

// isExample reports whether a package is an example, or a benchmark, which use the library as other programs do. In the root module all
// examples are in one directory.
func isExample(name string, inOther bool) bool {
	return strings.HasPrefix(name, "examples/") || inOther && (strings.HasPrefix(name+"/", "benchmarks/") || path.Base(name) == "example")
}

// Each package imports only packages that are below it, and those of the root module only those of few other modules; and the examples
// import no internal package.
func TestPackages(t *testing.T) {
	imports, others := importsOf(t, os.DirFS("../.."))
	for name := range allowed {
		if imports[name] == nil {
			t.Errorf("package %s is in allowed, but does not exist", name)
		}
	}
	for name, imported := range imports {
		below, known := allowed[name]
		inOther := slices.ContainsFunc(others, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
		isExample := isExample(name, inOther)
		if !known && !isExample && !strings.HasPrefix(name, "internal/testkit/") {
			t.Errorf("package %s has no entry in allowed", name)
		}
		for _, other := range imported {
			ours, isOurs := strings.CutPrefix(other+"/", module+"/")
			ours = path.Clean(ours) // "." is the root package
			if isOurs && known && !slices.Contains(below, ours) || isOurs && isExample && strings.HasPrefix(ours, "internal/") {
				t.Errorf("%s imports %s, which is not below it", name, other)
			}
			if !isOurs && !inOther && known && !isOfModules(other) {
				t.Errorf("%s imports %s, which is no module that it may depend on", name, other)
			}
		}
	}
}

// importsOf returns, for each package of all modules, which packages it imports, but for those of the standard library, and the directories
// of the modules other than the root one.
func importsOf(t *testing.T, root fs.FS) (imports map[string][]string, others []string) {
	imports = map[string][]string{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if base := entry.Name(); base == "testdata" || name != "." && (base[0] == '.' || base[0] == '_') {
				return fs.SkipDir // not built
			}
			if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil && name != "." {
				others = append(others, name)
			}
			return nil
		case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", name), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Dir(name)
		if imports[pkg] == nil {
			imports[pkg] = []string{} // the package exists
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if host, _, _ := strings.Cut(imported, "/"); strings.Contains(host, ".") { // it is not of the standard library
				imports[pkg] = append(imports[pkg], imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports, others
}
